"""The engine for many hosts: one repository of a PostgreSQL database."""

import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from threading import get_ident
from typing import Any, Literal, LiteralString, TypeVar

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus

from mnemosyne_vcs.engine.postgres import statements as sql
from mnemosyne_vcs.engine.postgres import vectors
from mnemosyne_vcs.engine.postgres.arrays import Bytes
from mnemosyne_vcs.engine.postgres.connection import Connection
from mnemosyne_vcs.engine.postgres.errors import engine_error
from mnemosyne_vcs.engine.postgres.migrate import require_repository
from mnemosyne_vcs.engine.postgres.pool import Connections
from mnemosyne_vcs.engine.postgres.url import PostgresUrl
from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.engine.shared import index_entries, ref_conflict, reflog_entry
from mnemosyne_vcs.engine.vector_index import VectorIndex, VectorMatch, VectorMove, VectorQuery
from mnemosyne_vcs.errors import EngineError, NotFoundError, ReadOnlyError
from mnemosyne_vcs.forks import renew_after_fork
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.interrupts import guarded
from mnemosyne_vcs.model import ReflogEntry

__all__ = ["PostgresEngine"]

T = TypeVar("T")
Rows = list[tuple[Any, ...]]
PAGE_ROWS = 1000
BATCH_BYTES = 8_000_000
BATCH_OBJECTS = 10_000
ID_BYTES = 36
_BEGIN: sql.Statement = "BEGIN ISOLATION LEVEL READ COMMITTED", {}
_COMMIT: sql.Statement = "COMMIT", {}
_SAVEPOINT: sql.Statement = "SAVEPOINT part", {}
_RELEASE: sql.Statement = "RELEASE part", {}
_UNDO: LiteralString = "ROLLBACK"
_UNDO_INNER: LiteralString = "ROLLBACK TO part; RELEASE part"


class PostgresEngine:
    """A store in a PostgreSQL database. It cannot copy itself.

    Writers of different refs do not wait for each other. A write is durable as the server's
    `synchronous_commit` says, and at least on the server's own disk; with relaxed durability the
    server answers before that.

    Args:
        url: the server, the database and the repository.
        create: create the tables and the repository if they do not exist.
        read_only: refuse every write.
        durability: "full" or "relaxed".
        busy_timeout: seconds to wait for other writers.

    Raises:
        MnemosyneError: as `mnemosyne_vcs.engine.urls.open_engine` raises.
    """

    def __init__(
        self,
        url: PostgresUrl,
        *,
        create: bool = False,
        read_only: bool = False,
        durability: Literal["full", "relaxed"] = "full",
        busy_timeout: float = 30.0,
    ) -> None:
        self.url = url.canonical
        self.read_only = read_only
        self._relaxed = durability == "relaxed"
        self._busy_timeout = busy_timeout
        self._connections = Connections(url, busy_timeout)
        self._held: dict[int, tuple[int, Connection]] = {}
        self._vector_roots: dict[str, Id] = {}
        renew_after_fork(self)
        with self._translated(), self._connections.connect() as connection:
            self._repository = require_repository(
                connection, self.url, url.repository, create=create, read_only=read_only
            )

    def renew(self) -> None:
        """Drop, in a forked child, the transactions of the parent's threads."""
        me = get_ident()
        self._held = {me: self._held[me]} if me in self._held else {}

    def read(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        """See `Engine.read`."""
        match list(ids):
            case []:
                return {}
            case [block]:
                return dict(self._rows(sql.GET_OBJECT, often=True, id=block))
            case blocks:
                return dict(self._rows(sql.GET_OBJECTS, ids=Bytes(blocks)))

    def sizes(self, ids: Collection[Id]) -> Mapping[Id, int]:
        """See `TellsSizes.sizes`."""
        return dict(self._rows(sql.GET_SIZES, ids=Bytes([*ids]))) if ids else {}

    def ref(self, name: str) -> Id | None:
        """See `Engine.ref`."""
        found = self._rows(sql.GET_REF, often=True, name=name.encode())
        target, root = found[0] if found else (None, None)
        if root is None:
            self._vector_roots.pop(name, None)
        else:
            self._vector_roots[name] = root
        return target

    def refs(self, prefix: str = "") -> Mapping[str, Id]:
        """See `Engine.refs`."""
        found = self._rows(sql.GET_REFS, prefix=prefix.encode())
        return {name.decode(): target for name, target in found}

    def write(self, objects: Mapping[Id, bytes], update: RefUpdate | None = None) -> None:
        """See `Engine.write`. Up to 8 MB are one round trip."""
        batches = list(_batches(objects))
        moves = (
            self._index_statements(update.name, update.vectors)
            if update and update.vectors
            else iter(())
        )
        first, second = next(moves, None), next(moves, None)
        if len(batches) <= 1 and second is None:
            moved = self._write(objects, update, first)
        else:
            with self.exclusive(alone=False):
                moved = self._write(batches[0] if batches else {}, update, first)
                for batch in batches[1:]:
                    self._write(batch, None)
                for call, values in chain([second] if second else [], moves):
                    self._rows("SELECT " + call, **values)
        if moved and update and update.vectors:
            self._vector_roots[update.name] = update.vectors.new

    def close(self) -> None:
        """See `Engine.close`."""
        self._connections.close()

    @guarded
    def exclusive(self, *, alone: bool = True) -> Generator[None]:
        """See `Exclusive.exclusive`. Inside another one of the same thread it joins that one.

        Args:
            alone: keep other writers out; without, this is no more than one transaction.
        """
        self._require_writable()
        held = self._held_here()
        if held is not None:
            with self._atomic(held, _UNDO_INNER, _RELEASE, _SAVEPOINT):
                yield
            return
        begin = self._begin_write(alone=alone)
        with (
            self._connections.lend() as connection,
            self._atomic(connection, _UNDO, _COMMIT, _BEGIN, begin),
        ):
            me, held_here = get_ident(), (os.getpid(), connection)
            try:
                self._held[me] = held_here
                yield
            finally:
                self._held.pop(me, None)

    def reflog(self, name: str | None) -> Iterator[ReflogEntry]:
        """See `HasReflog.reflog`."""
        query, before = sql.reflog_page(name), 2**63 - 1
        encoded = None if name is None else name.encode()
        while True:
            page = self._rows(query, name=encoded, before=before, page=PAGE_ROWS)
            for _, ref, old, new, who, when, why in page:
                update = RefUpdate(ref.decode(), old, new, who.decode(), when, why.decode())
                yield reflog_entry(update)
            if len(page) < PAGE_ROWS:
                return
            before = page[-1][0]

    def settings(self, prefix: str = "") -> Mapping[str, str]:
        """See `HasSettings.settings`."""
        found = self._rows(sql.GET_SETTINGS, prefix=prefix.encode())
        return {name.decode(): value.decode() for name, value in found}

    def set_setting(self, name: str, value: str | None) -> None:
        """See `HasSettings.set_setting`."""
        self._change(sql.set_setting(self._repository, name, value))

    def indexed(self, commit: Id) -> bool:
        """See `HasHistoryIndex.indexed`."""
        return bool(self._rows(sql.HAS_COMMIT, commit=commit))

    def commits_of_transaction(self, transaction: str) -> list[Id]:
        """See `HasHistoryIndex.commits_of_transaction`."""
        return self._column(sql.COMMITS_OF_TRANSACTION, transaction=transaction)

    def commits_of_key(self, key: str) -> list[Id]:
        """See `HasHistoryIndex.commits_of_key`."""
        return self._column(sql.COMMITS_OF_KEY, key=key)

    def commits_of_keys(self, first: str, end: str | None) -> list[Id]:
        """See `HasHistoryIndex.commits_of_keys`."""
        return self._column(sql.commits_of_keys(end), first=first, end=end)

    def commits_before(self, commit: Id, limit: int) -> list[Id]:
        """See `HasHistoryIndex.commits_before`."""
        return self._column(sql.COMMITS_BEFORE, commit=commit, limit=limit)

    def add_to_index(self, entries: Iterable[IndexEntry]) -> None:
        """See `HasHistoryIndex.add_to_index`."""
        added = list(entries)
        with self.exclusive(alone=False):
            for start in range(0, len(added), PAGE_ROWS):
                self._change(*map(self._indexing, added[start : start + PAGE_ROWS]))

    def index_entries(self) -> Iterator[IndexEntry]:
        """See `ListsHistoryIndex.index_entries`."""
        return index_entries(self._rows(sql.GET_INDEX))

    def clear_index(self) -> None:
        """See `HasHistoryIndex.clear_index`."""
        self._change(*sql.clear_index(self._repository))

    def vector_indexes(self) -> list[VectorIndex]:
        """See `IndexesVectors.vector_indexes`."""
        found = self._rows(vectors.LIST_INDEXES)
        return [VectorIndex(ref.decode(), root, head) for ref, root, head in found]

    def known_vector_root(self, ref: str) -> Id | None:
        """See `IndexesVectors.known_vector_root`."""
        return self._vector_roots.get(ref)

    def add_vector_index(self, ref: str, root: Id) -> None:
        """See `IndexesVectors.add_vector_index`. The server needs pgvector."""
        self._require_writable()
        with self._translated(), self._connections.lend() as connection:
            vectors.prepare(connection, self.url)
        values = {"repository": self._repository, "ref": ref.encode(), "root": root}
        try:
            self._change((vectors.ADD_INDEX, values))
        except EngineError as error:
            if isinstance(error.__cause__, psycopg.errors.ForeignKeyViolation):
                raise NotFoundError(f"there is no ref {ref!r} in {self.url}") from error
            raise

    def drop_vector_index(self, ref: str) -> bool:
        """See `IndexesVectors.drop_vector_index`."""
        with self.exclusive(alone=False):
            return bool(self._rows(vectors.DROP_INDEX, ref=ref.encode()))

    def move_vector_index(self, ref: str, move: VectorMove) -> bool:
        """See `IndexesVectors.move_vector_index`."""
        with self.exclusive(alone=False):
            moves = self._index_statements(ref, move)
            return all(self._rows("SELECT " + call, **values)[0][0] for call, values in moves)

    def nearest_vectors(self, ref: str, root: Id, query: VectorQuery) -> list[VectorMatch] | None:
        """See `IndexesVectors.nearest_vectors`."""
        if len(query.direction) > 4 * vectors.MAX_DIMENSION:
            return None
        statement, values = vectors.nearest(ref, root, query)
        found = self._rows(statement, **values)
        return [VectorMatch(*row) for row in found if row[0] is not None] if found else None

    def vector_dimensions(
        self, ref: str, root: Id, name: str, but: Collection[str] = ()
    ) -> list[int] | None:
        """See `IndexesVectors.vector_dimensions`."""
        statement, values = vectors.dimensions(ref, root, name, but)
        found = self._column(statement, **values)
        return found[1:-1] if found else None

    def ids(self, prefix: bytes = b"") -> Iterator[Id]:
        """See `Enumerates.ids`."""
        after, last = b"", prefix + b"\xff" * ID_BYTES
        while True:
            page = self._column(sql.LIST_IDS, first=prefix, after=after, last=last, page=PAGE_ROWS)
            yield from page
            if len(page) < PAGE_ROWS:
                return
            after = page[-1]

    def size(self) -> int:
        """See `HasSpace.size`: the rows of this repository, without indexes and free room."""
        return self._rows(sql.SIZE)[0][0] or 0

    def delete(self, ids: Collection[Id]) -> None:
        """See `Deletes.delete`."""
        self._change(sql.delete(self._repository, ids))

    def compact(self) -> None:
        """See `HasSpace.compact`. Others go on meanwhile.

        The server returns space only from the ends of its tables, and reuses the rest.
        """
        self._require_writable()
        if self._held_here() is not None:
            raise EngineError(f"{self.url} cannot be compacted inside a transaction")
        with self._translated(), self._connections.lend() as connection:
            connection.execute(sql.COMPACT)

    def _write(
        self,
        objects: Mapping[Id, bytes],
        update: RefUpdate | None,
        then: sql.Statement | None = None,
    ) -> bool:
        """Store objects and move a ref; returns whether the call that follows returns true."""
        if update is None:
            self._change(*([sql.store(self._repository, objects)] if objects else []))
            return False
        answer = self._move(objects, update, then)
        if answer is None:
            raise ref_conflict(self.url, update, self.ref(update.name))
        return answer

    def _move(
        self, objects: Mapping[Id, bytes], update: RefUpdate, then: sql.Statement | None
    ) -> bool | None:
        """Move a ref and store objects, if the ref is where it is expected; else None."""
        self._require_writable()
        query, values = sql.write(
            self._repository, self._busy_timeout, objects, update, then, relaxed=self._relaxed
        )
        held = self._held_here()
        with self._translated():
            if held is not None:
                with _rollback_on_error(held, _UNDO_INNER):
                    return _run(held, _SAVEPOINT, (query, values), _RELEASE)[1][0][0]
            with self._connections.lend() as connection:
                if not connection.is_pinned:
                    return _run_pinned(connection, (query, values))[0][0][0]
                cursor = connection.execute(query, values, prepare=True, binary=True)
                return cursor.fetchall()[0][0]

    def _index_statements(self, ref: str, move: VectorMove) -> Iterator[sql.Statement]:
        return vectors.moving(self._repository, ref, move)

    def _indexing(self, entry: IndexEntry) -> sql.Statement:
        return sql.add_index(self._repository, entry)

    def _begin_write(self, *, alone: bool) -> sql.Statement:
        return sql.begin_write(
            self._repository, self._busy_timeout, relaxed=self._relaxed, alone=alone
        )

    def _rows(self, query: LiteralString, *, often: bool = False, **values: Any) -> Rows:
        """The rows of a query, on the connection that is held here, or else on any.

        Args:
            query: the query.
            often: prepare it, if the session is the connection's own. Its plan is kept, so that
                it has to look for a whole key, for which there is one good plan.
            values: what it names.
        """
        values["repository"] = self._repository

        def question(connection: Connection) -> Rows:
            return connection.execute(query, values, prepare=often, binary=True).fetchall()

        return self._ask(question)

    def _column(self, query: LiteralString, **values: Any) -> list[Any]:
        return [row[0] for row in self._rows(query, **values)]

    def _ask(self, question: Callable[[Connection], T]) -> T:
        held = self._held_here()
        if held is None:
            return self._connections.ask(question)
        with self._translated():
            return question(held)

    def _change(self, *steps: sql.Statement) -> None:
        """Run statements as one transaction, or as a part of the one that is held here."""
        self._require_writable()
        if not steps:
            return
        held = self._held_here()
        with self._translated():
            if held is not None:
                with _rollback_on_error(held, _UNDO_INNER):
                    _run(held, _SAVEPOINT, *steps, _RELEASE)
                return
            with self._connections.lend() as connection:
                run = _run if connection.is_pinned else _run_pinned
                run(connection, self._begin_write(alone=False), *steps)

    @guarded
    def _atomic(
        self, connection: Connection, undo: LiteralString, end: sql.Statement, *begin: sql.Statement
    ) -> Generator[None]:
        """A transaction, or a part of one, which an exception undoes."""
        process = os.getpid()
        with self._translated(), _rollback_on_error(connection, undo):
            _run(connection, *begin)
            yield
            self._require_sound(process, connection)
            _run(connection, end)

    @guarded
    def _translated(self) -> Generator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise engine_error(self.url, error) from error

    def _require_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"{self.url} was opened for reading; open it for writing")

    def _held_here(self) -> Connection | None:
        """The connection of the `exclusive` that this thread is in."""
        held = self._held.get(get_ident())
        if held is None:
            return None
        self._require_sound(*held)
        return held[1]

    def _require_sound(self, process: int, connection: Connection) -> None:
        """Refuse to continue a transaction that is the parent process's, or that failed before."""
        if process != os.getpid():
            raise EngineError(
                f"this process was forked inside a transaction on {self.url}, which is its "
                "parent's to finish; use the store outside of it"
            )
        status = connection.pgconn.transaction_status, connection.pgconn.pipeline_status
        if status != (TransactionStatus.INTRANS, PipelineStatus.OFF):
            raise EngineError(
                f"the transaction on {self.url} was undone by an earlier failure; start again"
            )


def _run(connection: Connection, *steps: sql.Statement) -> list[Rows]:
    """Send statements together and give the rows of each; outside a transaction they make one."""
    try:
        with connection.pipeline():
            cursors = [
                connection.execute(query, values, prepare=False, binary=True)
                for query, values in steps
            ]
    except psycopg.Error as error:
        interrupt = error.__context__
        off = connection.pgconn.pipeline_status == PipelineStatus.OFF
        if off or interrupt is None or isinstance(interrupt, psycopg.Error):
            raise
        raise interrupt  # noqa: B904 - it only says that the pipeline is busy where that came
    return [cursor.fetchall() if cursor.description else [] for cursor in cursors]


def _run_pinned(connection: Connection, *steps: sql.Statement) -> list[Rows]:
    """Do as `_run` does where the session, which others share, may have another isolation."""
    with _rollback_on_error(connection, _UNDO):
        return _run(connection, _BEGIN, *steps, _COMMIT)[1:-1]


@guarded
def _rollback_on_error(connection: Connection, undo: LiteralString) -> Generator[None]:
    """Undo what an exception leaves; a lost connection, or one of the parent's, needs none."""
    process = os.getpid()
    try:
        yield
    except BaseException:
        if process == os.getpid() and not connection.closed:
            with suppress(psycopg.Error):
                connection.execute(undo)
        raise


def _batches(objects: Mapping[Id, bytes]) -> Iterator[dict[Id, bytes]]:
    """The objects in parts that one statement can carry."""
    batch: dict[Id, bytes] = {}
    size = 0
    for block in sorted(objects):
        batch[block] = objects[block]
        size += len(objects[block])
        if size >= BATCH_BYTES or len(batch) >= BATCH_OBJECTS:
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch

"""The embedded engine: one SQLite file, for any number of threads and processes of one machine."""

# pyright: reportUnknownMemberType=false
# (apsw describes its arguments with collections.abc.Buffer, which Python 3.11 does not have)

import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from threading import get_ident
from typing import Any, Literal, TypeVar, TypeVarTuple, cast

import apsw

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.engine.shared import index_entries, ref_conflict, reflog_entry
from mnemosyne_vcs.engine.sqlite.file import StoreFile
from mnemosyne_vcs.engine.sqlite.filesystems import refuse_other_names, warn_of_network
from mnemosyne_vcs.engine.sqlite.objects import (
    delete_objects,
    get_objects,
    get_sizes,
    put_objects,
    repack_objects,
)
from mnemosyne_vcs.engine.sqlite.pool import Pool
from mnemosyne_vcs.engine.sqlite.reading import Outdated, ask
from mnemosyne_vcs.engine.sqlite.statements import (
    add_index,
    begin_log,
    copy_into,
    get_commits_of_fact,
    get_commits_without_facts,
    get_index,
    get_ref,
    get_refs,
    get_settings,
    get_values_of_facts,
    make_distinct,
    mark_log,
    move_ref,
    put_facts,
    put_setting,
    rows,
    upgrade,
)
from mnemosyne_vcs.errors import (
    AlreadyExistsError,
    BusyError,
    EngineError,
    MnemosyneError,
    ReadOnlyError,
)
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.interrupts import guarded, noted
from mnemosyne_vcs.model import ReflogEntry
from mnemosyne_vcs.paths import absolute

__all__ = ["SQLiteEngine"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
PAGE_ROWS = 1000
TRIES = 100
ID_BYTES = 36
REPACKED = 4096
_UNDO_INNER = "ROLLBACK TO inner; RELEASE inner"


class SQLiteEngine:
    """A store in one SQLite file.

    Writers of all processes take turns; readers never wait. `synchronous` is FULL, or NORMAL
    with relaxed durability. Opened for writing on a network file system, it warns.

    Args:
        path: the file, absolute.
        url: the URL that names it.
        create: create it if it does not exist.
        read_only: refuse every write.
        durability: "full" or "relaxed".
        busy_timeout: seconds to wait for other writers.

    Raises:
        MnemosyneError: as `mnemosyne_vcs.engine.urls.open_engine` raises.
    """

    local = True

    def __init__(
        self,
        path: str,
        *,
        url: str,
        create: bool = False,
        read_only: bool = False,
        durability: Literal["full", "relaxed"] = "full",
        busy_timeout: float = 30.0,
    ) -> None:
        self.url = url
        self.read_only = read_only
        self._path = path
        synchronous = "FULL" if durability == "full" else "NORMAL"
        self._file = StoreFile(path, url, read_only, synchronous, busy_timeout)
        self._file.require(create=create)
        if not read_only:
            refuse_other_names(self._file.real)
            warn_of_network(path)
        self._pool = Pool(self._file)
        self._busy_timeout = busy_timeout
        self._held: tuple[int, apsw.Connection] | None = None
        self._ask(rows, "SELECT name FROM refs LIMIT 0")

    @property
    def cache_directory(self) -> Path:
        """See `HasCacheDirectory`: beside the file."""
        return Path(f"{self._file.real}-views")

    def read(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        """See `Engine.read`."""
        return self._ask(get_objects, tuple(ids))

    def sizes(self, ids: Collection[Id]) -> Mapping[Id, int]:
        """See `TellsSizes.sizes`."""
        return self._ask(get_sizes, tuple(ids))

    def ref(self, name: str) -> Id | None:
        """See `Engine.ref`."""
        return self._ask(get_ref, name)

    def refs(self, prefix: str = "") -> Mapping[str, Id]:
        """See `Engine.refs`."""
        return self._ask(get_refs, prefix)

    def write(self, objects: Mapping[Id, bytes], update: RefUpdate | None = None) -> None:
        """See `Engine.write`."""
        with self._transaction() as connection:
            if update is not None and (found := get_ref(connection, update.name)) != update.old:
                raise ref_conflict(self.url, update, found)
            put_objects(connection, objects)
            if update is not None:
                move_ref(connection, update)

    def close(self) -> None:
        """See `Engine.close`."""
        self._pool.close()

    @guarded
    def exclusive(self) -> Generator[None]:
        """See `Exclusive.exclusive`. Inside another one of the same thread it joins that one."""
        with self._transaction() as connection:
            outer, inner = self._held, (get_ident(), connection)
            try:
                self._held = inner
                yield
            finally:
                self._held = outer

    def reflog(self, name: str | None) -> Iterator[ReflogEntry]:
        """See `HasReflog.reflog`."""
        wanted, names = ("", ()) if name is None else ("name = ? AND", (name,))
        sql = (
            f"SELECT n, name, old, new, who, at, why FROM reflog WHERE {wanted} n < ? "
            "ORDER BY n DESC LIMIT ?"
        )
        for _, *move in self._pages(sql, *names, start=2**63 - 1):
            yield reflog_entry(RefUpdate(*move))

    def settings(self, prefix: str = "") -> Mapping[str, str]:
        """See `HasSettings.settings`."""
        return self._ask(get_settings, prefix)

    def set_setting(self, name: str, value: str | None) -> None:
        """See `HasSettings.set_setting`."""
        with self._transaction() as connection:
            put_setting(connection, name, value)

    def indexed(self, commit: Id) -> bool:
        """See `HasHistoryIndex.indexed`."""
        return bool(self._select("SELECT 1 FROM commits WHERE id = ?", commit))

    def commits_of_transaction(self, transaction: str) -> list[Id]:
        """See `HasHistoryIndex.commits_of_transaction`."""
        return self._select("SELECT id FROM commits WHERE made_by = ? ORDER BY n", transaction)

    def commits_of_key(self, key: str) -> list[Id]:
        """See `HasHistoryIndex.commits_of_key`."""
        sql = "SELECT id FROM touched JOIN commits USING (n) WHERE key = ? ORDER BY n DESC"
        return self._select(sql, key)

    def commits_of_keys(self, first: str, end: str | None) -> list[Id]:
        """See `HasHistoryIndex.commits_of_keys`."""
        below, bound = ("", ()) if end is None else ("AND key < ?", (end,))
        sql = (
            "SELECT id FROM commits WHERE n IN "
            f"(SELECT n FROM touched WHERE key >= ? {below}) ORDER BY n DESC"
        )
        return self._select(sql, first, *bound)

    def commits_before(self, commit: Id, limit: int) -> list[Id]:
        """See `HasHistoryIndex.commits_before`."""
        sql = (
            "SELECT id FROM commits WHERE n <= (SELECT n FROM commits WHERE id = ?) "
            "ORDER BY n DESC LIMIT ?"
        )
        return self._select(sql, commit, limit)

    def add_to_index(self, entries: Iterable[IndexEntry]) -> None:
        """See `HasHistoryIndex.add_to_index`."""
        added = list(entries)
        with self._transaction() as connection:
            for entry in added:
                add_index(connection, entry)

    def index_entries(self) -> Iterator[IndexEntry]:
        """See `ListsHistoryIndex.index_entries`."""
        return index_entries(self._ask(get_index))

    def clear_index(self) -> None:
        """See `HasHistoryIndex.clear_index`."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM commits; DELETE FROM touched")

    def commits_of_fact(self, field: str, value: str) -> list[Id]:
        """See `HasFacts.commits_of_fact`."""
        return self._ask(get_commits_of_fact, field, value)

    def values_of_facts(self, field: str) -> list[tuple[Id, str]]:
        """See `HasFacts.values_of_facts`."""
        return self._ask(get_values_of_facts, field)

    def commits_without_facts(self) -> list[Id]:
        """See `HasFacts.commits_without_facts`."""
        return self._ask(get_commits_without_facts)

    def add_facts(self, facts: Mapping[Id, Collection[tuple[str, str]]]) -> None:
        """See `HasFacts.add_facts`."""
        with self._transaction() as connection:
            put_facts(connection, facts)

    def ids(self, prefix: bytes = b"") -> Iterator[Id]:
        """See `Enumerates.ids`."""
        if prefix:
            sql = "SELECT id FROM objects WHERE id >= ? AND id <= ?"
            yield from self._select(sql, prefix, prefix + b"\xff" * ID_BYTES)
            return
        sql = "SELECT n, id FROM objects WHERE n > ? ORDER BY n LIMIT ?"
        for _, block in self._pages(sql, start=0):
            yield block

    def size(self) -> int:
        """See `HasSpace.size`: the file and the log beside it."""
        files = (Path(self._file.real + suffix) for suffix in ("", "-wal", "-shm"))
        return sum(file.stat().st_size for file in files if file.exists())

    def delete(self, ids: Collection[Id]) -> None:
        """See `Deletes.delete`."""
        with self._transaction() as connection:
            delete_objects(connection, ids)

    def repack(self, replaced: Iterable[tuple[Id, Id]]) -> None:
        """See `Repacks.repack`. Other writers get their turn between parts."""
        for part in batches(replaced, REPACKED):
            with self._transaction() as connection:
                repack_objects(connection, dict(part))

    def compact(self) -> None:
        """See `HasSpace.compact`. It rewrites the file, so it needs that much space meanwhile."""
        if self.read_only:
            raise self._reading_only()
        if self._held_here() is not None:
            raise EngineError(f"{self._path} cannot be compacted inside a transaction")
        try:
            with self._pool.write_lock(), self._pool.lend() as connection:
                begin_log(connection)
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except apsw.Error as error:
            raise self._file.error(error) from error

    def backup(self, path: str) -> None:
        """See `BacksUp.backup`. Writers can continue meanwhile."""
        target = Path(absolute(path))
        try:
            target.touch(exist_ok=False)
        except FileExistsError:
            raise AlreadyExistsError(f"{target} exists; a backup overwrites nothing") from None
        except OSError as error:
            raise self._no_backup(target, error) from error
        try:
            self._copy_to(target)
        except BaseException:
            target.unlink()
            raise

    def _copy_to(self, target: Path) -> None:
        """Fill an empty file with a copy, and flush it to the disk."""
        try:
            if self.read_only:
                self._ask_reading(copy_into, str(target))
            else:
                self._pool.ask(copy_into, str(target))
            make_distinct(str(target))
            with target.open("rb") as copy:
                os.fsync(copy.fileno())
        except apsw.CorruptError as error:
            raise self._file.error(error) from error
        except (apsw.Error, OSError) as error:
            if isinstance(error, MnemosyneError):
                raise
            raise self._no_backup(target, error) from error

    def _no_backup(self, target: Path, error: Exception) -> EngineError:
        return EngineError(
            f"{self.url} cannot be copied to {target}: {error}; check that directory and its space"
        )

    def _reading_only(self) -> ReadOnlyError:
        return ReadOnlyError(f"{self.url} was opened for reading; open it for writing")

    def _held_here(self) -> apsw.Connection | None:
        """The connection of the `exclusive` that this thread is in."""
        held = self._held
        return held[1] if held is not None and held[0] == get_ident() else None

    def _ask(self, question: Callable[[apsw.Connection, *Ts], T], *values: *Ts) -> T:
        """The result of a function of the connection that is held here, or else of any."""
        try:
            if (held := self._held_here()) is not None:
                self._require_alive(held)
                return question(held, *values)
            if self.read_only:
                return self._ask_reading(question, *values)
            return self._pool.ask(question, *values)
        except apsw.Error as error:
            raise self._file.error(error) from error

    def _ask_reading(self, question: Callable[[apsw.Connection, *Ts], T], *values: *Ts) -> T:
        """The result of a function of a file that did not change meanwhile."""
        for _ in range(TRIES):
            try:
                return self._pool.ask(ask, question, *values)
            except Outdated:
                continue
        raise BusyError(f"{self._path} was changed whenever it was read; try again")

    @guarded
    def _transaction(self) -> Generator[apsw.Connection]:
        """A connection in a transaction of its own, or in a part of the one that is held."""
        if self.read_only:
            raise self._reading_only()
        try:
            if (held := self._held_here()) is not None:
                self._require_alive(held)
                with self._atomic(held, "SAVEPOINT inner", "RELEASE inner", _UNDO_INNER):
                    yield held
                return
            with self._pool.write_lock() as patience, self._pool.lend() as connection:
                connection.set_busy_timeout(int(patience * 1000))
                begin_log(connection)
                before = connection.total_changes()
                with self._atomic(connection, "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"):
                    connection.set_busy_timeout(int(self._busy_timeout * 1000))
                    upgrade(connection)
                    yield connection
                    if connection.total_changes() != before:
                        mark_log(connection)
                    self._require_own_log(connection, "nothing was written; try again")
                self._require_own_log(connection, "whether it was written, a look at it tells")
        except apsw.Error as error:
            raise self._file.error(error) from error

    @guarded
    def _atomic(
        self, connection: apsw.Connection, begin: str, end: str, undo: str
    ) -> Generator[None]:
        execute = cast("Callable[[str], object]", connection.execute)
        begun, ended = list[object](), list[object]()
        try:
            noted(begun, execute, begin)
            yield
            self._require_alive(connection)
            noted(ended, execute, end)
        finally:
            unfinished = begun and not ended and self._path not in self._pool.orphaned
            if unfinished and connection.in_transaction:
                connection.execute(undo)

    def _require_own_log(self, connection: apsw.Connection, outcome: str) -> None:
        """Refuse to write to a log or file that was replaced, or to report such a write as done."""
        if self._path not in self._pool.orphaned and not self._pool.has_what_is_there(connection):
            raise EngineError(
                f"{self._path} or its log was replaced by another program during a write; {outcome}"
            )

    def _require_alive(self, connection: apsw.Connection) -> None:
        """Refuse to continue a transaction that is the parent process's, or that failed before."""
        if self._path in self._pool.orphaned:
            raise EngineError(
                f"this process was forked inside a transaction on {self._path}, which is its "
                "parent's to finish; use the store from a process that was started afresh"
            )
        if not connection.in_transaction:
            raise EngineError(
                f"the transaction on {self._path} was undone by an earlier failure; start again"
            )

    def _select(self, sql: str, *values: str | int | Id) -> list[Id]:
        return [found for (found,) in self._ask(rows, sql, *values)]

    def _pages(self, sql: str, *values: str, start: int) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, page by page, each going on from the last first column."""
        while True:
            page = self._ask(rows, sql, *values, start, PAGE_ROWS)
            yield from page
            if len(page) < PAGE_ROWS:
                return
            start = page[-1][0]

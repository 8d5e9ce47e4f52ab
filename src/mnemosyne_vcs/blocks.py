"""Checked, decoded reads of objects, over any engine.

Every block that comes out of an engine passes through here: its bytes are compared with its id
before it is used. Tree nodes and commits are kept decoded, most recently used first,
and the bytes of the records and vectors that were read one by one or written.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from mnemosyne_vcs.batches import BATCH, batches
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Engine
from mnemosyne_vcs.errors import CorruptObjectError, NotFoundError
from mnemosyne_vcs.forks import renew_after_fork
from mnemosyne_vcs.format.objects import (
    Node,
    StoredRecord,
    check_id,
    decode_commit,
    decode_node,
    decode_record,
    decode_vector,
)
from mnemosyne_vcs.ids import Id, text_id
from mnemosyne_vcs.model import Commit, Record, Vectors
from mnemosyne_vcs.reach import is_held, is_reached

if TYPE_CHECKING:
    from mnemosyne_vcs.model import Vector

__all__ = ["Blocks", "CollectedError", "as_record", "while_it_lasts"]

T = TypeVar("T")
MOST_AHEAD = 256
ATTEMPTS = 5
KEPT_VALUES = 512
KEPT_BYTES = 16_384


class _Recent(Generic[T]):
    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[Id, T] = OrderedDict()
        self._lock = Lock()

    def get(self, block: Id) -> T | None:
        with self._lock:
            found = self._entries.get(block)
            if found is not None:
                self._entries.move_to_end(block)
            return found

    def put(self, block: Id, value: T) -> None:
        self.put_all({block: value})

    def put_all(self, values: Mapping[Id, T]) -> None:
        with self._lock:
            self._entries.update(values)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)


class CollectedError(NotFoundError):
    """The object is no longer in the store, since no ref reached it."""


def while_it_lasts(read: Callable[[], T]) -> T:
    """The result of a function that reads from refs, started again when objects are collected.

    Args:
        read: starts from the present refs each time; changes nothing unless it succeeds.

    Raises:
        CollectedError: objects were collected again and again.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(CollectedError):
            return read()
    return read()


class Blocks:
    """The objects of one engine.

    Args:
        engine: where the bytes are.
        nodes: how many decoded tree nodes to keep.
        commits: how many decoded commits to keep.

    Attributes:
        engine: where the bytes are.
        can: the capabilities of the engine.
    """

    def __init__(self, engine: Engine, *, nodes: int = 8192, commits: int = 4096) -> None:
        self.engine = engine
        self.can = Capabilities.of(engine)
        self._sizes = nodes, commits
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Drop the caches."""
        nodes, commits = self._sizes
        self._nodes = _Recent[Node](nodes)
        self._commits = _Recent[Commit](commits)
        self._values = _Recent[bytes](KEPT_VALUES)

    def read(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        """The bytes of objects, each compared with its id.

        Raises:
            NotFoundError: an object is not in the store.
            CorruptObjectError: the bytes of an object are not what its id says.
        """
        found = self.engine.read(ids)
        for block in ids:
            data = found.get(block)
            if data is None:
                raise self._missing(block)
            check_id(block, data)
        return found

    def read_each(self, ids: Collection[Id]) -> Iterator[tuple[Id, bytes]]:
        """Many objects, each once, in the order that is best for the store.

        Raises as `read` does.

        Args:
            ids: the objects, each once.
        """
        remaining = set(ids)
        for part in self.can.read_many(list(ids)):
            for block, data in part.items():
                check_id(block, data)
                remaining.discard(block)
                yield block, data
        if remaining:
            raise self._missing(min(remaining))

    def _missing(self, block: Id) -> NotFoundError:
        """The error for an object that is not there."""
        missing = f"object {text_id(block)} is missing from {self.engine.url}"
        match is_reached(self.engine, self._walk(self.find_commit), block):
            case False:
                return CollectedError(
                    f"{missing}: no branch, tag or remote reaches its commit any more, and it was "
                    "garbage collected; name another revision"
                )
            case True:
                return NotFoundError(f"{missing}; restore it from a backup or a clone")
            case None:
                return NotFoundError(
                    f"{missing}: its commit was garbage collected, or the store is damaged; "
                    "`verify` shows which; restore damaged objects from a backup or a clone"
                )

    def read_one(self, block: Id) -> bytes:
        """The bytes of one object; raises as `read` does."""
        return self.read((block,))[block]

    def node(self, block: Id) -> Node:
        """A tree node; raises as `read` does."""
        node = self._nodes.get(block)
        if node is None:
            node = decode_node(block, self.read_one(block))
            self._nodes.put(block, node)
        return node

    def nodes(self, ids: Collection[Id]) -> dict[Id, Node]:
        """Many tree nodes at once; raises as `read` does."""
        found = {block: node for block in ids if (node := self._nodes.get(block)) is not None}
        absent = [block for block in ids if block not in found]
        for batch in batches(absent):
            for block, data in self.read(batch).items():
                found[block] = decode_node(block, data)
                self._nodes.put(block, found[block])
        return found

    def remember_nodes(self, nodes: Mapping[Id, Node]) -> None:
        """Keep decoded nodes that were just written."""
        self._nodes.put_all(nodes)

    def remember_commit(self, block: Id, commit: Commit) -> None:
        """Keep a commit that was just written."""
        self._commits.put(block, commit)

    def remember_values(self, values: Mapping[Id, bytes]) -> None:
        """Keep records and vectors that were just written, if they are neither large nor many."""
        if len(values) < KEPT_VALUES:
            small = {block: data for block, data in values.items() if len(data) <= KEPT_BYTES}
            self._values.put_all(small)

    def commit(self, block: Id) -> Commit:
        """A commit; raises as `read` does."""
        known = self._commits.get(block)
        if known is None:
            known = decode_commit(block, self.read_one(block))
            self._commits.put(block, known)
        return known

    def find_commit(self, block: Id) -> Commit | None:
        """A commit; None if it is not in the store.

        Raises:
            CorruptObjectError: the object is damaged, or is not a commit.
        """
        known = self._commits.get(block)
        if known is None and (data := self.engine.read((block,)).get(block)) is not None:
            check_id(block, data)
            known = decode_commit(block, data)
            self._commits.put(block, known)
        return known

    def is_held(self, commit: Commit) -> bool:
        """Whether a commit is in the past of what refs name now."""
        return is_held(self.engine, self._walk(self.find_commit), commit)

    def walk(self) -> Callable[[Id], Commit]:
        """A lookup of commits for one walk into the past; it raises as `read` does.

        If the engine can, it reads ahead: the longer the walk, the more at once.
        """
        return self._walk(self.commit)

    def _walk(self, read: Callable[[Id], T]) -> Callable[[Id], Commit | T]:
        history = self.can.history
        if history is None:
            return read
        ahead = 1

        def lookup(block: Id) -> Commit | T:
            nonlocal ahead
            known = self._commits.get(block)
            if known is None and ahead > 1:
                self._keep_commits(self.engine.read(history.commits_before(block, ahead)))
                known = self._commits.get(block)
            ahead = min(ahead * 2, MOST_AHEAD)
            return known or read(block)

        return lookup

    def _keep_commits(self, guessed: Mapping[Id, bytes]) -> None:
        """Cache those objects that are valid commits. Other objects that an engine guessed are
        ignored; reading them raises the error."""
        for block, data in guessed.items():
            if self._commits.get(block) is None:
                with suppress(CorruptObjectError):
                    check_id(block, data)
                    self._commits.put(block, decode_commit(block, data))

    def kept(self, value: Id) -> bytes | None:
        """The bytes of a record or vector if they are at hand."""
        return self._values.get(value)

    def values(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        """Records or vectors, which are read at once and kept; raises as `read` does."""
        if not ids:
            return {}
        found = self.read(ids)
        self.remember_values(found)
        return found

    def stored(self, block: Id) -> StoredRecord:
        """A record as stored; raises as `read` does."""
        return decode_record(block, self._value(block))

    def record(self, key: str, block: Id) -> Record:
        """The record under a key; raises as `read` does."""
        return as_record(key, self.stored(block), self.vector)

    def records(
        self, entries: Iterable[tuple[str, Id]], *, with_vectors: bool = False
    ) -> Iterator[Record]:
        """The records under many keys, in the order given; raises as `read` does.

        Args:
            entries: keys and ids of records.
            with_vectors: whether to read their vectors too, many at once, rather than each when
                it is asked for.
        """
        for batch in _growing_batches(entries):
            found = self.read([block for _, block in batch])
            stored = [(key, decode_record(block, found[block])) for key, block in batch]
            load = self.vector
            if with_vectors:
                load = self._loaded([id for _, each in stored for id in each.vectors.values()])
            for key, each in stored:
                yield as_record(key, each, load)

    def _loaded(self, vectors: Collection[Id]) -> "Callable[[Id], Vector]":
        found = self.read(vectors)
        return lambda block: decode_vector(block, found[block])

    def vector(self, block: Id) -> "Vector":
        """A vector, float32 of shape `(dimension,)`, read-only; raises as `read` does."""
        return decode_vector(block, self._value(block))

    def _value(self, block: Id) -> bytes:
        """The bytes of a record or vector, cached once they are checked."""
        return self._values.get(block) or self.values((block,))[block]


def as_record(key: str, stored: StoredRecord, load: "Callable[[Id], Vector]") -> Record:
    """A stored record as the public value.

    Args:
        key: its key.
        stored: the record.
        load: reads one of its vectors.
    """
    return Record(
        key,
        stored.content,
        Vectors(stored.vectors, load),
        stored.embedder,
        stored.provenance,
        stored.event_time,
        stored.transaction,
        stored.moved_from,
    )


def _growing_batches(entries: Iterable[tuple[str, Id]]) -> Iterator[list[tuple[str, Id]]]:
    """Batches that start small, so that a caller who stops early has read little."""
    remaining, size = iter(entries), 16
    while batch := list(islice(remaining, size)):
        yield batch
        size = min(size * 2, BATCH)

"""What an engine is: immutable objects by id, and named refs moved by compare-and-swap.

Everything beyond `Engine` is optional: a capability is a protocol of its own, and a repository
works without it. `mnemosyne_vcs.engine.capabilities.Capabilities` finds out what an engine has.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mnemosyne_vcs.engine.vector_index import VectorMove
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import ReflogEntry

__all__ = [
    "BacksUp",
    "Deletes",
    "Engine",
    "Enumerates",
    "Exclusive",
    "HasHistoryIndex",
    "HasReflog",
    "HasSettings",
    "HasSpace",
    "IndexEntry",
    "ListsHistoryIndex",
    "ReadsMany",
    "RefUpdate",
    "TellsSizes",
]


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One row set of the derived history index.

    Attributes:
        commit: the commit.
        transaction: the transaction that made it (32 hex digits).
        keys: the keys whose record differs from that in every parent.
    """

    commit: Id
    transaction: str
    keys: Collection[str]


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """One move of one ref.

    Attributes:
        name: the ref.
        old: the commit that it must point at, None if it must not exist.
        new: the commit that it shall point at, None to delete it.
        who: the author of the move, for the reflog.
        when: UTC milliseconds, for the reflog.
        why: what moves it, for the reflog.
        index: what an engine with a history index adds to it in the same write.
        vectors: how the index of the ref's vectors, if it has one, moves in the same write; it
            stays where it is if that is not where this expects it.
    """

    name: str
    old: Id | None
    new: Id | None
    who: str = ""
    when: int = 0
    why: str = ""
    index: IndexEntry | None = None
    vectors: VectorMove | None = None


class Engine(Protocol):
    """Where the bytes of a repository live. Safe for use by many threads at once."""

    @property
    def url(self) -> str:
        """The canonical URL, which opens the same store again."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether `write` is refused."""
        ...

    def read(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        """The bytes of the objects that exist, unchecked; absent ids are absent.

        Raises:
            EngineError: the store cannot be read.
        """
        ...

    def ref(self, name: str) -> Id | None:
        """Where a ref points now, as of the newest acknowledged write of any process.

        Raises:
            EngineError: the store cannot be read.
        """
        ...

    def refs(self, prefix: str = "") -> Mapping[str, Id]:
        """Every ref whose name starts with the prefix, in order of name.

        Raises:
            EngineError: the store cannot be read.
        """
        ...

    def write(self, objects: Mapping[Id, bytes], update: RefUpdate | None = None) -> None:
        """Store all objects, then move at most one ref: all of it, durably, or nothing.

        An object that exists is left as it is.

        Raises:
            RefConflictError: the ref is not at `update.old`; nothing was written.
            ReadOnlyError: the store was opened for reading, or lies where it cannot be written.
            BusyError: other writers held the store for longer than the busy timeout.
            EngineError: the store cannot be written; whether it was is unknown.
        """
        ...

    def close(self) -> None:
        """Give back what the engine holds. A later call opens it again."""
        ...


@runtime_checkable
class Exclusive(Protocol):
    """An engine that can keep other writers out."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Hold the write lock.

        Reads and writes of this thread inside see and make one transaction, which is durable
        once the context is left and undone if it is left by an exception.

        Raises:
            BusyError: other writers held the store for longer than the busy timeout.
        """
        ...


@runtime_checkable
class HasReflog(Protocol):
    """An engine that remembers where its refs have been."""

    def reflog(self, name: str | None) -> Iterator[ReflogEntry]:
        """The moves of a ref, newest first; also of a ref that was deleted.

        Args:
            name: the ref; None for all that are and were.
        """
        ...


@runtime_checkable
class HasSettings(Protocol):
    """An engine that keeps short texts by name, which are no part of any memory."""

    def settings(self, prefix: str = "") -> Mapping[str, str]:
        """Every setting whose name starts with the prefix, in order of name."""
        ...

    def set_setting(self, name: str, value: str | None) -> None:
        """Keep a text under a name, in place of what was there; None forgets it.

        Raises:
            ReadOnlyError: the store was opened for reading.
            BusyError: other writers held the store for longer than the busy timeout.
            EngineError: the store cannot be written.
        """
        ...


@runtime_checkable
class HasHistoryIndex(Protocol):
    """An engine that finds commits by transaction and by key. Derived, and can be rebuilt.

    The index is closed: it holds every ancestor of a commit that it holds. Who moves a ref to
    commits that it lacks adds them, oldest first.
    """

    def indexed(self, commit: Id) -> bool:
        """Whether the index knows the commit."""
        ...

    def commits_of_transaction(self, transaction: str) -> list[Id]:
        """The indexed commits that a transaction made, oldest entry first."""
        ...

    def commits_of_key(self, key: str) -> list[Id]:
        """The indexed commits that changed a key, newest entry first."""
        ...

    def commits_of_keys(self, first: str, end: str | None) -> list[Id]:
        """The indexed commits that changed a key of first <= key < end, newest entry first.

        Without an end there is no upper bound.
        """
        ...

    def commits_before(self, commit: Id, limit: int) -> list[Id]:
        """A commit, and those that were indexed just before it, newest entry first.

        They are likely to be its ancestors, so that a walk into the past can read them at once.

        Args:
            commit: the commit; nothing is given if it is not indexed.
            limit: how many at most, itself included.
        """
        ...

    def add_to_index(self, entries: Iterable[IndexEntry]) -> None:
        """Add commits; those that are there already stay as they are."""
        ...

    def clear_index(self) -> None:
        """Forget the index; `add_to_index` builds it again."""
        ...


@runtime_checkable
class ListsHistoryIndex(Protocol):
    """An engine whose history index can be compared with the objects that it is derived from."""

    def index_entries(self) -> Iterator[IndexEntry]:
        """Every entry of the history index as of one moment, in no particular order.

        Keys that belong to no commit, which only damage leaves, are an entry with an empty commit.

        Raises:
            EngineError: the store cannot be read.
        """
        ...


@runtime_checkable
class ReadsMany(Protocol):
    """An engine from which many objects are best read in the order in which they lie there."""

    def read_many(self, ids: Collection[Id]) -> Iterator[Mapping[Id, bytes]]:
        """The objects that exist, each once and unchecked, in parts of some order and size.

        Raises:
            EngineError: the store cannot be read.
        """
        ...


@runtime_checkable
class TellsSizes(Protocol):
    """An engine that knows which objects exist, and their sizes, without reading them."""

    def sizes(self, ids: Collection[Id]) -> Mapping[Id, int]:
        """How many bytes each of the objects has that exist; absent ids are absent.

        Raises:
            EngineError: the store cannot be read.
        """
        ...


@runtime_checkable
class Enumerates(Protocol):
    """An engine that can list what it holds."""

    def ids(self, prefix: bytes = b"") -> Iterator[Id]:
        """The id of every stored object that starts with the prefix, in no particular order."""
        ...


@runtime_checkable
class Deletes(Protocol):
    """An engine that can forget objects for good."""

    def delete(self, ids: Collection[Id]) -> None:
        """Remove objects, all or none, and what the history index says of commits among them.

        Ids that are absent stay so. The reflog keeps its lines. Whoever calls this knows that no
        ref reaches the objects; the history index stays closed only if with a commit all commits
        that descend from it are removed.

        Raises:
            ReadOnlyError: the store was opened for reading.
            BusyError: other writers held the store for longer than the busy timeout.
            EngineError: the store cannot be written.
        """
        ...


@runtime_checkable
class HasSpace(Protocol):
    """An engine that knows the room that it takes, and can give some of it back."""

    def size(self) -> int:
        """Bytes that the store takes where it lives."""
        ...

    def compact(self) -> None:
        """Give the room of what was deleted back to the file system; new objects use it otherwise.

        Raises:
            ReadOnlyError: the store was opened for reading.
            BusyError: other writers held the store for longer than the busy timeout.
            EngineError: the store cannot be written, or this thread is inside `exclusive`.
        """
        ...


@runtime_checkable
class BacksUp(Protocol):
    """An engine that can copy itself while it is in use."""

    def backup(self, path: str) -> None:
        """Write a consistent copy, which opens as a store of its own.

        It is on the disk then. If the process dies meanwhile, part of it may be at that path, so
        that the path should be a name for the time being.

        Raises:
            AlreadyExistsError: something is at that path.
            EngineError: the copy cannot be written.
        """
        ...

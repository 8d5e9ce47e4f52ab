"""The protocol of engines: immutable objects by id, and named refs moved by compare-and-swap.

Everything beyond `Engine` is optional: a capability is a protocol of its own, and a repository
works without it. `mnemosyne_vcs.engine.capabilities.Capabilities` determines those of an engine.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
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
    "HasCacheDirectory",
    "HasFacts",
    "HasHistoryIndex",
    "HasReflog",
    "HasSettings",
    "HasSpace",
    "IndexEntry",
    "IsLocal",
    "ListsHistoryIndex",
    "ReadsMany",
    "RefUpdate",
    "Repacks",
    "TellsSizes",
]


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The entry of a commit in the derived history index.

    Attributes:
        commit: the commit.
        transaction: the transaction that made it (32 hex digits).
        keys: the keys whose record differs from that in every parent.
        facts: what is known of the commit and of the records that it wrote, as pairs of field and
            value (see `history.facts`); None if that was not looked up.
    """

    commit: Id
    transaction: str
    keys: Collection[str]
    facts: Collection[tuple[str, str]] | None = None


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """One move of one ref.

    Attributes:
        name: the ref.
        old: the commit that it must point at, None if it must not exist.
        new: the commit to point it at, None to delete it.
        who: the author of the move, for the reflog.
        when: UTC milliseconds, for the reflog.
        why: the reason, for the reflog.
        index: the entry that an engine with a history index adds in the same write.
        vectors: the update of the index of the ref's vectors, if it has one, in the same write;
            ignored if the index is not at the expected root.
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
    """The store of the bytes of a repository. Safe for use by many threads at once."""

    @property
    def url(self) -> str:
        """The canonical URL, which opens the same store again."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether `write` is refused."""
        ...

    def read(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        """The bytes of the objects that exist, unchecked; other ids are left out.

        Raises:
            EngineError: the store cannot be read.
        """
        ...

    def ref(self, name: str) -> Id | None:
        """The commit that a ref points at, as of the newest acknowledged write of any process.

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
        """Store all objects and move at most one ref: all of it, durably, or nothing.

        An object that exists is not changed.

        Raises:
            RefConflictError: the ref is not at `update.old`; nothing was written.
            ReadOnlyError: the store was opened for reading, or its place is not writable.
            BusyError: other writers held the store for longer than the busy timeout.
            EngineError: the store cannot be written; whether it was is unknown.
        """
        ...

    def close(self) -> None:
        """Release the resources of the engine. A later call opens it again."""
        ...


@runtime_checkable
class Exclusive(Protocol):
    """An engine with a write lock."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Hold the write lock.

        Reads and writes of this thread inside form one transaction. It is durable once the
        context is left, and undone if it is left by an exception.

        Raises:
            BusyError: other writers held the store for longer than the busy timeout.
        """
        ...


@runtime_checkable
class HasReflog(Protocol):
    """An engine that records the moves of its refs."""

    def reflog(self, name: str | None) -> Iterator[ReflogEntry]:
        """The moves of a ref, newest first, even if it was deleted.

        Args:
            name: the ref; None for all present and past refs.
        """
        ...


@runtime_checkable
class HasSettings(Protocol):
    """An engine that stores short texts by name, which are not part of any memory."""

    def settings(self, prefix: str = "") -> Mapping[str, str]:
        """Every setting whose name starts with the prefix, in order of name."""
        ...

    def set_setting(self, name: str, value: str | None) -> None:
        """Store a text under a name, replacing the one there; None deletes it.

        Raises:
            ReadOnlyError: the store was opened for reading.
            BusyError: other writers held the store for longer than the busy timeout.
            EngineError: the store cannot be written.
        """
        ...


@runtime_checkable
class HasHistoryIndex(Protocol):
    """An engine that finds commits by transaction and by key. Derived, and can be rebuilt.

    The index is closed: it holds every ancestor of a commit that it holds. A caller that moves a
    ref to commits that it lacks adds them, oldest first.
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
            commit: the commit; the result is empty if it is not indexed.
            limit: how many at most, itself included.
        """
        ...

    def add_to_index(self, entries: Iterable[IndexEntry]) -> None:
        """Add commits; existing ones are not changed."""
        ...

    def clear_index(self) -> None:
        """Empty the index; `add_to_index` builds it again."""
        ...


@runtime_checkable
class HasFacts(Protocol):
    """An engine whose history index also finds commits by facts about them.

    A fact is a pair of field and value. Entries may be without facts: those that another version
    made, and those of commits that came from elsewhere. They are added before facts are looked up.
    """

    def commits_of_fact(self, field: str, value: str) -> list[Id]:
        """The indexed commits with a fact, newest entry first."""
        ...

    def values_of_facts(self, field: str) -> list[tuple[Id, str]]:
        """The indexed commits with facts of a field, with the value of each; in any order."""
        ...

    def commits_without_facts(self) -> list[Id]:
        """The indexed commits whose facts were not added yet, oldest entry first."""
        ...

    def add_facts(self, facts: Mapping[Id, Collection[tuple[str, str]]]) -> None:
        """Add the facts of indexed commits; those of other commits are ignored.

        Args:
            facts: for each commit all its facts, one at least.
        """
        ...


@runtime_checkable
class ListsHistoryIndex(Protocol):
    """An engine whose history index can be compared with the objects that it is derived from."""

    def index_entries(self) -> Iterator[IndexEntry]:
        """Every entry of the history index as of one moment, in no particular order.

        Keys without a commit, which only damage leaves behind, are an entry with an empty commit.

        Raises:
            EngineError: the store cannot be read.
        """
        ...


@runtime_checkable
class ReadsMany(Protocol):
    """An engine that reads many objects best in the order in which it stores them."""

    def read_many(self, ids: Collection[Id]) -> Iterator[Mapping[Id, bytes]]:
        """The objects that exist, each once and unchecked, in parts of some order and size.

        Raises:
            EngineError: the store cannot be read.
        """
        ...


@runtime_checkable
class IsLocal(Protocol):
    """An engine that reads objects from memory or files of this machine, in microseconds each.

    A search then reads the exact numbers of vectors when it needs them, instead of keeping all in
    memory.
    """

    @property
    def local(self) -> bool:
        """Whether this store is read so."""
        ...


@runtime_checkable
class HasCacheDirectory(Protocol):
    """An engine that knows a place for files of derived data, which may be deleted at any time."""

    @property
    def cache_directory(self) -> Path | None:
        """The directory, which need not exist; None for no place."""
        ...


@runtime_checkable
class TellsSizes(Protocol):
    """An engine that knows which objects exist, and their sizes, without reading them."""

    def sizes(self, ids: Collection[Id]) -> Mapping[Id, int]:
        """The size in bytes of each object that exists; other ids are left out.

        Raises:
            EngineError: the store cannot be read.
        """
        ...


@runtime_checkable
class Enumerates(Protocol):
    """An engine that can list its objects."""

    def ids(self, prefix: bytes = b"") -> Iterator[Id]:
        """The id of every stored object that starts with the prefix, in no particular order."""
        ...


@runtime_checkable
class Deletes(Protocol):
    """An engine that can delete objects."""

    def delete(self, ids: Collection[Id]) -> None:
        """Remove objects, all or none, and the entries of commits among them in the history index.

        Absent ids are ignored. The reflog keeps its lines. The caller makes sure that no ref
        reaches the objects; the history index stays closed only if all descendants of a removed
        commit are removed too.

        Raises:
            ReadOnlyError: the store was opened for reading.
            BusyError: other writers held the store for longer than the busy timeout.
            EngineError: the store cannot be written.
        """
        ...


@runtime_checkable
class HasSpace(Protocol):
    """An engine that knows its size, and can return space to the file system."""

    def size(self) -> int:
        """The size of the store in bytes."""
        ...

    def compact(self) -> None:
        """Return the space of deleted objects to the file system; otherwise new objects use it.

        Raises:
            ReadOnlyError: the store was opened for reading.
            BusyError: other writers held the store for longer than the busy timeout.
            EngineError: the store cannot be written, or this thread is inside `exclusive`.
        """
        ...


@runtime_checkable
class Repacks(Protocol):
    """An engine that can store an object as its difference to another one."""

    def repack(self, replaced: Iterable[tuple[Id, Id]]) -> None:
        """Store objects that take more space than they need as differences.

        What can be read stays the same. It may be given up between parts of the pairs.

        Args:
            replaced: objects, each with the one that it replaced, the oldest first. Objects that
                are missing are left out.

        Raises:
            ReadOnlyError: the store was opened for reading.
            BusyError: other writers held the store for longer than the busy timeout.
            EngineError: the store cannot be written.
        """
        ...


@runtime_checkable
class BacksUp(Protocol):
    """An engine that can copy itself while it is in use."""

    def backup(self, path: str) -> None:
        """Write a consistent copy, which opens as a store of its own.

        It is on the disk when this returns. If the process dies meanwhile, part of it may be at
        that path, so the path should be a temporary name.

        Raises:
            AlreadyExistsError: the path exists already.
            EngineError: the copy cannot be written.
        """
        ...

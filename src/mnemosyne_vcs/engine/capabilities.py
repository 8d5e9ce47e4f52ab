"""The capabilities of an engine beyond `Engine`, determined once."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from typing import Self, TypeVar

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.engine.protocol import (
    BacksUp,
    Deletes,
    Engine,
    Enumerates,
    Exclusive,
    HasCacheDirectory,
    HasFacts,
    HasHistoryIndex,
    HasReflog,
    HasSettings,
    HasSpace,
    IsLocal,
    ListsHistoryIndex,
    ReadsMany,
    Repacks,
    TellsSizes,
)
from mnemosyne_vcs.engine.vector_index import IndexesVectors
from mnemosyne_vcs.ids import Id

__all__ = ["Capabilities"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The optional capabilities of an engine: for each the engine itself if it has it, else None.

    Testing whether an object follows a protocol takes microseconds, so it is done once for each
    engine.

    Attributes:
        engine: the engine.
        lock: it has a write lock; see `exclusive`.
        reflog: it records the moves of its refs.
        settings: it stores short texts by name.
        history: it finds commits by transaction and by key.
        facts: its history index also finds commits by facts about them.
        list_history: its history index can be compared with the objects.
        enumerate: it lists its objects.
        delete: it deletes objects.
        space: it knows its size.
        repack: it can store objects as differences.
        back_up: it can copy itself.
        vectors: it finds vectors by nearness.
        tell_sizes: it knows the sizes of objects without reading them; see `sizes`.
        bulk: it has a preferred order for reading many objects; see `read_many`.
        local: reading one object takes microseconds.
        cache: it has a place for files of derived data.
    """

    engine: Engine
    lock: Exclusive | None = None
    reflog: HasReflog | None = None
    settings: HasSettings | None = None
    history: HasHistoryIndex | None = None
    facts: HasFacts | None = None
    list_history: ListsHistoryIndex | None = None
    enumerate: Enumerates | None = None
    delete: Deletes | None = None
    space: HasSpace | None = None
    repack: Repacks | None = None
    back_up: BacksUp | None = None
    vectors: IndexesVectors | None = None
    tell_sizes: TellsSizes | None = None
    bulk: ReadsMany | None = None
    local: IsLocal | None = None
    cache: HasCacheDirectory | None = None

    @classmethod
    def of(cls, engine: Engine) -> Self:
        """The capabilities of an engine.

        An engine that wraps another one gives its own, as the attribute `capabilities`.
        """
        told = getattr(engine, "capabilities", None)
        if isinstance(told, cls):
            return told
        return cls(
            engine,
            lock=_as(engine, Exclusive),
            reflog=_as(engine, HasReflog),
            settings=_as(engine, HasSettings),
            history=_as(engine, HasHistoryIndex),
            facts=_as(engine, HasFacts),
            list_history=_as(engine, ListsHistoryIndex),
            enumerate=_as(engine, Enumerates),
            delete=_as(engine, Deletes),
            space=_as(engine, HasSpace),
            repack=_as(engine, Repacks),
            back_up=_as(engine, BacksUp),
            vectors=_as(engine, IndexesVectors),
            tell_sizes=_as(engine, TellsSizes),
            bulk=_as(engine, ReadsMany),
            local=near if (near := _as(engine, IsLocal)) and near.local else None,
            cache=_as(engine, HasCacheDirectory),
        )

    def through(self, wrapper: Engine) -> Self:
        """The same capabilities for an engine that wraps this one and has all their methods."""
        had = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        return replace(self, **dict.fromkeys(had, wrapper))

    def exclusive(self) -> AbstractContextManager[None]:
        """Hold the write lock, if there is one; see `Exclusive.exclusive`."""
        return nullcontext() if self.lock is None else self.lock.exclusive()

    def sizes(self, ids: Collection[Id]) -> dict[Id, int]:
        """The sizes of the objects that exist; their bytes are read only if there is no other way.

        Raises:
            EngineError: the store cannot be read.
        """
        found: dict[Id, int] = {}
        for batch in batches(dict.fromkeys(ids)):
            if self.tell_sizes is None:
                data = self.engine.read(batch)
                found.update((block, len(each)) for block, each in data.items())
            else:
                found.update(self.tell_sizes.sizes(batch))
        return found

    def exists(self, ids: Collection[Id]) -> set[Id]:
        """Those of the objects that exist; raises as `sizes` does."""
        return set(self.sizes(ids))

    def read_many(self, ids: Collection[Id]) -> Iterator[Mapping[Id, bytes]]:
        """The objects that exist, each once and unchecked, in parts, in the preferred order.

        Raises:
            EngineError: the store cannot be read.
        """
        if self.bulk is not None:
            return self.bulk.read_many(ids)
        return (self.engine.read(batch) for batch in batches(dict.fromkeys(ids)))


def _as(engine: Engine, capability: type[T]) -> T | None:
    return engine if isinstance(engine, capability) else None

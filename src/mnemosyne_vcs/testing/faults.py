"""Engines that wrap another one and behave badly on purpose, in a way that can be repeated."""

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Literal, TypeAlias, TypeVar

from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Engine, IndexEntry, RefUpdate
from mnemosyne_vcs.engine.vector_index import (
    VectorIndex,
    VectorMatch,
    VectorMove,
    VectorQuery,
)
from mnemosyne_vcs.errors import EngineError
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.interrupts import guarded
from mnemosyne_vcs.model import ReflogEntry

__all__ = ["Fault", "FaultyEngine", "SlowEngine", "random_faults"]

Fault: TypeAlias = Literal["before", "after"] | None
"""When a call fails: before it reaches the engine, after it took effect there, or not at all."""

T = TypeVar("T")


class _Wrapper:
    """Passes every call through `_call`. It has the capabilities of what it wraps, and no others:
    the methods of the others are there, but `capabilities` does not tell of them."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._can = Capabilities.of(engine)

    @property
    def capabilities(self) -> Capabilities:
        """See `Capabilities.of`."""
        return self._can.through(self)

    @property
    def url(self) -> str:
        """See `Engine.url`."""
        return self.engine.url

    @property
    def read_only(self) -> bool:
        """See `Engine.read_only`."""
        return self.engine.read_only

    def read(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        """See `Engine.read`."""
        return self._call("read", lambda: self.engine.read(ids))

    def ref(self, name: str) -> Id | None:
        """See `Engine.ref`."""
        return self._call("ref", lambda: self.engine.ref(name))

    def refs(self, prefix: str = "") -> Mapping[str, Id]:
        """See `Engine.refs`."""
        return self._call("refs", lambda: self.engine.refs(prefix))

    def write(self, objects: Mapping[Id, bytes], update: RefUpdate | None = None) -> None:
        """See `Engine.write`."""
        self._call("write", lambda: self.engine.write(objects, update))

    def close(self) -> None:
        """See `Engine.close`."""
        self.engine.close()

    @guarded
    def exclusive(self) -> Generator[None]:
        """See `Exclusive.exclusive`."""
        with _had(self._can.lock).exclusive():
            yield

    def reflog(self, name: str | None) -> Iterator[ReflogEntry]:
        """See `HasReflog.reflog`."""
        return self._call("reflog", lambda: _had(self._can.reflog).reflog(name))

    def settings(self, prefix: str = "") -> Mapping[str, str]:
        """See `HasSettings.settings`."""
        return self._call("settings", lambda: _had(self._can.settings).settings(prefix))

    def set_setting(self, name: str, value: str | None) -> None:
        """See `HasSettings.set_setting`."""
        self._call("set_setting", lambda: _had(self._can.settings).set_setting(name, value))

    def indexed(self, commit: Id) -> bool:
        """See `HasHistoryIndex.indexed`."""
        return self._call("indexed", lambda: _had(self._can.history).indexed(commit))

    def commits_of_transaction(self, transaction: str) -> list[Id]:
        """See `HasHistoryIndex.commits_of_transaction`."""
        act = _had(self._can.history).commits_of_transaction
        return self._call("commits_of_transaction", lambda: act(transaction))

    def commits_of_key(self, key: str) -> list[Id]:
        """See `HasHistoryIndex.commits_of_key`."""
        return self._call("commits_of_key", lambda: _had(self._can.history).commits_of_key(key))

    def commits_of_keys(self, first: str, end: str | None) -> list[Id]:
        """See `HasHistoryIndex.commits_of_keys`."""
        act = _had(self._can.history).commits_of_keys
        return self._call("commits_of_keys", lambda: act(first, end))

    def commits_before(self, commit: Id, limit: int) -> list[Id]:
        """See `HasHistoryIndex.commits_before`."""
        act = _had(self._can.history).commits_before
        return self._call("commits_before", lambda: act(commit, limit))

    def add_to_index(self, entries: Iterable[IndexEntry]) -> None:
        """See `HasHistoryIndex.add_to_index`."""
        self._call("add_to_index", lambda: _had(self._can.history).add_to_index(entries))

    def clear_index(self) -> None:
        """See `HasHistoryIndex.clear_index`."""
        self._call("clear_index", _had(self._can.history).clear_index)

    def commits_of_fact(self, field: str, value: str) -> list[Id]:
        """See `HasFacts.commits_of_fact`."""
        act = _had(self._can.facts).commits_of_fact
        return self._call("commits_of_fact", lambda: act(field, value))

    def values_of_facts(self, field: str) -> list[tuple[Id, str]]:
        """See `HasFacts.values_of_facts`."""
        act = _had(self._can.facts).values_of_facts
        return self._call("values_of_facts", lambda: act(field))

    def commits_without_facts(self) -> list[Id]:
        """See `HasFacts.commits_without_facts`."""
        return self._call("commits_without_facts", _had(self._can.facts).commits_without_facts)

    def add_facts(self, facts: Mapping[Id, Collection[tuple[str, str]]]) -> None:
        """See `HasFacts.add_facts`."""
        self._call("add_facts", lambda: _had(self._can.facts).add_facts(facts))

    def index_entries(self) -> Iterator[IndexEntry]:
        """See `ListsHistoryIndex.index_entries`."""
        return self._call("index_entries", _had(self._can.list_history).index_entries)

    def vector_indexes(self) -> list[VectorIndex]:
        """See `IndexesVectors.vector_indexes`."""
        return self._call("vector_indexes", _had(self._can.vectors).vector_indexes)

    def known_vector_root(self, ref: str) -> Id | None:
        """See `IndexesVectors.known_vector_root`."""
        return _had(self._can.vectors).known_vector_root(ref)

    def add_vector_index(self, ref: str, root: Id) -> None:
        """See `IndexesVectors.add_vector_index`."""
        act = _had(self._can.vectors).add_vector_index
        self._call("add_vector_index", lambda: act(ref, root))

    def drop_vector_index(self, ref: str) -> bool:
        """See `IndexesVectors.drop_vector_index`."""
        act = _had(self._can.vectors).drop_vector_index
        return self._call("drop_vector_index", lambda: act(ref))

    def move_vector_index(self, ref: str, move: VectorMove) -> bool:
        """See `IndexesVectors.move_vector_index`."""
        act = _had(self._can.vectors).move_vector_index
        return self._call("move_vector_index", lambda: act(ref, move))

    def nearest_vectors(self, ref: str, root: Id, query: VectorQuery) -> list[VectorMatch] | None:
        """See `IndexesVectors.nearest_vectors`."""
        act = _had(self._can.vectors).nearest_vectors
        return self._call("nearest_vectors", lambda: act(ref, root, query))

    def vector_dimensions(
        self, ref: str, root: Id, name: str, but: Collection[str] = ()
    ) -> list[int] | None:
        """See `IndexesVectors.vector_dimensions`."""
        act = _had(self._can.vectors).vector_dimensions
        return self._call("vector_dimensions", lambda: act(ref, root, name, but))

    def sizes(self, ids: Collection[Id]) -> Mapping[Id, int]:
        """See `TellsSizes.sizes`."""
        return self._call("sizes", lambda: _had(self._can.tell_sizes).sizes(ids))

    def read_many(self, ids: Collection[Id]) -> Iterator[Mapping[Id, bytes]]:
        """See `ReadsMany.read_many`."""
        return self._call("read_many", lambda: _had(self._can.bulk).read_many(ids))

    @property
    def cache_directory(self) -> Path | None:
        """See `HasCacheDirectory`."""
        return _had(self._can.cache).cache_directory

    def ids(self, prefix: bytes = b"") -> Iterator[Id]:
        """See `Enumerates.ids`."""
        return self._call("ids", lambda: _had(self._can.enumerate).ids(prefix))

    def delete(self, ids: Collection[Id]) -> None:
        """See `Deletes.delete`."""
        self._call("delete", lambda: _had(self._can.delete).delete(ids))

    def repack(self, replaced: Iterable[tuple[Id, Id]]) -> None:
        """See `Repacks.repack`."""
        self._call("repack", lambda: _had(self._can.repack).repack(replaced))

    def size(self) -> int:
        """See `HasSpace.size`."""
        return self._call("size", _had(self._can.space).size)

    def compact(self) -> None:
        """See `HasSpace.compact`."""
        self._call("compact", _had(self._can.space).compact)

    def backup(self, path: str) -> None:
        """See `BacksUp.backup`."""
        self._call("backup", lambda: _had(self._can.back_up).backup(path))

    def _call(self, name: str, act: Callable[[], T]) -> T:
        raise NotImplementedError


def _had(capability: T | None) -> T:
    """A capability that the wrapped engine has; the others are not used."""
    assert capability is not None, "the wrapped engine cannot do this"
    return capability


class FaultyEngine(_Wrapper):
    """An engine whose calls fail by a schedule, with `EngineError`.

    A fault `"before"` stands for a store out of reach: nothing happened. A fault `"after"` stands
    for a lost answer: the call took effect and its caller does not know.

    Args:
        engine: what to wrap.
        faults: one entry for each call of the kinds in `calls`; when they are used up, no call
            fails any more.
        calls: the names of the methods that may fail.
    """

    def __init__(
        self, engine: Engine, faults: Iterable[Fault] = (), *, calls: Collection[str] = ("write",)
    ) -> None:
        super().__init__(engine)
        self._faults = iter(faults)
        self._calls = frozenset(calls)
        self.failed: list[tuple[str, Fault]] = []

    def schedule(self, *faults: Fault) -> None:
        """Replace what is left of the schedule."""
        self._faults = iter(faults)

    def _call(self, name: str, act: Callable[[], T]) -> T:
        fault = next(self._faults, None) if name in self._calls else None
        if fault == "before":
            self._fail(name, fault)
        answer = act()
        if fault == "after":
            self._fail(name, fault)
        return answer

    def _fail(self, name: str, fault: Fault) -> None:
        self.failed.append((name, fault))
        raise EngineError(f"{name} on {self.url} failed by schedule, {fault} taking effect")


def random_faults(seed: int, rate: float) -> Iterator[Fault]:
    """An endless schedule that is the same for the same seed.

    Args:
        seed: any number.
        rate: the share of calls that fail, 0 to 1; half of them before, half after the effect.
    """
    random = Random(seed)
    while True:
        yield random.choice(("before", "after")) if random.random() < rate else None


class SlowEngine(_Wrapper):
    """An engine as far away as a network makes it.

    Args:
        engine: what to wrap.
        delay: seconds added to each call.
    """

    def __init__(self, engine: Engine, delay: float) -> None:
        super().__init__(engine)
        self._can = replace(self._can, local=None)
        self._delay = delay

    def _call(self, name: str, act: Callable[[], T]) -> T:
        time.sleep(self._delay)
        return act()

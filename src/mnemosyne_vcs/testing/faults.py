"""Engines that wrap another one and behave badly on purpose, in a way that can be repeated."""

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any, Literal, TypeAlias, TypeVar, cast

from mnemosyne_vcs.engine.protocol import (
    Deletes,
    Engine,
    Enumerates,
    Exclusive,
    HasHistoryIndex,
    HasReflog,
    HasSettings,
    IndexEntry,
    ListsHistoryIndex,
    ReadsAhead,
    ReadsInBulk,
    ReadsRecords,
    RefUpdate,
    Snapshots,
)
from mnemosyne_vcs.engine.vector_index import (
    IndexesVectors,
    VectorIndex,
    VectorMatch,
    VectorMove,
    VectorQuery,
)
from mnemosyne_vcs.errors import EngineError
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import ReflogEntry

__all__ = ["Fault", "FaultyEngine", "SlowEngine", "random_faults"]

Fault: TypeAlias = Literal["before", "after"] | None
"""When a call fails: before it reaches the engine, after it took effect there, or not at all."""

T = TypeVar("T")


class _Wrapper:
    """Passes every call through `_call`, and has the capabilities of what it wraps."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        kind = type(self)
        mixins = tuple(mixin for can, mixin in _MIXINS if isinstance(engine, can))
        self.__class__ = cast(Any, type(kind.__name__, (kind, *mixins), {}))

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

    def _call(self, name: str, act: Callable[[], T]) -> T:
        raise NotImplementedError


class _Exclusive(_Wrapper):
    @contextmanager
    def exclusive(self) -> Generator[None]:
        assert isinstance(self.engine, Exclusive)
        with self.engine.exclusive():
            yield


class _Reflog(_Wrapper):
    def reflog(self, name: str | None) -> Iterator[ReflogEntry]:
        assert isinstance(self.engine, HasReflog)
        return self._call("reflog", lambda engine=self.engine: engine.reflog(name))


class _Settings(_Wrapper):
    @property
    def _keeper(self) -> HasSettings:
        assert isinstance(self.engine, HasSettings)
        return self.engine

    def settings(self, prefix: str = "") -> Mapping[str, str]:
        return self._call("settings", lambda: self._keeper.settings(prefix))

    def set_setting(self, name: str, value: str | None) -> None:
        self._call("set_setting", lambda: self._keeper.set_setting(name, value))


class _HistoryIndex(_Wrapper):
    @property
    def _index(self) -> HasHistoryIndex:
        assert isinstance(self.engine, HasHistoryIndex)
        return self.engine

    def indexed(self, commit: Id) -> bool:
        return self._call("indexed", lambda: self._index.indexed(commit))

    def commits_of_transaction(self, transaction: str) -> list[Id]:
        act = self._index.commits_of_transaction
        return self._call("commits_of_transaction", lambda: act(transaction))

    def commits_of_key(self, key: str) -> list[Id]:
        return self._call("commits_of_key", lambda: self._index.commits_of_key(key))

    def commits_of_keys(self, first: str, end: str | None) -> list[Id]:
        return self._call("commits_of_keys", lambda: self._index.commits_of_keys(first, end))

    def add_to_index(self, entries: Iterable[IndexEntry]) -> None:
        self._call("add_to_index", lambda: self._index.add_to_index(entries))

    def clear_index(self) -> None:
        self._call("clear_index", self._index.clear_index)


class _ListsHistoryIndex(_Wrapper):
    def index_entries(self) -> Iterator[IndexEntry]:
        assert isinstance(self.engine, ListsHistoryIndex)
        return self._call("index_entries", self.engine.index_entries)


class _Vectors(_Wrapper):
    @property
    def _vectors(self) -> IndexesVectors:
        assert isinstance(self.engine, IndexesVectors)
        return self.engine

    def vector_indexes(self) -> list[VectorIndex]:
        return self._call("vector_indexes", self._vectors.vector_indexes)

    def known_vector_root(self, ref: str) -> Id | None:
        return self._vectors.known_vector_root(ref)

    def add_vector_index(self, ref: str, root: Id) -> None:
        self._call("add_vector_index", lambda: self._vectors.add_vector_index(ref, root))

    def drop_vector_index(self, ref: str) -> bool:
        return self._call("drop_vector_index", lambda: self._vectors.drop_vector_index(ref))

    def move_vector_index(self, ref: str, move: VectorMove) -> bool:
        return self._call("move_vector_index", lambda: self._vectors.move_vector_index(ref, move))

    def nearest_vectors(self, ref: str, root: Id, query: VectorQuery) -> list[VectorMatch] | None:
        act = self._vectors.nearest_vectors
        return self._call("nearest_vectors", lambda: act(ref, root, query))

    def vector_dimensions(
        self, ref: str, root: Id, name: str, but: Collection[str] = ()
    ) -> list[int] | None:
        act = self._vectors.vector_dimensions
        return self._call("vector_dimensions", lambda: act(ref, root, name, but))


class _ReadsAhead(_Wrapper):
    def read_ahead(self, commit: Id, limit: int) -> Mapping[Id, bytes]:
        assert isinstance(self.engine, ReadsAhead)
        return self._call("read_ahead", lambda e=self.engine: e.read_ahead(commit, limit))


class _ReadsInBulk(_Wrapper):
    def read_in_bulk(self, ids: Collection[Id]) -> Iterator[Mapping[Id, bytes]]:
        assert isinstance(self.engine, ReadsInBulk)
        return self._call("read_in_bulk", lambda engine=self.engine: engine.read_in_bulk(ids))


class _ReadsRecords(_Wrapper):
    @contextmanager
    def ask_records(self, records: Collection[Id]) -> Generator[Callable[[], Mapping[Id, bytes]]]:
        assert isinstance(self.engine, ReadsRecords)
        with self.engine.ask_records(records) as answer:
            yield lambda: self._call("ask_records", answer)


class _Enumerates(_Wrapper):
    def ids(self, prefix: bytes = b"") -> Iterator[Id]:
        assert isinstance(self.engine, Enumerates)
        return self._call("ids", lambda engine=self.engine: engine.ids(prefix))

    def size(self) -> int:
        assert isinstance(self.engine, Enumerates)
        return self._call("size", self.engine.size)


class _Deletes(_Wrapper):
    @property
    def _deleter(self) -> Deletes:
        assert isinstance(self.engine, Deletes)
        return self.engine

    def delete(self, ids: Collection[Id]) -> None:
        self._call("delete", lambda: self._deleter.delete(ids))

    def compact(self) -> None:
        self._call("compact", self._deleter.compact)


class _Snapshots(_Wrapper):
    def backup(self, path: str) -> None:
        assert isinstance(self.engine, Snapshots)
        self._call("backup", lambda engine=self.engine: engine.backup(path))


_MIXINS: tuple[tuple[type, type[_Wrapper]], ...] = (
    (Exclusive, _Exclusive),
    (HasReflog, _Reflog),
    (HasSettings, _Settings),
    (HasHistoryIndex, _HistoryIndex),
    (ListsHistoryIndex, _ListsHistoryIndex),
    (IndexesVectors, _Vectors),
    (ReadsAhead, _ReadsAhead),
    (ReadsInBulk, _ReadsInBulk),
    (ReadsRecords, _ReadsRecords),
    (Enumerates, _Enumerates),
    (Deletes, _Deletes),
    (Snapshots, _Snapshots),
)


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
        self._delay = delay

    def _call(self, name: str, act: Callable[[], T]) -> T:
        time.sleep(self._delay)
        return act()

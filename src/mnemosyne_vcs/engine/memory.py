"""An engine in memory, for tests and scratch work. It is gone when the last reference is."""

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from threading import Lock, get_ident

from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.engine.shared import ref_conflict, reflog_entry
from mnemosyne_vcs.errors import BusyError, EngineError, ReadOnlyError
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.interrupts import guarded, locked
from mnemosyne_vcs.model import ReflogEntry

__all__ = ["MemoryEngine"]


@dataclass(slots=True)
class _State:
    objects: dict[Id, bytes] = field(default_factory=dict[Id, bytes])
    refs: dict[str, Id] = field(default_factory=dict[str, Id])
    reflog: list[ReflogEntry] = field(default_factory=list[ReflogEntry])
    index: dict[Id, IndexEntry] = field(default_factory=dict[Id, IndexEntry])
    settings: dict[str, str] = field(default_factory=dict[str, str])

    def copy(self) -> "_State":
        return _State(
            self.objects.copy(),
            self.refs.copy(),
            self.reflog.copy(),
            self.index.copy(),
            self.settings.copy(),
        )

    def store(self, objects: Mapping[Id, bytes]) -> None:
        for block, data in objects.items():
            self.objects.setdefault(block, bytes(data))

    def move(self, update: RefUpdate) -> None:
        if update.index is not None:
            self.add(update.index)
        if update.new != update.old:
            entry = reflog_entry(update)
            if update.new is None:
                del self.refs[update.name]
            else:
                self.refs[update.name] = update.new
            self.reflog.append(entry)  # directly after the ref, so that no interrupt comes between

    def add(self, entry: IndexEntry) -> None:
        facts = None if entry.facts is None else frozenset(entry.facts)
        kept = IndexEntry(entry.commit, entry.transaction, frozenset(entry.keys), facts)
        self.index.setdefault(entry.commit, kept)


class MemoryEngine:
    """A store that lives as long as the object. It cannot copy itself.

    Args:
        read_only: refuse every write.
        busy_timeout: seconds that a write waits for another thread's `exclusive`.
    """

    url = "memory://"
    local = True

    def __init__(self, *, read_only: bool = False, busy_timeout: float = 30.0) -> None:
        self.read_only = read_only
        self._busy_timeout = busy_timeout
        self._committed = _State()
        self._draft: _State | None = None
        self._owner: int | None = None
        self._writer = Lock()
        self._guard = Lock()

    def read(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        """See `Engine.read`."""
        objects = self._state().objects
        return {block: data for block in ids if (data := objects.get(block)) is not None}

    def sizes(self, ids: Collection[Id]) -> Mapping[Id, int]:
        """See `TellsSizes.sizes`."""
        return {block: len(data) for block, data in self.read(ids).items()}

    def ref(self, name: str) -> Id | None:
        """See `Engine.ref`."""
        return self._state().refs.get(name)

    def refs(self, prefix: str = "") -> Mapping[str, Id]:
        """See `Engine.refs`."""
        with self._guard:
            refs = self._state().refs
            return {name: refs[name] for name in sorted(refs) if name.startswith(prefix)}

    def write(self, objects: Mapping[Id, bytes], update: RefUpdate | None = None) -> None:
        """See `Engine.write`."""
        with self._writing() as state:
            if update is not None and (found := state.refs.get(update.name)) != update.old:
                raise ref_conflict(self.url, update, found)
            state.store(objects)
            if update is not None:
                state.move(update)

    def close(self) -> None:
        """See `Engine.close`. There is nothing to release, and the store stays."""

    @guarded
    def exclusive(self) -> Generator[None]:
        """See `Exclusive.exclusive`. Inside another one of the same thread it joins that one."""
        self._require_writable()
        if self._owner == get_ident():
            kept = self._state().copy()
            try:
                yield
            except BaseException:
                self._draft = kept
                raise
            return
        with self._locked():
            draft, me = self._committed.copy(), get_ident()
            try:
                self._draft, self._owner = draft, me
                yield
                self._committed = self._draft
            finally:
                self._draft, self._owner = None, None

    def reflog(self, name: str | None) -> Iterator[ReflogEntry]:
        """See `HasReflog.reflog`."""
        with self._guard:
            moves = reversed(self._state().reflog)
            return iter([move for move in moves if name is None or move.name == name])

    def settings(self, prefix: str = "") -> Mapping[str, str]:
        """See `HasSettings.settings`."""
        with self._guard:
            kept = self._state().settings
            return {name: kept[name] for name in sorted(kept) if name.startswith(prefix)}

    def set_setting(self, name: str, value: str | None) -> None:
        """See `HasSettings.set_setting`."""
        with self._writing() as state:
            if value is None:
                state.settings.pop(name, None)
            else:
                state.settings[name] = value

    def indexed(self, commit: Id) -> bool:
        """See `HasHistoryIndex.indexed`."""
        return commit in self._state().index

    def commits_of_transaction(self, transaction: str) -> list[Id]:
        """See `HasHistoryIndex.commits_of_transaction`."""
        return [e.commit for e in self._entries() if e.transaction == transaction]

    def commits_of_key(self, key: str) -> list[Id]:
        """See `HasHistoryIndex.commits_of_key`."""
        return [e.commit for e in reversed(self._entries()) if key in e.keys]

    def commits_of_keys(self, first: str, end: str | None) -> list[Id]:
        """See `HasHistoryIndex.commits_of_keys`."""
        return [
            entry.commit
            for entry in reversed(self._entries())
            if any(first <= key and (end is None or key < end) for key in entry.keys)
        ]

    def commits_before(self, commit: Id, limit: int) -> list[Id]:
        """See `HasHistoryIndex.commits_before`."""
        commits = [entry.commit for entry in self._entries()]
        if commit not in commits:
            return []
        last = commits.index(commit) + 1
        return commits[max(0, last - limit) : last][::-1]

    def add_to_index(self, entries: Iterable[IndexEntry]) -> None:
        """See `HasHistoryIndex.add_to_index`."""
        added = list(entries)
        with self._writing() as state:
            for entry in added:
                state.add(entry)

    def commits_of_fact(self, field: str, value: str) -> list[Id]:
        """See `HasFacts.commits_of_fact`."""
        fact = (field, value)
        return [e.commit for e in reversed(self._entries()) if fact in (e.facts or ())]

    def values_of_facts(self, field: str) -> list[tuple[Id, str]]:
        """See `HasFacts.values_of_facts`."""
        entries = self._entries()
        facts = ((e.commit, fact) for e in entries for fact in e.facts or ())
        return [(commit, value) for commit, (name, value) in facts if name == field]

    def commits_without_facts(self) -> list[Id]:
        """See `HasFacts.commits_without_facts`."""
        return [entry.commit for entry in self._entries() if entry.facts is None]

    def add_facts(self, facts: Mapping[Id, Collection[tuple[str, str]]]) -> None:
        """See `HasFacts.add_facts`."""
        with self._writing() as state:
            for commit, each in facts.items():
                if (entry := state.index.get(commit)) is not None and entry.facts is None:
                    state.index[commit] = replace(entry, facts=frozenset(each))

    def index_entries(self) -> Iterator[IndexEntry]:
        """See `ListsHistoryIndex.index_entries`."""
        return iter(self._entries())

    def clear_index(self) -> None:
        """See `HasHistoryIndex.clear_index`."""
        with self._writing() as state:
            state.index.clear()

    def ids(self, prefix: bytes = b"") -> Iterator[Id]:
        """See `Enumerates.ids`."""
        with self._guard:
            return iter([block for block in self._state().objects if block.startswith(prefix)])

    def size(self) -> int:
        """See `HasSpace.size`: the bytes of all objects."""
        with self._guard:
            return sum(map(len, self._state().objects.values()))

    def delete(self, ids: Collection[Id]) -> None:
        """See `Deletes.delete`."""
        with self._writing() as state:
            for block in ids:
                state.objects.pop(block, None)
                state.index.pop(block, None)

    def compact(self) -> None:
        """See `HasSpace.compact`. Memory is freed at once."""
        self._require_writable()
        if self._owner == get_ident():
            raise EngineError(f"{self.url} cannot be compacted inside a transaction")

    def _entries(self) -> list[IndexEntry]:
        with self._guard:
            return list(self._state().index.values())

    def _state(self) -> _State:
        """What this thread sees: its own draft inside `exclusive`, else what is committed."""
        draft = self._draft if self._owner == get_ident() else None
        return self._committed if draft is None else draft

    def _require_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"{self.url} was opened for reading; open it for writing")

    @guarded
    def _writing(self) -> Generator[_State]:
        self._require_writable()
        if self._owner == get_ident():
            with self._guard:
                yield self._state()
            return
        with self._locked(), self._guard:
            yield self._committed

    def _locked(self) -> AbstractContextManager[None]:
        return locked(self._writer, self._busy_timeout, self._busy)

    def _busy(self) -> BusyError:
        return BusyError(
            f"another thread has held {self.url} for {self._busy_timeout:g} s; try again"
        )

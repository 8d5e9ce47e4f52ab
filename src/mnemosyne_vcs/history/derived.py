"""The versions that may have come from an origin: by the engine's index of facts.

The index names the commits with records of the origin, and those with records that were derived
from a key. So they are found forwards, from version to version, without a look at other records.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, reduce

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.format.objects import StoredRecord
from mnemosyne_vcs.history.facts import (
    DERIVED_FROM,
    Known,
    changed_records,
    find_named,
    known_facts,
)
from mnemosyne_vcs.history.index import find_commit
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.trees import Tree

__all__ = ["versions_from"]

MOST = 1_000
"""The number of commits from which on it is quicker to read all live records."""


def versions_from(
    blocks: Blocks,
    heads: Iterable[Commit],
    facts: Mapping[str, str],
    made: Callable[[StoredRecord], bool],
) -> Mapping[str, set[Id]] | None:
    """The versions that came from an origin, however many steps away, by key; None if the index
    does not say, or names so many commits that reading all live records is quicker.

    All of them are among these, if the index is right; some may have lost their origin since, when
    garbage was collected.

    Args:
        blocks: the objects.
        heads: the commits whose records are asked for.
        facts: the value of the origin, by field.
        made: whether the origin made a record.
    """
    known = known_facts(blocks, heads) if facts else None
    if known is None:
        return None
    found = _Versions(blocks, known)
    holders = [set(known.holders(*fact)) for fact in facts.items()]
    wanted = reduce(lambda a, b: a & b, holders)
    return found.by_key if found.spread(wanted, made) else None


class _Versions:
    """The versions that were found, and the records of the commits that were read."""

    def __init__(self, blocks: Blocks, known: Known) -> None:
        self.by_key: dict[str, set[Id]] = {}
        self._blocks = blocks
        self._known = known
        self._read: dict[Id, list[tuple[str, Id, StoredRecord]]] = {}
        self._derived: dict[str, list[tuple[str, Id, Id | None]]] = {}
        self._pending: list[str] = []

    def spread(self, commits: Iterable[Id], made: Callable[[StoredRecord], bool]) -> bool:
        """Find the versions of an origin and all that were derived from them; whether few commits
        are enough for that.

        Args:
            commits: the commits with records of the origin.
            made: whether the origin made a record.
        """
        if not self._can_read(commits):
            return False
        for key, block, record in self._records(commits):
            if made(record):
                self._add(key, block)
        while self._pending:
            source = self._pending.pop()
            if source not in self._derived:
                named = [*self._deriving.get(source, ()), *self._known.unknown]
                if not self._can_read(named):
                    return False
                self._derived[source] = list(self._derivations(source, named))
            for key, block, version in self._derived[source]:
                if version in self.by_key[source]:
                    self._add(key, block)
        return True

    @cached_property
    def _deriving(self) -> dict[str, list[Id]]:
        """The commits with records that were derived from a key, by the key."""
        found: dict[str, list[Id]] = {}
        for commit, source in self._known.index.values_of_facts(DERIVED_FROM):
            found.setdefault(source, []).append(commit)
        return found

    def _can_read(self, commits: Iterable[Id]) -> bool:
        return len(self._read.keys() | set(commits)) <= MOST

    def _add(self, key: str, block: Id) -> None:
        versions = self.by_key.setdefault(key, set())
        if block not in versions:
            versions.add(block)
            self._pending.append(key)

    def _records(self, commits: Iterable[Id]) -> Iterator[tuple[str, Id, StoredRecord]]:
        for each in commits:
            if each not in self._read:
                commit = find_commit(self._blocks, each)
                self._read[each] = list(changed_records(self._blocks, commit)) if commit else []
            yield from self._read[each]

    def _derivations(
        self, source: str, commits: Iterable[Id]
    ) -> Iterator[tuple[str, Id, Id | None]]:
        """The records derived from a key: key, record, and the version that it was derived from."""
        for key, block, record in self._records(commits):
            for name, at in record.provenance.derived_from:
                if name == source and (commit := find_named(self._blocks, at)) is not None:
                    yield key, block, Tree.of(self._blocks, commit).get(source)

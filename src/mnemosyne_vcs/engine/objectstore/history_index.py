"""The history index in memory: commits by transaction and by key."""

from collections.abc import Iterator

from mnemosyne_vcs.engine.objectstore.logs import Row
from mnemosyne_vcs.engine.protocol import IndexEntry
from mnemosyne_vcs.ids import Id

__all__ = ["History"]


class History:
    """The entries of a history index, in order; of several for one commit, the first."""

    def __init__(self) -> None:
        self._numbers: dict[Id, int] = {}
        self._commits: list[Id] = []
        self._by_transaction: dict[str, list[int]] = {}
        self._by_key: dict[str, list[int]] = {}

    def add(self, rows: Iterator[Row]) -> None:
        """Add entries: commit, transaction, keys."""
        for commit, transaction, keys in rows:
            if commit in self._numbers:
                continue
            number = self._numbers[commit] = len(self._commits)
            self._commits.append(commit)
            self._by_transaction.setdefault(transaction, []).append(number)
            for key in keys:
                self._by_key.setdefault(key, []).append(number)

    def __contains__(self, commit: Id) -> bool:
        return commit in self._numbers

    def of_transaction(self, transaction: str) -> list[Id]:
        """The commits that a transaction made, oldest entry first."""
        return [self._commits[number] for number in self._by_transaction.get(transaction, ())]

    def of_key(self, key: str) -> list[Id]:
        """The commits that changed a key, newest entry first."""
        return [self._commits[number] for number in reversed(self._by_key.get(key, ()))]

    def of_keys(self, first: str, end: str | None) -> list[Id]:
        """The commits that changed a key of first <= key < end, newest entry first."""
        below = (
            numbers
            for key, numbers in self._by_key.items()
            if first <= key and (end is None or key < end)
        )
        found = {number for numbers in below for number in numbers}
        return [self._commits[number] for number in sorted(found, reverse=True)]

    def entries(self) -> list[IndexEntry]:
        """Every entry."""
        made_by = {n: name for name, numbers in self._by_transaction.items() for n in numbers}
        keys: dict[int, list[str]] = {}
        for key, numbers in self._by_key.items():
            for number in numbers:
                keys.setdefault(number, []).append(key)
        return [
            IndexEntry(commit, made_by[number], keys.get(number, ()))
            for number, commit in enumerate(self._commits)
        ]

    def before(self, commit: Id, limit: int) -> list[Id]:
        """A commit and those with entries just before it, newest first; none if it has no entry."""
        number = self._numbers.get(commit)
        if number is None:
            return []
        return self._commits[max(0, number + 1 - limit) : number + 1][::-1]

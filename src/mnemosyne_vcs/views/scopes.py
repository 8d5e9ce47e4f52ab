"""The scopes view: the contents of a subtree, in order, without reading its records."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from sys import getsizeof
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.model import Record
from mnemosyne_vcs.views.cache import Changes, labelled
from mnemosyne_vcs.views.keys import Selection, Splice, pack_keys, span, splice, unpack_keys

if TYPE_CHECKING:
    from mnemosyne_vcs.views.files import Arrays

__all__ = ["ScopeRow", "ScopesView", "ScopesViewBuilder"]

_UNKNOWN = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """The row of one record.

    Attributes:
        scope: the scope, as listed.
        categories: the categories; order and repetition do not matter.
        created: the time when the record was created, an integer in the same unit for all records;
            None if unknown.
    """

    scope: str
    categories: tuple[str, ...]
    created: int | None


class _Interner:
    """Numbers for the scopes and sets of categories of all views of one kind.

    Entries are only added, so that a number means the same in every view.
    """

    def __init__(self) -> None:
        self.scopes: list[str] = []
        self.sets: list[tuple[str, ...]] = []
        self._scope_numbers: dict[str, int] = {}
        self._set_numbers: dict[tuple[str, ...], int] = {}
        self._sets_with: dict[str, tuple[int, ...]] = {}
        self._lock = Lock()

    def scope(self, scope: str) -> int:
        number = self._scope_numbers.get(scope)
        if number is not None:
            return number
        with self._lock:
            if scope not in self._scope_numbers:
                self.scopes.append(scope)
                self._scope_numbers[scope] = len(self.scopes) - 1
            return self._scope_numbers[scope]

    def set(self, categories: tuple[str, ...]) -> int:
        number = self._set_numbers.get(categories)
        if number is not None:
            return number
        distinct = tuple(sorted(set(categories)))
        with self._lock:
            if distinct not in self._set_numbers:
                number = len(self.sets)
                self.sets.append(distinct)
                for each in distinct:
                    self._sets_with[each] = (*self._sets_with.get(each, ()), number)
                self._set_numbers[distinct] = number
            return self._set_numbers[distinct]

    def sets_with_any(self, categories: Iterable[str]) -> list[int]:
        return list({n for each in categories for n in self._sets_with.get(each, ())})


class ScopesView:
    """One row for each record: its key, scope, categories and time, in the order of the keys.

    Every `prefix` below is a prefix of keys; the empty one means all records.
    """

    __slots__ = ("_created", "_numbers", "_scopes", "_sets", "keys")

    def __init__(
        self,
        numbers: _Interner,
        keys: list[str],
        scopes: NDArray[np.int32],
        sets: NDArray[np.int32],
        created: NDArray[np.int64],
    ) -> None:
        self.keys = keys
        self._numbers = numbers
        self._scopes = scopes
        self._sets = sets
        self._created = created

    def count(self, prefix: str = "") -> int:
        """The number of records."""
        start, stop = span(self.keys, prefix)
        return stop - start

    def scopes(self, prefix: str = "") -> list[str]:
        """The distinct scopes of the records, sorted."""
        start, stop = span(self.keys, prefix)
        present = np.flatnonzero(np.bincount(self._scopes[start:stop]))
        names = self._numbers.scopes
        return sorted(names[number] for number in present.tolist())

    def categories(self, prefix: str = "") -> dict[str, int]:
        """The number of records with each category, sorted by category."""
        start, stop = span(self.keys, prefix)
        counts = np.bincount(self._sets[start:stop])
        present = np.flatnonzero(counts)
        totals: dict[str, int] = {}
        for number, count in zip(present.tolist(), counts[present].tolist(), strict=True):
            for category in self._numbers.sets[number]:
                totals[category] = totals.get(category, 0) + count
        return dict(sorted(totals.items()))

    def newest(self, prefix: str = "", limit: int | None = None, offset: int = 0) -> list[str]:
        """The keys, newest first, ties by key; those of unknown time last.

        Args:
            prefix: what the keys start with.
            limit: how many to return at most; None for all.
            offset: how many to skip before them.
        """
        start, stop = span(self.keys, prefix)
        created = self._created[start:stop]
        end = len(created) if limit is None else min(offset + max(limit, 0), len(created))
        if offset >= end:
            return []
        rows = np.arange(len(created))
        if end < len(created):
            at = len(created) - end
            rows = np.flatnonzero(created >= np.partition(created, at)[at])
        rows = rows[np.argsort(~created[rows], kind="stable")][offset:end]
        return [self.keys[row] for row in (rows + start).tolist()]

    def times(self, prefix: str = "") -> tuple[int, int] | None:
        """The least and the greatest known time, or None if none is known."""
        start, stop = span(self.keys, prefix)
        created = self._created[start:stop]
        known = created[created != _UNKNOWN]
        return (int(known.min()), int(known.max())) if known.size else None

    def with_any(self, categories: Collection[str]) -> Selection:
        """The records that have at least one of the categories, to filter a search by."""
        numbers = self._numbers.sets_with_any(categories)
        wanted = np.zeros(len(self._numbers.sets) + 1, dtype=np.bool_)
        wanted[numbers] = True
        return Selection(self.keys, wanted[self._sets])

    def sizes(self) -> Mapping[int, int]:
        """The columns and the list of keys; the keys themselves are shared."""
        columns = (self._scopes, self._sets, self._created)
        sizes = {id(column): column.nbytes for column in columns}
        return {id(self.keys): getsizeof(self.keys), **sizes}

    def packed(self) -> "Arrays":
        """The view as arrays, with numbers of its own for scopes and sets."""
        used, scopes = np.unique(self._scopes, return_inverse=True)
        used_sets, sets = np.unique(self._sets, return_inverse=True)
        names = list(map(self._numbers.scopes.__getitem__, used.tolist()))
        of_sets = list(map(self._numbers.sets.__getitem__, used_sets.tolist()))
        return {
            "keys": pack_keys(self.keys),
            "names": np.frombuffer(json.dumps([names, of_sets]).encode(), np.uint8),
            "scopes": scopes.astype(np.int32),
            "sets": sets.astype(np.int32),
            "created": self._created,
        }

    def spliced(self, change: Splice, facts: list[ScopeRow]) -> "ScopesView":
        """The view with other rows.

        Args:
            change: which rows.
            facts: the new rows, in order.
        """
        numbers = self._numbers
        scopes = [numbers.scope(each.scope) for each in facts]
        sets = [numbers.set(each.categories) for each in facts]
        created = [_UNKNOWN if each.created is None else each.created for each in facts]
        return ScopesView(
            numbers,
            change.keys,
            change.column(self._scopes, np.array(scopes, dtype=np.int32)),
            change.column(self._sets, np.array(sets, dtype=np.int32)),
            change.column(self._created, np.array(created, dtype=np.int64)),
        )


class ScopesViewBuilder:
    """Views of scopes, categories and times.

    Args:
        facts: makes the row of a record; returns None for a record that the views leave out. A
            function that makes other rows needs another name, since views are kept in files.
    """

    def __init__(self, facts: Callable[[Record], ScopeRow | None]) -> None:
        self._facts = facts
        self._numbers = _Interner()

    def empty(self) -> ScopesView:
        """The view of a tree without records."""
        small = np.empty(0, dtype=np.int32)
        return ScopesView(self._numbers, [], small, small, np.empty(0, dtype=np.int64))

    def update(self, blocks: Blocks, view: ScopesView, changes: Changes) -> ScopesView:
        """The view of another root; reads the records that are new in it."""
        records = blocks.records((key, after) for key, _, after in changes if after is not None)
        read = ((record.key, self._facts(record)) for record in records)
        facts = {key: each for key, each in read if each is not None}
        edits = [(key, key in facts) for key, _, _ in changes]
        return view.spliced(splice(view.keys, edits), list(facts.values()))

    def label(self, blocks: Blocks) -> str | None:
        """See `StoresViews.label`."""
        return labelled("scopes 1", self._facts)

    def pack(self, view: ScopesView) -> "Arrays":
        """See `StoresViews.pack`."""
        return view.packed()

    def unpack(self, blocks: Blocks, arrays: "Arrays") -> ScopesView:
        """See `StoresViews.unpack`."""
        names, sets = json.loads(arrays["names"].tobytes())
        scopes = np.array([self._numbers.scope(each) for each in names], dtype=np.int32)
        numbers = np.array([self._numbers.set(tuple(each)) for each in sets], dtype=np.int32)
        return ScopesView(
            self._numbers,
            unpack_keys(arrays["keys"]),
            scopes[arrays["scopes"]],
            numbers[arrays["sets"]],
            arrays["created"],
        )

    def trim(self) -> None:
        """Nothing to do: shared objects are freed with the last view."""

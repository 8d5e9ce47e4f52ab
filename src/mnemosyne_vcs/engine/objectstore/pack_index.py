"""Where each object is: compact for millions of objects, with fast lookups of many at once."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mnemosyne_vcs.engine.objectstore.logs import Row
from mnemosyne_vcs.engine.objectstore.packs import Pack, pack_of_row
from mnemosyne_vcs.ids import Id

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Place", "Places"]

YOUNG = 4096
_ENTRY = np.dtype([("id", "S36"), ("pack", "<u4"), ("start", "<u8"), ("size", "<u4")])
"""`S36` takes the zero bytes at an end for padding; as all ids are equally long it tells them
apart and orders them all the same."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the bytes of an object are.

    Attributes:
        pack: the number of the pack among those of `Places.packs`.
        start: where they begin in it.
        size: its size in bytes.
    """

    pack: int
    start: int
    size: int


class Places:
    """The places of the objects of some packs; of an object in several, the one in the first.

    New ones are in a dictionary, older ones in sorted arrays, of which neighbours of like size are
    merged.

    Attributes:
        packs: name and size of each pack.
    """

    def __init__(self) -> None:
        self.packs: list[tuple[str, int]] = []
        self._young: dict[Id, Place] = {}
        self._old: list[NDArray[Any]] = []

    def add(self, rows: Iterator[Row]) -> None:
        """Add packs, in order."""
        for pack in map(pack_of_row, rows):
            self._add(pack)
            if len(self._young) >= YOUNG:
                self._age()

    def find(self, ids: Collection[Id]) -> dict[Id, Place]:
        """The places of the objects that are there."""
        found: dict[Id, Place] = {}
        wanted: list[Id] = list(dict.fromkeys(ids))
        for entries in self._old:
            if not wanted:
                return found
            keys = np.array(wanted, dtype="S36")
            at = np.searchsorted(entries["id"], keys)
            hits = np.flatnonzero(entries["id"][np.minimum(at, len(entries) - 1)] == keys)
            for hit in hits.tolist():
                entry = entries[at[hit]]
                place = Place(int(entry["pack"]), int(entry["start"]), int(entry["size"]))
                found[wanted[hit]] = place
            if len(hits):
                wanted = [block for block in wanted if block not in found]
        for block in wanted:
            place = self._young.get(block)
            if place is not None:
                found[block] = place
        return found

    def ids(self) -> Iterator[Id]:
        """The id of each object, once."""
        seen: set[Id] = set(self._young)
        yield from self._young
        for entries in self._old:
            for block in entries["id"].tolist():
                whole = block.ljust(36, b"\0")
                if whole not in seen:
                    seen.add(whole)
                    yield whole

    def _add(self, pack: Pack) -> None:
        number = len(self.packs)
        self.packs.append((pack.name, pack.size))
        for block, start, size in pack.places():
            self._young.setdefault(block, Place(number, start, size))

    def _age(self) -> None:
        rows = [(block, p.pack, p.start, p.size) for block, p in self._young.items()]
        self._old.append(_sorted(np.array(rows, dtype=_ENTRY)))
        self._young = {}
        while len(self._old) > 1 and len(self._old[-2]) < 2 * len(self._old[-1]):
            self._old[-2:] = [_sorted(np.concatenate(self._old[-2:]))]


def _sorted(entries: "NDArray[Any]") -> "NDArray[Any]":
    return entries[np.argsort(entries["id"], kind="stable")]

"""The row store: the vectors of all roots in fixed segments of memory, each vector once.

A row is found by the id of the vector's block and never moves. A view holds a `Claim` on the rows
that it refers to; a row that no living claim names is reused for the next vector, and a segment
with no claimed rows is freed. So the memory in use is that of the distinct vectors of the living
views, rounded up to segments, or more while a few vectors keep segments whose other rows are not
reused.
"""

import weakref
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from threading import Lock
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemosyne_vcs.errors import CorruptObjectError
from mnemosyne_vcs.ids import Id, text_id
from mnemosyne_vcs.interrupts import guarded

__all__ = ["SEGMENT_ROWS", "Claim", "RowStore", "Rows", "Segment", "Vector"]

Vector: TypeAlias = NDArray[np.float32]
"""Numbers of shape `(dimension,)`."""

Rows: TypeAlias = NDArray[np.int32]
"""Row numbers in a store: segment times `SEGMENT_ROWS` plus the place in the segment."""

SEGMENT_ROWS = 1024
_ENTRY_BYTES = 300
_LEAST_NORM, _GREATEST_NORM = 1e-20, 1e30


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """A piece of the store.

    Attributes:
        values: the vectors, float32 of shape `(SEGMENT_ROWS, dimension)`.
        scale: the factor from a product with a vector to one with its direction, float64 of shape
            `(SEGMENT_ROWS,)`: the inverse of its norm, 0 for a zero vector, and NaN where the
            norm is so small or so great that products in float32 cannot be trusted.
        alike: rows with one number hold the same bytes, int64 of shape `(SEGMENT_ROWS,)`.
    """

    values: NDArray[np.float32]
    scale: NDArray[np.float64]
    alike: NDArray[np.int64]

    @classmethod
    def new(cls, rows: int, dimension: int) -> "Segment":
        """A segment without contents."""
        return cls(
            np.empty((rows, dimension), np.float32), np.zeros(rows), np.zeros(rows, np.int64)
        )


class Claim:
    """Rows that keep their contents for as long as this object lives.

    Attributes:
        pieces: arrays of row numbers.
    """

    __slots__ = ("__weakref__", "pieces")

    def __init__(self, *pieces: Rows) -> None:
        self.pieces = list(pieces)


class RowStore:
    """The vectors of one name and dimension. Adding is serialized; reading needs no lock.

    Args:
        dimension: how many numbers a vector has.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.segments: list[Segment] = []
        self._rows: dict[Id, int] = {}
        self._ids: list[Id | None] = []
        self._free: list[int] = []
        self._claims: list[weakref.ref[Claim]] = []
        self._added = 0
        self._firsts: dict[int, int] = {}
        self._kinds = count()
        self._torn = False
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """The number of bytes of memory that the store takes."""
        held = sum(
            segment.values.nbytes + segment.scale.nbytes + segment.alike.nbytes
            for segment in self.segments
        )
        return held + _ENTRY_BYTES * len(self._rows)

    def vector(self, row: int) -> Vector:
        """The vector in a row, shape `(dimension,)`."""
        number, place = divmod(row, SEGMENT_ROWS)
        return self.segments[number].values[place]

    def alike(self, rows: Rows) -> NDArray[np.int64]:
        """A number for each row, shape `(n,)`; rows with one number hold the same bytes."""
        numbers = np.empty(len(rows), np.int64)
        which = rows // SEGMENT_ROWS
        held: set[int] = set(which.tolist())
        for number in held:
            here = which == number
            numbers[here] = self.segments[number].alike[rows[here] % SEGMENT_ROWS]
        return numbers

    def claim(self, *pieces: Rows) -> Claim:
        """Claim rows that another living claim names."""
        claim = Claim(*pieces)
        with self._lock:
            self._claims = [ref for ref in self._claims if ref() is not None]
            self._claims.append(weakref.ref(claim))
        return claim

    def find(self, claim: Claim, vectors: Collection[Id]) -> dict[Id, int]:
        """The rows of those vectors that the store has, added to the claim."""
        with self._lock:
            found = {each: self._rows[each] for each in vectors if each in self._rows}
            claim.pieces.append(np.fromiter(found.values(), np.int32, len(found)))
        return found

    def add(self, claim: Claim, vectors: Sequence[tuple[Id, Vector]]) -> list[int]:
        """Copy vectors into rows, and add those to the claim.

        Args:
            claim: the claim that keeps the rows.
            vectors: id and numbers, shape `(dimension,)`, of each; those that the store has
                already are not added again.

        Returns:
            The row of each.

        Raises:
            CorruptObjectError: a vector holds a number that is not finite.
        """
        with self._changing():
            new = {each: values for each, values in vectors if each not in self._rows}
            while len(self._free) < len(new):
                self._grow()
            taken, self._free = self._free[: len(new)], self._free[len(new) :]
            self._fill(taken, new)
            for row, each in zip(taken, new, strict=True):
                self._rows[each] = row
                self._ids[row] = each
            rows = [self._rows[each] for each, _ in vectors]
            claim.pieces.append(np.array(rows, dtype=np.int32))
            self._added += len(new)
        return rows

    def trim(self) -> None:
        """Free rows that no living claim names, and segments that have no other rows."""
        with self._changing():
            self._collect()
            for number in range(len(self.segments)):
                first = number * SEGMENT_ROWS
                if not any(self._ids[first : first + SEGMENT_ROWS]):
                    self.segments[number] = Segment.new(0, self.dimension)
            held = [len(segment.values) for segment in self.segments]
            self._free = [row for row in self._free if held[row // SEGMENT_ROWS]]

    @guarded
    def _changing(self) -> Generator[None]:
        """Lock the store for changes. First repair what an interrupted change left behind."""
        with self._lock:
            if self._torn:
                self._collect()
                empty = [row for row, each in enumerate(self._ids) if each is None]
                held = [len(segment.values) for segment in self.segments]
                self._free = [row for row in empty if held[row // SEGMENT_ROWS]]
            self._torn = True
            yield
            self._torn = False

    def _grow(self) -> None:
        """Find free rows: collect unclaimed ones from time to time, else add a segment."""
        if self._added >= SEGMENT_ROWS // 4:
            self._added = 0
            if self._collect():
                return
        segment = Segment.new(SEGMENT_ROWS, self.dimension)
        gone = (i for i, each in enumerate(self.segments) if not len(each.values))
        number = next(gone, len(self.segments))
        if number == len(self.segments):
            self._ids += [None] * SEGMENT_ROWS
            self.segments.append(segment)
        else:
            self.segments[number] = segment
        first = number * SEGMENT_ROWS
        self._free = sorted([*self._free, *range(first, first + SEGMENT_ROWS)])

    def _collect(self) -> int:
        """Free the rows that no living claim names; returns how many."""
        live = np.zeros(len(self._ids), dtype=np.bool_)
        for claim in [ref() for ref in self._claims]:
            for piece in claim.pieces if claim else ():
                live[piece] = True
        dead = [row for row in np.flatnonzero(~live).tolist() if self._ids[row] is not None]
        for row in dead:
            each = self._ids[row]
            if each is not None:
                del self._rows[each]
                self._ids[row] = None
        self._firsts = {at: row for at, row in self._firsts.items() if self._ids[row] is not None}
        self._free = sorted(self._free + dead)
        return len(dead)

    def _fill(self, taken: list[int], new: dict[Id, Vector]) -> None:
        by_segment = groupby(zip(taken, new.items(), strict=True), lambda e: e[0] // SEGMENT_ROWS)
        for number, entries in by_segment:
            segment, places, vectors = self.segments[number], list[int](), list[Id]()
            for row, (each, values) in entries:
                place = row % SEGMENT_ROWS
                segment.values[place] = values
                segment.alike[place] = self._kind(row, values)
                places.append(place)
                vectors.append(each)
            norms = _norms(segment.values, places)
            if not np.isfinite(norms).all():
                bad = text_id(vectors[int(np.isfinite(norms).argmin())])
                raise CorruptObjectError(
                    f"object {bad} is a vector with a number that is not finite"
                )
            segment.scale[places] = _scale(norms)

    def _kind(self, row: int, values: Vector) -> int:
        """The number of the rows that hold the same bytes, if one of them is known."""
        data = values.tobytes()
        number, place = divmod(self._firsts.setdefault(hash(data), row), SEGMENT_ROWS)
        first = self.segments[number]
        known = (number, place) != divmod(row, SEGMENT_ROWS) and place < len(first.values)
        if known and first.values[place].tobytes() == data:
            return int(first.alike[place])
        self._firsts[hash(data)] = row
        return next(self._kinds)


def _norms(values: NDArray[np.float32], places: list[int]) -> NDArray[np.float64]:
    norms = np.empty(len(places))
    for start in range(0, len(places), 64):
        some = values[places[start : start + 64]].astype(np.float64)
        norms[start : start + 64] = np.sqrt(np.einsum("ij,ij->i", some, some))
    return norms


def _scale(norms: NDArray[np.float64]) -> NDArray[np.float64]:
    ordinary = (norms >= _LEAST_NORM) & (norms <= _GREATEST_NORM)
    scale = np.where(norms == 0.0, 0.0, np.nan)
    scale[ordinary] = 1.0 / norms[ordinary]
    return scale

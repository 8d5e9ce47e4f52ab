"""The row store: the vectors of all roots in fixed segments of memory, each vector once.

In memory are the vectors as small integers. Where reading an object takes microseconds, the exact
numbers of the few that matter for a search are read again from the store; otherwise they are in
memory too. Rows of a file are mapped into memory and never written.

A row is found by the id of the vector's block and never moves. A view holds a `Claim` on the rows
that it refers to; a row that no living claim names is reused for the next vector, and a segment
with no claimed rows is freed. So the memory in use is that of the distinct vectors of the living
views, rounded up to segments, or more while a few vectors keep segments whose other rows are not
reused.
"""

import weakref
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from secrets import token_bytes
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import CorruptObjectError
from mnemosyne_vcs.format.objects import decode_vector
from mnemosyne_vcs.ids import Id, text_id
from mnemosyne_vcs.interrupts import guarded
from mnemosyne_vcs.views.mapped import MappedIds, ids_as_array
from mnemosyne_vcs.views.quantized import Floats, Plane, Vector, quantize

__all__ = ["SEGMENT_ROWS", "Claim", "RowStore", "Rows", "Segment"]

Rows: TypeAlias = NDArray[np.int32]
"""Row numbers in a store: segment times `SEGMENT_ROWS` plus the place in the segment."""

SEGMENT_ROWS = 4096
_ENTRY_BYTES = 300
_MAPPED: Id = b"in a file"
"""Stands for the id of a row that is mapped."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """A piece of the store.

    Attributes:
        planes: the vectors as integers, see `Quantized`.
        slack: how much of their directions these leave out, shape `(SEGMENT_ROWS,)`.
        alike: rows with one number hold the same bytes, int64 of shape `(SEGMENT_ROWS,)`.
        values: the vectors, float32 of shape `(SEGMENT_ROWS, dimension)`; without rows where they
            are read from the store.
    """

    planes: list[Plane]
    slack: Floats
    alike: NDArray[np.int64]
    values: NDArray[np.float32]

    @classmethod
    def new(cls, rows: int, dimension: int, exact: int) -> "Segment":
        """A segment without contents.

        Args:
            rows: how many rows it has.
            dimension: how many numbers a vector has.
            exact: for how many of the rows it has the vectors themselves.
        """
        return cls(
            [Plane.zeros(rows, dimension)],
            np.zeros(rows),
            np.zeros(rows, np.int64),
            np.empty((exact, dimension), np.float32),
        )

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(self.alike)

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        columns = (self.slack, self.alike, self.values)
        return sum(each.nbytes for each in (*self.planes, *columns))

    def put(self, places: Rows, vectors: NDArray[np.float32]) -> None:
        """Write vectors, of shape `(n, dimension)`, into rows."""
        made = quantize(vectors)
        while len(self.planes) < len(made.planes):
            self.planes.append(Plane.zeros(self.rows, vectors.shape[1]))
        for number, plane in enumerate(self.planes):
            some = made.planes[number] if number < len(made.planes) else None
            plane.step[places] = 0.0 if some is None else some.step
            if some is not None:
                plane.codes[places] = some.codes
        self.slack[places] = made.slack
        if len(self.values):
            self.values[places] = vectors


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
        blocks: where exact numbers are read again; None to keep them in memory.
    """

    def __init__(self, dimension: int, blocks: Blocks | None = None) -> None:
        self.dimension = dimension
        self.segments: list[Segment] = []
        self._blocks = blocks
        self._secret = token_bytes(16)
        self._rows: dict[Id, int] = {}
        self._ids: list[Id | None] = []
        self._free: list[int] = []
        self._claims: list[weakref.ref[Claim]] = []
        self._added = 0
        self._mapped: dict[int, MappedIds] = {}
        self._torn = False
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """The number of bytes of memory that the store takes."""
        held = sum(segment.nbytes for segment in self.segments)
        return held + _ENTRY_BYTES * len(self._rows)

    def vectors(self, rows: Sequence[int]) -> list[Vector]:
        """The exact vectors in rows that a claim names, each of shape `(dimension,)`.

        Raises:
            NotFoundError: a vector is no longer in the store.
            CorruptObjectError: a vector is not what its id says.
            EngineError: the store cannot be read.
        """
        if self._blocks is None:
            at = [divmod(row, SEGMENT_ROWS) for row in rows]
            return [self.segments[number].values[place] for number, place in at]
        ids = self.ids(rows)
        read = self._blocks.read_each(dict.fromkeys(ids))
        found = {each: decode_vector(each, data) for each, data in read}
        return [found[each] for each in ids]

    def ids(self, rows: Sequence[int]) -> list[Id]:
        """The ids of the vectors in rows that a claim names."""
        ids = ((row, self._ids[row]) for row in rows)
        return [
            self._mapped[row // SEGMENT_ROWS].id_of(row) if each is _MAPPED else each
            for row, each in ids
            if each is not None
        ]

    def pack(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """Rows that a claim names, as arrays for a file."""
        count = len(rows)
        numbers: set[int] = set((rows // SEGMENT_ROWS).tolist())
        terms = max((len(self.segments[number].planes) for number in numbers), default=1)
        planes = [Plane.zeros(count, self.dimension) for _ in range(terms)]
        slack, alike = np.empty(count), np.empty(count, np.int64)
        exact = count if self._blocks is None else 0
        values = np.empty((exact, self.dimension), np.float32)
        for number in numbers:
            segment, at = self.segments[number], np.flatnonzero(rows // SEGMENT_ROWS == number)
            places = rows[at] % SEGMENT_ROWS
            for plane, other in zip(planes, segment.planes, strict=False):
                plane.codes[at], plane.step[at] = other.codes[places], other.step[places]
            slack[at], alike[at] = segment.slack[places], segment.alike[places]
            if exact:
                values[at] = segment.values[places]
        arrays = {"ids": ids_as_array(self.ids(rows.tolist())), "slack": slack, "alike": alike}
        for number, plane in enumerate(planes):
            arrays |= {f"codes{number}": plane.codes, f"step{number}": plane.step}
        return {**arrays, "values": values}

    def adopt(self, claim: Claim, arrays: Mapping[str, NDArray[Any]]) -> Rows:
        """Map what `pack` made, and add its rows to the claim.

        Returns:
            The row of each, shape `(n,)`.
        """
        count = len(arrays["ids"])
        planes = [
            Plane(arrays[f"codes{number}"], arrays[f"step{number}"])
            for number in range(2)
            if f"codes{number}" in arrays
        ]
        with self._changing():
            first = len(self._ids)
            ids = MappedIds(first, arrays["ids"])
            for start in range(0, count, SEGMENT_ROWS):
                at = slice(start, min(start + SEGMENT_ROWS, count))
                terms = [Plane(plane.codes[at], plane.step[at]) for plane in planes]
                self._mapped[len(self.segments)] = ids
                self.segments.append(
                    Segment(terms, arrays["slack"][at], arrays["alike"][at], arrays["values"][at])
                )
                self._ids += [_MAPPED] * SEGMENT_ROWS
            rows = np.arange(first, first + count, dtype=np.int32)
            claim.pieces.append(rows)
        return rows

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
            for ids in set(self._mapped.values()):
                found |= ids.find([each for each in vectors if each not in found])
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
                    self.segments[number] = Segment.new(0, self.dimension, 0)
            held = [segment.rows for segment in self.segments]
            self._free = [row for row in self._free if held[row // SEGMENT_ROWS]]

    @guarded
    def _changing(self) -> Generator[None]:
        """Lock the store for changes. First repair what an interrupted change left behind."""
        with self._lock:
            if self._torn:
                self._collect()
                empty = [row for row, each in enumerate(self._ids) if each is None]
                held = [segment.rows for segment in self.segments]
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
        exact = SEGMENT_ROWS if self._blocks is None else 0
        segment = Segment.new(SEGMENT_ROWS, self.dimension, exact)
        gone = (i for i, each in enumerate(self.segments) if not each.rows)
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
        for number in list(self._mapped):
            first = number * SEGMENT_ROWS
            if not live[first : first + SEGMENT_ROWS].any():
                del self._mapped[number]
                self.segments[number] = Segment.new(0, self.dimension, 0)
                self._ids[first : first + SEGMENT_ROWS] = [None] * SEGMENT_ROWS
        kept = (None, _MAPPED)
        dead = [row for row in np.flatnonzero(~live).tolist() if self._ids[row] not in kept]
        for row in dead:
            each = self._ids[row]
            if each is not None:
                del self._rows[each]
                self._ids[row] = None
        self._free = sorted(self._free + dead)
        return len(dead)

    def _fill(self, taken: list[int], new: dict[Id, Vector]) -> None:
        by_segment = groupby(zip(taken, new.items(), strict=True), lambda e: e[0] // SEGMENT_ROWS)
        for number, entries in by_segment:
            rows, some = zip(*entries, strict=True)
            ids, vectors = zip(*some, strict=True)
            segment, places = self.segments[number], np.array(rows) % SEGMENT_ROWS
            values = np.stack(vectors)
            if not np.isfinite(values).all():
                bad = text_id(ids[int(np.isfinite(values).all(axis=1).argmin())])
                raise CorruptObjectError(
                    f"object {bad} is a vector with a number that is not finite"
                )
            segment.put(places, values)
            segment.alike[places] = [self._kind(each) for each in vectors]

    def _kind(self, values: Vector) -> int:
        """A number that tells a vector from others, but for a chance of one in 2**64."""
        return (
            int.from_bytes(sha256(self._secret + values.tobytes()).digest()[:8], "little") - 2**63
        )

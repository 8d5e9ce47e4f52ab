"""Exact cosine similarity, found by way of small integers.

A pass over the integers gives every row a score and a proven margin for its error. Every row that
could be among the best within those margins is scored again in float64, in one fixed order of
operations. Only those scores decide and are returned: they do not depend on the machine, on the
library beneath NumPy, or on the place of a row in memory.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.views.products import products_with
from mnemosyne_vcs.views.quantized import Floats, Vector, split
from mnemosyne_vcs.views.rows import SEGMENT_ROWS, Rows, RowStore

__all__ = ["Query", "best", "direction_of"]

Places: TypeAlias = NDArray[np.intp]

_CHUNK = 64
_BLOCK = 64
_UNIT = 2.0**-24
_DUST = 1e-9
"""More than all rounding in float64 can amount to."""


class Query:
    """A query vector.

    Args:
        vector: finite float32 numbers, shape `(dimension,)`.

    Attributes:
        direction: the vector divided by its norm, or zeros, each number rounded to float32.
        margin_of_directions: how far the product in float32 of the direction and another
            `direction_of` may differ from their similarity.
    """

    def __init__(self, vector: Vector) -> None:
        self._exact = vector.astype(np.float64)
        self._square = float(_ordered_sums(self._exact[None] * self._exact)[0])
        self._direction = self._exact / (self._square**0.5 or 1.0)
        self.direction = self._direction.astype(np.float32)
        self.margin_of_directions = _margin(len(vector))

    def approximate(self, store: RowStore, rows: Rows) -> tuple[Floats, Floats]:
        """The similarity of each row, NaN where it is not known, and how far it may be off.

        Args:
            store: the store of the rows.
            rows: row numbers in any order, shape `(n,)`.

        Returns:
            Floats and margins, each of shape `(n,)`.
        """
        if len(rows) < 2 or (rows[1:] > rows[:-1]).all():
            return self._in_order(store, rows)
        order = np.argsort(rows, kind="stable")
        scores, margins = np.empty(len(rows)), np.empty(len(rows))
        scores[order], margins[order] = self._in_order(store, rows[order])
        return scores, margins

    def exact(self, vectors: Iterable[Vector]) -> list[float]:
        """Their similarity, from -1 to 1; 0 if either vector is zero, 1 if they are equal."""
        scores: list[float] = []
        for chunk in batches(vectors, _CHUNK):
            values = np.stack(chunk).astype(np.float64)
            norms = np.sqrt(_ordered_sums(values * values) * self._square)
            products = _ordered_sums(values * self._exact)
            ratios = np.divide(products, norms, out=np.zeros(len(values)), where=norms > 0.0)
            scores += np.clip(ratios, -1.0, 1.0).tolist()
        return scores

    def _in_order(self, store: RowStore, rows: Rows) -> tuple[Floats, Floats]:
        scores, margins = np.empty(len(rows)), np.empty(len(rows))
        codes, steps, left = split(self._direction)
        products = products_with(codes)
        segments = list(store.segments)
        bounds = np.searchsorted(rows, np.arange(len(segments) + 1) * SEGMENT_ROWS).tolist()
        for segment, (start, stop) in zip(segments, pairwise(bounds), strict=True):
            if start < stop:
                places = _places(rows[start:stop] % SEGMENT_ROWS)
                scores[start:stop] = sum(
                    products(plane.codes[places]) @ steps * plane.step[places]
                    for plane in segment.planes
                )
                margins[start:stop] = segment.slack[places]
        margins *= 1.0 + left
        margins += left + _DUST
        return scores, margins


def _places(places: Rows) -> slice | Rows:
    """Ascending places in a segment: a slice where they are adjacent, so nothing is copied."""
    first, last = int(places[0]), int(places[-1])
    return slice(first, last + 1) if last - first < len(places) else places


def direction_of(vector: Vector) -> Vector:
    """A vector divided by its norm, each number rounded to float32; zeros for a zero vector."""
    return Query(vector).direction


def best(
    scores: Floats,
    margins: Floats,
    exact: Callable[[Places], Floats],
    limit: int,
    least: float | None = None,
    keep: Callable[[list[int]], Iterable[int]] | None = None,
    alike: Callable[[Places], NDArray[np.int64]] | None = None,
) -> tuple[Places, Floats]:
    """The rows that may be among the best that pass a test; tests and scores few others.

    Args:
        scores: approximate scores, shape `(n,)`; NaN where nothing is known.
        margins: the greatest error of each, shape `(n,)`.
        exact: gives the exact scores of some positions.
        limit: how many rows are wanted.
        least: the least exact score that is wanted, if any.
        keep: the test: gives those of some positions that pass; None if every row passes.
        alike: gives a number for each of some positions; rows with one number have the same exact
            score.

    Returns:
        Positions of rows that pass, in no order, and their exact scores: among them are the
        `limit` best, where the first of equal ones are preferred.
    """
    upper = scores + margins
    floor = -np.inf if least is None else least
    if keep is None:
        floor = max(floor, _reached(scores - margins, limit))
    head, remaining = np.flatnonzero(np.isnan(scores)), np.flatnonzero(upper >= floor)
    found, reached = head[:0], np.empty(0)
    size = limit + 8
    while True:
        head = _passing(head, keep)
        found, reached = np.concatenate([found, head]), np.concatenate([reached, exact(head)])
        if len(found) >= limit:
            floor = np.partition(reached, -limit)[-limit]
            remaining = remaining[upper[remaining] >= floor]
            if alike is not None and remaining.size > limit:
                kinds = alike(found), alike(remaining)
                remaining = remaining[~_superfluous(found, remaining, *kinds, limit)]
        if not remaining.size:
            return found, reached
        if size < len(remaining):
            division = np.argpartition(upper[remaining], len(remaining) - size)
            head, remaining = remaining[division[-size:]], remaining[division[:-size]]
        else:
            head, remaining = remaining, remaining[:0]
        size *= 2


def _reached(lower: Floats, limit: int) -> float:
    """A score that at least `limit` rows reach, close to the greatest one, found in one pass."""
    blocks = len(lower) // _BLOCK
    if blocks <= limit:
        return -np.inf
    greatest = np.fmax.reduce(lower[: blocks * _BLOCK].reshape(blocks, _BLOCK), axis=1)
    known = greatest[~np.isnan(greatest)]
    return float(np.partition(known, -limit)[-limit]) if len(known) >= limit else -np.inf


def _superfluous(
    found: Places,
    remaining: Places,
    kinds_found: NDArray[np.int64],
    kinds_remaining: NDArray[np.int64],
    limit: int,
) -> NDArray[np.bool_]:
    """The remaining rows that come after `limit` others of their kind that were found."""
    order = np.lexsort((found, kinds_found))
    kinds, starts, counts = np.unique(kinds_found[order], return_index=True, return_counts=True)
    many = counts >= limit
    kinds, last = kinds[many], found[order][starts[many] + limit - 1]
    if not kinds.size:
        return np.zeros(len(remaining), np.bool_)
    at = np.minimum(np.searchsorted(kinds, kinds_remaining), len(kinds) - 1)
    return (kinds[at] == kinds_remaining) & (remaining > last[at])


def _passing(positions: Places, keep: Callable[[list[int]], Iterable[int]] | None) -> Places:
    if keep is None:
        return positions
    return np.array(list(keep(positions.tolist())), dtype=np.intp)


def _ordered_sums(terms: Floats) -> Floats:
    """The sum of each line, one term after the other from the first to the last."""
    return np.add.accumulate(terms, axis=1)[:, -1]


def _margin(dimension: int) -> float:
    """The greatest error of a product in float32 of two directions that were rounded to float32.

    Summing n products in any order, fused or not, is off by at most γₙ = n·u / (1 - n·u) times the
    product of the norms, u being the unit roundoff. Rounding a direction beforehand counts as two
    more terms, and a thousandth is enough for underflow and for the errors in float64.

    Args:
        dimension: how many products are summed.
    """
    terms = (dimension + 4) * _UNIT
    return 1.001 * terms / (1.0 - terms)

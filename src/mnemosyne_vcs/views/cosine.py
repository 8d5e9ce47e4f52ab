"""Exact cosine similarity, most of it computed in float32.

A pass in float32 gives every row a score that is off by at most a proven margin. Every row
that could be among the best within that margin is scored again in float64, in one fixed order of
operations. Only those scores decide and are returned: they do not depend on the machine, on the
library beneath NumPy, or on the place of a row in memory.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.views.rows import SEGMENT_ROWS, Rows, RowStore, Vector

__all__ = ["Query", "best", "direction_of"]

Scores = NDArray[np.float64]

_CHUNK = 64
_GATHER_BELOW = 4
_UNIT = 2.0**-24


class Query:
    """A query vector.

    Args:
        vector: finite float32 numbers, shape `(dimension,)`.

    Attributes:
        direction: the vector divided by its norm, or zeros, each number rounded to float32.
        margin: how far a product of the direction and a vector, divided by the vector's norm, may
            differ from their similarity.
        margin_of_directions: the same for the product of the direction and another `direction_of`.
    """

    def __init__(self, vector: Vector) -> None:
        self._exact = vector.astype(np.float64)
        self._square = float(_ordered_sums(self._exact[None] * self._exact)[0])
        self.direction = (self._exact / (self._square**0.5 or 1.0)).astype(np.float32)
        self.margin = _margin(len(vector), 1)
        self.margin_of_directions = _margin(len(vector), 2)

    def approximate(self, store: RowStore, rows: Rows) -> Scores:
        """The similarity of each row within `margin`; NaN where that cannot be guaranteed.

        Args:
            store: the store of the rows.
            rows: row numbers in any order, shape `(n,)`.
        """
        if len(rows) < 2 or (rows[1:] > rows[:-1]).all():
            return self._in_order(store, rows)
        order = np.argsort(rows, kind="stable")
        scores = np.empty(len(rows))
        scores[order] = self._in_order(store, rows[order])
        return scores

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

    def _in_order(self, store: RowStore, rows: Rows) -> Scores:
        scores = np.empty(len(rows))
        segments = list(store.segments)
        bounds = np.searchsorted(rows, np.arange(len(segments) + 1) * SEGMENT_ROWS).tolist()
        with np.errstate(all="ignore"):
            for segment, (start, stop) in zip(segments, pairwise(bounds), strict=True):
                if start < stop:
                    places = rows[start:stop] % SEGMENT_ROWS
                    products = self._products(segment.values, places)
                    scores[start:stop] = products * segment.scale[places]
        return scores

    def _products(self, values: NDArray[np.float32], places: Rows) -> NDArray[np.float32]:
        """Products in float32 with rows of one segment, in ascending order.

        One row at a time: a matrix product would share the work among threads, which gains little
        where memory is the limit and costs a lot when other threads want the processor.
        """
        first, last = int(places[0]), int(places[-1]) + 1
        if len(places) * _GATHER_BELOW >= last - first:
            products = np.vecdot(values[first:last], self.direction)
            return products if len(products) == len(places) else products[places - first]
        starts = range(0, len(places), _CHUNK)
        chunks = (values[places[start : start + _CHUNK]] for start in starts)
        return np.concatenate([np.vecdot(chunk, self.direction) for chunk in chunks])


def direction_of(vector: Vector) -> Vector:
    """A vector divided by its norm, each number rounded to float32; zeros for a zero vector."""
    return Query(vector).direction


def best(
    scores: Scores,
    margin: float,
    limit: int,
    least: float | None,
    keep: Callable[[list[int]], Iterable[int]] | None,
    alike: Callable[[NDArray[np.intp]], NDArray[np.int64]] | None = None,
) -> NDArray[np.intp]:
    """The rows that may be among the best that pass a test; tests as few rows as possible.

    Args:
        scores: approximate scores, shape `(n,)`; NaN where nothing is known.
        margin: the greatest error of an approximate score.
        limit: how many rows are wanted.
        least: the least exact score that is wanted, if any.
        keep: the test: gives those of some positions that pass; None if every row passes.
        alike: gives a number for each of some positions; rows with one number have the same exact
            score.

    Returns:
        Positions of rows that pass, in no order: all that can be among those with the `limit` best
        exact scores, where the first of equal ones are preferred.
    """
    unknown = np.isnan(scores)
    found = _passing(np.flatnonzero(unknown), keep)
    known = ~unknown if least is None else scores >= least - margin
    remaining = np.flatnonzero(known)
    top = np.empty(0)
    size = limit + 8
    while remaining.size:
        if size < len(remaining):
            split = np.argpartition(scores[remaining], len(remaining) - size)
            head, remaining = remaining[split[-size:]], remaining[split[:-size]]
        else:
            head, remaining = remaining, remaining[:0]
        head = _passing(head, keep)
        found = np.concatenate([found, head])
        top = np.sort(np.concatenate([top, scores[head]]))[-limit:]
        if len(top) == limit:
            remaining = remaining[scores[remaining] >= top[0] - 2 * margin]
            if alike is not None and remaining.size > limit:
                kinds = alike(found), alike(remaining)
                remaining = remaining[~_superfluous(found, remaining, *kinds, limit)]
        size *= 2
    return found


def _superfluous(
    found: NDArray[np.intp],
    remaining: NDArray[np.intp],
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


def _passing(
    positions: NDArray[np.intp], keep: Callable[[list[int]], Iterable[int]] | None
) -> NDArray[np.intp]:
    if keep is None:
        return positions
    return np.array(list(keep(positions.tolist())), dtype=np.intp)


def _ordered_sums(terms: Scores) -> Scores:
    """The sum of each line, one term after the other from the first to the last."""
    return np.add.accumulate(terms, axis=1)[:, -1]


def _margin(dimension: int, rounded: int) -> float:
    """The greatest error of a product in float32 of two directions.

    Summing n products in any order, fused or not, is off by at most γₙ = n·u / (1 - n·u) times the
    product of the norms, u being the unit roundoff. Rounding a direction beforehand counts as two
    more terms, and a thousandth is enough for underflow and for the errors in float64.

    Args:
        dimension: how many products are summed.
        rounded: how many of the two directions are rounded beforehand.
    """
    terms = (dimension + 2 * rounded) * _UNIT
    return 1.001 * terms / (1.0 - terms)

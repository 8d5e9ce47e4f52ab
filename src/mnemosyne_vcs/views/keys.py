"""Sorted keys: the span of a prefix, and columns that stay aligned when keys change."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "KeyFilter",
    "Selection",
    "Splice",
    "pack_keys",
    "places_among",
    "span",
    "splice",
    "unpack_keys",
]

KeyFilter: TypeAlias = Callable[[list[str]], Iterable[str]]
"""A test of keys: gives those that pass."""

S = TypeVar("S", bound=np.generic)
_LAST = "\U0010ffff"


def span(keys: Sequence[str], prefix: str) -> tuple[int, int]:
    """The start and end of the keys with a prefix.

    Args:
        keys: keys in ascending order.
        prefix: what they start with; empty for all.

    Returns:
        `(start, stop)`, as of a slice.
    """
    if not prefix:
        return 0, len(keys)
    start = bisect_left(keys, prefix)
    above = prefix.rstrip(_LAST)
    if not above:
        return start, len(keys)
    return start, bisect_left(keys, above[:-1] + chr(ord(above[-1]) + 1), start)


def places_among(keys: Sequence[str], others: Sequence[str]) -> NDArray[np.intp] | None:
    """The index of each key among others, or -1; None if both are the same keys.

    Args:
        keys: keys in ascending order.
        others: keys in ascending order.
    """
    if keys == others:
        return None
    known = {key: at for at, key in enumerate(others)}
    return np.array([known.get(key, -1) for key in keys], dtype=np.intp)


def pack_keys(keys: Sequence[str]) -> NDArray[np.uint8]:
    """Keys as bytes. No key has a control character, so one can stand between them."""
    return np.frombuffer("\n".join(keys).encode(), np.uint8)


def unpack_keys(packed: NDArray[np.uint8]) -> list[str]:
    """The keys that were packed."""
    return packed.tobytes().decode().split("\n") if len(packed) else []


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Some of a root's keys.

    Attributes:
        keys: keys of the root in ascending order.
        chosen: which of them are selected; shape `(len(keys),)`.
    """

    keys: Sequence[str]
    chosen: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Splice:
    """The edit from one sorted list of keys to another.

    Attributes:
        keys: the keys after it; the same list object if they are unchanged.
        runs: the old rows that stay, as `(start, stop, placed)`; `placed` is the number of new
            rows up to and including those that follow this run.
    """

    keys: list[str]
    runs: list[tuple[int, int, int]]

    def column(self, old: NDArray[S], new: NDArray[S]) -> NDArray[S]:
        """The column for the keys after the edit.

        Args:
            old: one value for each key before, shape `(n,)`.
            new: one value for each edit that puts a row, in order, shape `(m,)`.
        """
        pieces: list[NDArray[Any]] = []
        begin = 0
        for start, stop, placed in self.runs:
            pieces.append(old[start:stop])
            pieces.append(new[begin:placed])
            begin = placed
        return np.concatenate(pieces)


def splice(keys: list[str], edits: Sequence[tuple[str, bool]]) -> Splice:
    """Edit a sorted list of keys.

    Args:
        keys: keys in ascending order; not changed.
        edits: `(key, whether it has a row afterwards)` in ascending order of the keys.
    """
    runs: list[tuple[int, int, int]] = []
    inserted: list[str] = []
    start = at = placed = 0
    same = True
    for key, stays in edits:
        at = bisect_left(keys, key, at)
        found = at < len(keys) and keys[at] == key
        if not found and not stays:
            continue
        same &= found and stays
        if runs and at == start:
            runs[-1] = (*runs[-1][:2], placed + stays)
        else:
            runs.append((start, at, placed + stays))
        if stays:
            inserted.append(key)
            placed += 1
        start = at = at + found
    runs.append((start, len(keys), placed))
    if same:
        return Splice(keys, runs)
    spliced: list[str] = []
    begin = 0
    for first, last, upto in runs:
        spliced += keys[first:last]
        spliced += inserted[begin:upto]
        begin = upto
    return Splice(spliced, runs)

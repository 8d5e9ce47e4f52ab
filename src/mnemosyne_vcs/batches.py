"""Long iterables in parts of a size that one request can take."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

__all__ = ["BATCH", "batches"]

T = TypeVar("T")

BATCH = 512
"""How many objects are read or written in one request."""


def batches(items: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    """Lists of consecutive items, all but the last of the given size.

    Args:
        items: what to divide; it is consumed as the lists are asked for.
        size: how many items a list has.
    """
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch

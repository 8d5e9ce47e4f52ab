"""Rows of vectors in a file that is mapped into memory: found by id, never changed."""

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mnemosyne_vcs.ids import ID_BYTES, Id

__all__ = ["MappedIds", "ids_as_array"]

_DIGEST = slice(4, 12)


def ids_as_array(ids: Collection[Id]) -> NDArray[np.uint8]:
    """Ids as an array of shape `(n, ID_BYTES)`."""
    return np.frombuffer(b"".join(ids), np.uint8).reshape(-1, ID_BYTES)


class MappedIds:
    """The ids of adjacent rows.

    Args:
        first: the row of the first of them.
        ids: shape `(n, ID_BYTES)`.
    """

    def __init__(self, first: int, ids: NDArray[np.uint8]) -> None:
        self._first = first
        self._ids = ids

    def id_of(self, row: int) -> Id:
        """The id of a row."""
        return self._ids[row - self._first].tobytes()

    def find(self, wanted: Collection[Id]) -> dict[Id, int]:
        """The rows of those ids that are among these."""
        if not wanted or not len(self._ids):
            return {}
        order, digests = self._sorted
        places = np.searchsorted(digests, _digests(ids_as_array(wanted))).tolist()
        found: dict[Id, int] = {}
        for each, start in zip(wanted, places, strict=True):
            digest = int.from_bytes(each[_DIGEST], "big")
            at = start
            while at < len(digests) and digests[at] == digest:
                row = self._first + int(order[at])
                if self.id_of(row) == each:
                    found[each] = row
                    break
                at += 1
        return found

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
        digests = _digests(self._ids)
        order = np.argsort(digests)
        return order, digests[order]


def _digests(ids: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The first bytes of the digest of each, as one number."""
    return np.ascontiguousarray(ids[:, _DIGEST]).view(">u8").reshape(-1).astype(np.uint64)

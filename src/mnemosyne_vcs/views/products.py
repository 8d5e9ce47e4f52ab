"""Products of integers of eight bits: exact, so the same with either library.

NumKong computes them with the instructions that processors have for that. It is loaded by the first
search. NumPy computes them where there is no wheel of NumKong.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemosyne_vcs.views.quantized import Codes

__all__ = ["Products", "numkong_products", "numpy_products", "products_with"]

Products: TypeAlias = Callable[[Codes], NDArray[Any]]
"""From codes of shape `(n, dimension)` to their products with each of k others: `(n, k)`."""

_CHUNK = 64
_EXACT = 1024
"""So many products of two codes add up to less than 2**24, in any order: exact in float32."""
_LONGEST = (2**31 - 1) // 127**2
"""So many add up to less than 2**31: NumKong adds in 32 bits."""


def products_with(others: Codes) -> Products:
    """A function that multiplies codes by others.

    Args:
        others: shape `(k, dimension)`.
    """
    return numpy_products(others) if others.shape[1] > _LONGEST else _best()(others)


@cache
def _best() -> Callable[[Codes], Products]:
    try:
        import numkong
    except ImportError:
        return numpy_products
    del numkong
    return numkong_products


def numkong_products(others: Codes) -> Products:
    """The products by NumKong."""
    from numkong import dots_pack, dots_packed

    packed = dots_pack(others, "int8")
    return lambda codes: np.asarray(dots_packed(codes, packed))


def numpy_products(others: Codes) -> Products:
    """The products by NumPy, in float32."""
    columns = range(0, others.shape[1], _EXACT)
    pieces = [(at, others[:, at : at + _EXACT].astype(np.float32).T) for at in columns]

    def products(codes: Codes) -> NDArray[Any]:
        made = np.zeros((len(codes), len(others)))
        for start in range(0, len(codes), _CHUNK):
            few = codes[start : start + _CHUNK].astype(np.float32)
            for at, piece in pieces:
                made[start : start + _CHUNK] += few[:, at : at + _EXACT] @ piece
        return made

    return products

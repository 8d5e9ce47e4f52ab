"""Vectors as integers of eight bits: a quarter of the memory, and a proven error.

The direction of a vector, which is the vector divided by its norm, is written as
`step * codes + left` with integer codes from -127 to 127. Only the codes, the step and a bound of
the norm of `left` are kept. By the inequality of Cauchy and Schwarz, that norm bounds the
difference between the products of a query with the codes and with the direction. Where it is large,
as for vectors with a few numbers much greater than the rest, `left` is written the same way once
more.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "Floats", "Plane", "Quantized", "Vector", "quantize", "split"]

Vector: TypeAlias = NDArray[np.float32]
"""Numbers of shape `(dimension,)`."""

Codes: TypeAlias = NDArray[np.int8]
"""Integers from -127 to 127, shape `(n, dimension)`."""

Floats: TypeAlias = NDArray[np.float64]

_CHUNK = 64
_MOST = 127
_LEAST_NORM, _GREATEST_NORM = 1e-20, 1e30
_ROUNDING = 1e-6
_COARSE = 0.02
"""Where more than this is left, a second plane pays: it tells apart what would be read."""


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """One term of some directions.

    Attributes:
        codes: shape `(n, dimension)`.
        step: what an integer of each stands for, shape `(n,)`; NaN where nothing is known.
    """

    codes: Codes
    step: Floats

    @classmethod
    def zeros(cls, rows: int, dimension: int) -> "Plane":
        """A term that adds nothing."""
        return cls(np.zeros((rows, dimension), np.int8), np.zeros(rows))

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self.codes.nbytes + self.step.nbytes

    def write(self, at: slice, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Fill in some rows; returns what they leave of the values."""
        steps = np.abs(values).max(axis=1, initial=0.0) / np.float32(_MOST)
        whole = np.rint(values / np.where(steps, steps, np.float32(1.0))[:, None])
        self.codes[at] = whole
        self.step[at] = steps
        return values - whole * steps[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Quantized:
    """Some vectors.

    Attributes:
        planes: the terms that their directions are the sum of, one or two. The step of the first is
            0 for a zero vector, and NaN where the norm of the vector is so small or so great that
            float32 cannot be trusted.
        slack: the greatest norm of what the terms leave out of each direction, shape `(n,)`.
    """

    planes: list[Plane]
    slack: Floats


def quantize(vectors: NDArray[np.float32]) -> Quantized:
    """Write vectors as integers, in float32.

    The rounding of the directions, of the steps and of what is left amounts to less than eight
    units of roundoff, 5e-7, and that of the norm of what is left to at most `dimension` units.

    Args:
        vectors: shape `(n, dimension)`.

    Returns:
        The vectors, in the same order; the step of one whose norm is not finite is NaN.
    """
    count, dimension = vectors.shape
    planes, slack = [Plane.zeros(count, dimension)], np.empty(count)
    for start in range(0, count, _CHUNK):
        at = slice(start, start + _CHUNK)
        with np.errstate(all="ignore"):
            directions, known = _directions(vectors[at])
            left = planes[0].write(at, directions)
            planes[0].step[at][~known] = np.nan
            norms = np.sqrt(np.vecdot(left, left))
            if norms.max() > _COARSE:
                if len(planes) == 1:
                    planes.append(Plane.zeros(count, dimension))
                left = planes[1].write(at, left)
                norms = np.sqrt(np.vecdot(left, left))
        slack[at] = norms.astype(np.float64) * (1.0 + (dimension + 4) * 2.0**-23) + _ROUNDING
    return Quantized(planes, slack)


def _directions(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The directions of a few vectors, zeros for what has none, and whether they are known."""
    wide = vectors.astype(np.float64)
    norms = np.sqrt(np.vecdot(wide, wide))
    ordinary = (norms >= _LEAST_NORM) & (norms <= _GREATEST_NORM)
    directions = vectors / np.where(ordinary, norms, 1.0).astype(np.float32)[:, None]
    directions[~ordinary] = 0.0
    return directions, ordinary | (norms == 0.0)


def split(direction: Floats) -> tuple[Codes, Floats, float]:
    """Write a direction as the sum of two steps times integers.

    Args:
        direction: shape `(dimension,)`.

    Returns:
        The integers of both, shape `(2, dimension)`; the steps, shape `(2,)`; and the norm of what
        is left.
    """
    codes = np.zeros((2, len(direction)), np.int8)
    steps, left = np.zeros(2), direction
    for each in range(2):
        steps[each] = np.abs(left).max(initial=0.0) / _MOST
        whole = np.rint(left / (steps[each] or 1.0))
        codes[each] = whole
        left = left - whole * steps[each]
    return codes, steps, float(np.sqrt(np.dot(left, left)))

"""Arrays in PostgreSQL's binary format.

`psycopg` sends a list as text unless told otherwise, and looks at each element to find its type.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, ClassVar

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Array", "Bytes", "Floats", "Integers", "Texts"]

_EMPTY = Struct(">iiI")
_LINE = Struct(">iiIii")
_PLANE = Struct(">iiIiiii")
_SIZE = Struct(">i")
_INTEGER = Struct(">ii")


class Array(ABC):
    """A value that goes to the server as an array.

    Attributes:
        oid: the type of the array there.
    """

    oid: ClassVar[int]

    @abstractmethod
    def dump(self) -> bytes:
        """The array as the server takes it in binary."""


class Bytes(Array):
    """A sequence that goes to the server as `bytea[]`."""

    oid = 1001
    _element: ClassVar[int] = 17

    def __init__(self, values: Sequence[bytes]) -> None:
        self._values = values

    def dump(self) -> bytes:
        """See `Array.dump`."""
        values = self._values
        parts = [_head(self._element, len(values))]
        for value in values:
            parts += (_SIZE.pack(len(value)), value)
        return b"".join(parts)


class Texts(Bytes):
    """A sequence that goes to the server as `text[]`."""

    oid = 1009
    _element = 25

    def __init__(self, values: Sequence[str]) -> None:
        super().__init__([value.encode() for value in values])


class Integers(Array):
    """A sequence that goes to the server as `integer[]`."""

    oid = 1007

    def __init__(self, values: Sequence[int]) -> None:
        self._values = values

    def dump(self) -> bytes:
        """See `Array.dump`."""
        values = self._values
        return _head(23, len(values)) + b"".join(_INTEGER.pack(4, value) for value in values)


class Floats(Array):
    """An array of one axis or two that goes to the server as `real[]`."""

    oid = 1021

    def __init__(self, values: "NDArray[np.float32]") -> None:
        self._values = values

    def dump(self) -> bytes:
        """See `Array.dump`."""
        import numpy as np

        values = self._values
        numbers = np.empty(values.size, [("length", ">i4"), ("number", ">f4")])
        numbers["length"], numbers["number"] = 4, values.ravel()
        return _head(700, *values.shape) + numbers.tobytes()


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Array) -> bytes:
        return obj.dump()


def _head(element: int, *shape: int) -> bytes:
    """How many axes, no nulls, the type of the elements, and each axis with its first index."""
    if not all(shape):
        return _EMPTY.pack(0, 0, element)
    if len(shape) == 1:
        return _LINE.pack(1, 0, element, *shape, 1)
    lines, columns = shape
    return _PLANE.pack(2, 0, element, lines, 1, columns, 1)


for _kind in (Bytes, Texts, Integers, Floats):
    _dumper = type(f"{_kind.__name__}Dumper", (_ArrayDumper,), {"oid": _kind.oid})
    psycopg.adapters.register_dumper(_kind, _dumper)

"""Arrays as PostgreSQL takes them in binary, written in one go.

`psycopg` sends a list as text unless told otherwise, and looks at each element to find its type.
"""

from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, ClassVar

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Bytes", "Floats", "Texts"]

_HEAD = Struct(">iiI")
_AXIS = Struct(">ii")
_SIZE = Struct(">i")


class Bytes:
    """A sequence that goes to the server as `bytea[]`."""

    def __init__(self, values: Sequence[bytes]) -> None:
        self.values = values


class Texts:
    """A sequence that goes to the server as `text[]`."""

    def __init__(self, values: Sequence[str]) -> None:
        self.values = [value.encode() for value in values]


class Floats:
    """An array that goes to the server as `real[]`."""

    def __init__(self, values: "NDArray[np.float32]") -> None:
        self.values = values


class _BytesDumper(Dumper):
    format = Format.BINARY
    oid = 1001
    _element: ClassVar[int] = 17

    def dump(self, obj: Bytes | Texts) -> bytes:
        values = obj.values
        parts = [_head(self._element, (len(values),) if values else ())]
        for value in values:
            parts += (_SIZE.pack(len(value)), value)
        return b"".join(parts)


class _TextsDumper(_BytesDumper):
    oid = 1009
    _element = 25


class _FloatsDumper(Dumper):
    format = Format.BINARY
    oid = 1021

    def dump(self, obj: Floats) -> bytes:
        import numpy as np

        values = obj.values
        numbers = np.empty(values.size, [("length", ">i4"), ("number", ">f4")])
        numbers["length"], numbers["number"] = 4, values.ravel()
        return _head(700, values.shape if values.size else ()) + numbers.tobytes()


def _head(element: int, shape: Sequence[int]) -> bytes:
    """How many axes, no nulls, the type of the elements, and each axis."""
    return _HEAD.pack(len(shape), 0, element) + b"".join(_AXIS.pack(size, 1) for size in shape)


for _kind, _dumper in ((Bytes, _BytesDumper), (Texts, _TextsDumper), (Floats, _FloatsDumper)):
    psycopg.adapters.register_dumper(_kind, _dumper)

"""CAR files, version 1: a sequence of blocks with their ids, as IPLD tools exchange them.

A file is a header and then sections. Each is preceded by its length as an unsigned LEB128 number.
The header is a DAG-CBOR map with the roots; a section is an id and the bytes that it names.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from io import SEEK_CUR, SEEK_END
from typing import Any, BinaryIO, cast

import libipld

from mnemosyne_vcs.errors import CorruptObjectError, ValidationError
from mnemosyne_vcs.ids import DAG_CBOR, ID_BYTES, RAW, Id

__all__ = ["CarIndex", "index_car", "write_car"]

LONGEST_VARINT = 9
LONGEST_HEADER = 1 << 20


@dataclass(frozen=True, slots=True)
class CarIndex:
    """Where the blocks of a CAR file are.

    Attributes:
        root: the only root.
        places: the offset and size of the bytes of each block, in order of the file.
    """

    root: Id
    places: dict[Id, tuple[int, int]]

    def read(self, file: BinaryIO, block: Id) -> bytes:
        """The bytes of a block, unchecked."""
        start, size = self.places[block]
        file.seek(start)
        return file.read(size)


def write_car(file: BinaryIO, root: Id, blocks: Iterable[tuple[Id, bytes]]) -> int:
    """Write a CAR file with one root.

    Args:
        file: where to write.
        root: the root, which must be one of the blocks.
        blocks: ids and bytes.

    Returns:
        The number of blocks that were written.
    """
    header = libipld.encode_dag_cbor({"roots": [root], "version": 1})
    file.write(_varint(len(header)) + header)
    count = 0
    for block, data in blocks:
        file.write(_varint(len(block) + len(data)) + block)
        file.write(data)
        count += 1
    return count


def index_car(file: BinaryIO, path: str) -> CarIndex:
    """Find the blocks of a CAR file, without reading their bytes.

    Args:
        file: the file, at its start.
        path: its path, for messages.

    Raises:
        ValidationError: it is not a CAR file with one root, or has blocks of other kinds.
        CorruptObjectError: it ends in the middle of a block.
    """
    end = file.seek(0, SEEK_END)
    file.seek(0)
    root = _root(file, path, end)
    places: dict[Id, tuple[int, int]] = {}
    while (start := file.tell()) < end:
        size = _length(file)
        if size is None or file.tell() + size > end:
            raise _truncated(path, start)
        block = file.read(ID_BYTES)
        if size < ID_BYTES or not block.startswith((DAG_CBOR, RAW)):
            raise ValidationError(
                f"{path} is not a Mnemosyne bundle: the id at byte {start} is of another kind"
            )
        places.setdefault(block, (file.tell(), size - ID_BYTES))
        file.seek(size - ID_BYTES, SEEK_CUR)
    return CarIndex(root, places)


def _root(file: BinaryIO, path: str, end: int) -> Id:
    size = _length(file)
    if size is None or size > LONGEST_HEADER:
        raise _foreign(path)
    if file.tell() + size > end:
        raise _foreign(path) if size > end else _truncated(path, 0)
    data = file.read(size)
    try:
        header = cast("dict[str, Any] | Any", libipld.decode_dag_cbor(data))
    except (ValueError, RecursionError):
        raise _foreign(path) from None
    match header:
        case {"version": 1, "roots": [bytes() as root]} if (
            libipld.encode_dag_cbor(header) == data
            and root.startswith((DAG_CBOR, RAW))
            and len(root) == ID_BYTES
        ):
            return root
        case dict() if header.keys() >= {"version", "roots"}:
            raise ValidationError(
                f"{path} is a CAR file but not a Mnemosyne bundle, which has version 1 and one root"
            )
        case _:
            raise _foreign(path)


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)


def _length(file: BinaryIO) -> int | None:
    """A length, or None if it is cut short."""
    number = 0
    for position in range(LONGEST_VARINT):
        digit = file.read(1)
        if not digit:
            return None
        number |= (digit[0] & 0x7F) << 7 * position
        if digit[0] < 0x80:
            return number
    return None


def _truncated(path: str, start: int) -> CorruptObjectError:
    return CorruptObjectError(
        f"{path} is cut short or damaged after byte {start}; fetch or export it again"
    )


def _foreign(path: str) -> ValidationError:
    return ValidationError(f"{path} is not a CAR file")

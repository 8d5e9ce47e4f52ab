"""Objects stored as their difference to another object of the same file.

A tree node differs from the node that it replaced in a few dozen bytes, and a record often in few
from the one before. Such an object is stored as a raw DEFLATE stream whose preset dictionary is the
other object, its base.

The versions of one object are numbered by their places: a whole one has the place 0, and the next
versions count on until the place would be `VERSIONS`, which is whole again. The base of a place is
that place with its lowest set bit cleared. So the differences between a version and the whole one
are as many as its place has set bits: five at most for 32 versions.
"""

import zlib

from mnemosyne_vcs.errors import CorruptObjectError
from mnemosyne_vcs.format.objects import check_id
from mnemosyne_vcs.ids import Id

__all__ = ["LARGEST", "SMALLEST", "VERSIONS", "base_place", "difference", "is_sound", "whole"]

VERSIONS = 32
"""How many versions of an object share one that is stored whole."""
SMALLEST = 128
"""Objects with fewer bytes are stored whole: a difference would hardly be shorter."""
LARGEST = 32_000
"""Larger objects are stored whole: DEFLATE looks back over 32,768 bytes."""
_LEVEL = 3
_MEMORY = 6
_SMALLEST_WINDOW, _LARGEST_WINDOW = 13, 15


def base_place(place: int) -> int:
    """The place of the base of the next version after a place."""
    return place & (place + 1)


def difference(base: bytes, data: bytes) -> bytes | None:
    """An object as its difference to a base; None if that is not at most half as long.

    Args:
        base: the bytes of the base.
        data: the bytes of the object.
    """
    if len(data) < SMALLEST or max(len(base), len(data)) > LARGEST:
        return None
    window = (len(base) + len(data)).bit_length()
    window = min(max(window, _SMALLEST_WINDOW), _LARGEST_WINDOW)
    packer = zlib.compressobj(
        _LEVEL, zlib.DEFLATED, -window, _MEMORY, zlib.Z_DEFAULT_STRATEGY, base
    )
    packed = packer.compress(data) + packer.flush()
    return packed if len(packed) <= len(data) // 2 else None


def whole(base: bytes, packed: bytes, size: int) -> bytes | None:
    """The object whose difference to a base is given; None if it is damaged beyond reading.

    Damage that can be read gives other bytes, which do not have the hash in the object's id.

    Args:
        base: the bytes of the base.
        packed: what `difference` gave.
        size: the size of the object.
    """
    unpacker = zlib.decompressobj(-_LARGEST_WINDOW, base)
    try:
        data = unpacker.decompress(packed, size + 1)
    except zlib.error:
        return None
    return data if unpacker.eof and not unpacker.unused_data else None


def is_sound(block: Id, data: bytes) -> bool:
    """Whether bytes are those of the object that an id names."""
    try:
        check_id(block, data)
    except CorruptObjectError:
        return False
    return True

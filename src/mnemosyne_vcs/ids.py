"""Ids of objects: CIDs, as bytes in the core and as text for people."""

from functools import lru_cache
from typing import TypeAlias

import libipld

from mnemosyne_vcs.errors import ValidationError

__all__ = ["DAG_CBOR", "ID_BYTES", "ID_START", "RAW", "Id", "parse_id", "short_id", "text_id"]

Id: TypeAlias = bytes
"""The 36 bytes of a CIDv1: version 1, the codec, sha2-256, 32 bytes of digest."""

ID_BYTES = 36
"""How long an id is."""

DAG_CBOR = b"\x01\x71\x12\x20"
"""The first bytes of the id of a commit, a node or a record."""

RAW = b"\x01\x55\x12\x20"
"""The first bytes of the id of a vector."""

ID_START = "bafyrei"
"""The start of the text of a commit's, node's or record's id."""


def text_id(block: Id) -> str:
    """The id as text: multibase base32."""
    return libipld.encode_cid(block)


@lru_cache(maxsize=4096)
def parse_id(text: str) -> Id:
    """Read an id written by `text_id`.

    Raises:
        ValidationError: the text is not such an id.
    """
    try:
        _, block = libipld.decode_multibase(text)
    except ValueError:
        block = b""
    if len(block) != ID_BYTES or block[:4] not in (DAG_CBOR, RAW) or text_id(block) != text:
        raise ValidationError(f"{text!r} is not a valid object id")
    return block


def short_id(text: str) -> str:
    """The part of an id that is shown to people: ten characters, without the common prefix."""
    return text.removeprefix(ID_START)[:10]

"""A second reading of the format, written from `docs/format` alone.

It imports nothing of the library, so that the golden vectors prove two things: that the library
does what the text says, and that the text says enough.
"""

import hashlib
import struct
from base64 import b32decode, b32encode
from dataclasses import dataclass
from typing import Any

DAG_CBOR, RAW = 0x71, 0x55
SHORTEST, LONGEST = 21, 42


@dataclass(frozen=True)
class Link:
    cid: bytes


class NotCanonicalError(ValueError):
    pass


def cid(data: bytes, codec: int = DAG_CBOR) -> bytes:
    return bytes((1, codec, 0x12, 32)) + hashlib.sha256(data).digest()


def text(block: bytes) -> str:
    return "b" + b32encode(block).decode().lower().rstrip("=")


def link(id_text: str) -> Link:
    return Link(b32decode(id_text[1:].upper() + "=" * (-(len(id_text) - 1) % 8)))


def encode(value: Any) -> bytes:
    match value:
        case None | bool():
            return {None: b"\xf6", False: b"\xf4", True: b"\xf5"}[value]
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case float():
            return b"\xfb" + struct.pack(">d", value + 0.0)
        case str():
            return _head(3, len(value.encode())) + value.encode()
        case list():
            return _head(4, len(value)) + b"".join(map(encode, value))
        case dict():
            names = sorted(value, key=lambda name: (len(name.encode()), name.encode()))
            pairs = (encode(name) + encode(value[name]) for name in names)
            return _head(5, len(value)) + b"".join(pairs)
        case Link():
            return b"\xd8\x2a" + _head(2, len(value.cid) + 1) + b"\x00" + value.cid
    raise TypeError(type(value))


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes((major << 5 | number,))
    size = next(size for size in (1, 2, 4, 8) if number < 1 << 8 * size)
    return bytes((major << 5 | 23 + size.bit_length(),)) + number.to_bytes(size, "big")


def decode(data: bytes) -> Any:
    value, end = _decode(data, 0)
    if end != len(data) or encode(value) != data:
        raise NotCanonicalError("not the one encoding of what it says")
    return value


def _decode(data: bytes, at: int) -> tuple[Any, int]:
    """The value that starts at a place, and where it ends."""
    if at >= len(data):
        raise NotCanonicalError("the bytes end inside a value")
    major, short = data[at] >> 5, data[at] & 31
    if major == 7:
        if short == 27 and at + 9 <= len(data):
            number = struct.unpack(">d", data[at + 1 : at + 9])[0]
            if number - number != 0:
                raise NotCanonicalError("a number is not finite")
            return number, at + 9
        if short in (20, 21, 22):
            return {20: False, 21: True, 22: None}[short], at + 1
        raise NotCanonicalError("a float of another size or an unknown simple value")
    size = 0 if short < 24 else 1 << short - 24
    if short > 27 or at + 1 + size > len(data):
        raise NotCanonicalError("an indefinite or reserved length, or the end of the bytes")
    number = int.from_bytes(data[at + 1 : at + 1 + size], "big") if size else short
    at += 1 + size
    match major:
        case 0:
            return number, at
        case 1:
            return -1 - number, at
        case 3:
            if at + number > len(data):
                raise NotCanonicalError("the bytes end inside a string")
            return data[at : at + number].decode(), at + number
        case 4:
            items = []
            for _ in range(number):
                item, at = _decode(data, at)
                items.append(item)
            return items, at
        case 5:
            pairs = {}
            for _ in range(number):
                name, at = _decode(data, at)
                if not isinstance(name, str):
                    raise NotCanonicalError("a map's key is no string")
                pairs[name], at = _decode(data, at)
            return pairs, at
        case 6 if number == 42 and data[at : at + 3] == b"\x58\x25\x00":
            if at + 39 > len(data):
                raise NotCanonicalError("the bytes end inside a link")
            return Link(data[at + 3 : at + 39]), at + 39
    raise NotCanonicalError("a byte string that is no link, or another tag")


def record(fields: dict[str, Any], salt: str) -> dict[str, Any]:
    block = {"kind": "record", "salt": salt} | fields
    if "vectors" in fields:
        block["vectors"] = {name: link(each) for name, each in fields["vectors"].items()}
    return block


def commit(fields: dict[str, Any]) -> dict[str, Any]:
    links = {"parents": [link(p) for p in fields["parents"]], "root": link(fields["root"])}
    return {"kind": "commit"} | fields | links


def node(level: int, entries: list[tuple[str, bytes, int]]) -> dict[str, Any]:
    keys = [key for key, _, _ in entries]
    shared = 0
    while keys and keys[0][: shared + 1] == keys[-1][: shared + 1] and shared < len(keys[0]):
        shared += 1
    block: dict[str, Any] = {
        "kind": "node",
        "level": level,
        "prefix": keys[0][:shared] if keys else "",
        "keys": [key[shared:] for key in keys],
        "links": [Link(block) for _, block, _ in entries],
    }
    return block | {"counts": [count for *_, count in entries]} if level else block


def vector(floats: list[float], salt: str) -> bytes:
    return struct.pack(f"<{len(floats)}f", *floats) + bytes.fromhex(salt)


def tree(records: dict[str, bytes]) -> list[list[dict[str, Any]]]:
    """The nodes of each level, leaves first; the root is the last."""
    entries = [(key, records[key], 1) for key in sorted(records, key=str.encode)]
    levels: list[list[dict[str, Any]]] = []
    while not levels or len(levels[-1]) > 1:
        level, nodes, above = len(levels), [], []
        while entries or not nodes:
            end = len(entries)
            if end > SHORTEST:
                window = range(SHORTEST, min(LONGEST, end) + 1)
                end = min(window, key=lambda size: (_priority(level, entries[size - 1][0]), size))
            nodes.append(node(level, entries[:end]))
            if entries:
                total = sum(count for *_, count in entries[:end])
                above.append((entries[end - 1][0], cid(encode(nodes[-1])), total))
            entries = entries[end:]
        levels.append(nodes)
        entries = above
    return levels


def _priority(level: int, key: str) -> bytes:
    return hashlib.sha256(bytes((level,)) + key.encode()).digest()[:4]

"""Objects as bytes and back: records, tree nodes, commits and vectors, and their ids.

Objects are DAG-CBOR blocks, vectors raw blocks, each named by the CIDv1 (sha2-256) of its bytes.
`docs/format` is the normative text.
"""

import hashlib
import os
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import libipld

from mnemosyne_vcs.errors import CorruptObjectError, ValidationError
from mnemosyne_vcs.ids import DAG_CBOR, ID_START, RAW, Id, text_id
from mnemosyne_vcs.model import JSON, UNKNOWN, Commit, Provenance

if TYPE_CHECKING:
    from mnemosyne_vcs.model import Vector

__all__ = [
    "EMPTY_NODE",
    "Node",
    "StoredRecord",
    "canonical",
    "check_id",
    "common_prefix",
    "decode_commit",
    "decode_node",
    "decode_record",
    "decode_vector",
    "encode_commit",
    "encode_node",
    "encode_record",
    "encode_vector",
    "fields_of",
    "is_commit_id",
    "is_vector",
    "new_salt",
    "object_id",
    "object_kind",
    "vector_floats",
    "vector_id",
    "vector_of_floats",
]

_COMMIT_ID = re.compile(f"{ID_START}[a-h][a-z2-7]{{50}}[aeimquy4]")
SALT_BYTES = 16


def object_id(data: bytes) -> Id:
    """The id of a DAG-CBOR block."""
    return DAG_CBOR + hashlib.sha256(data).digest()


def vector_id(data: bytes) -> Id:
    """The id of a raw block, which holds a vector."""
    return RAW + hashlib.sha256(data).digest()


def is_vector(block: Id) -> bool:
    """Whether the id is that of a raw block, which holds a vector."""
    return block[:4] == RAW


def check_id(block: Id, data: bytes) -> None:
    """Check that bytes have the hash in an id.

    Raises:
        CorruptObjectError: they are not.
    """
    if hashlib.sha256(data).digest() != block[4:]:
        raise CorruptObjectError(
            f"object {text_id(block)} is corrupt: its {len(data)} bytes have another hash"
        )


def is_commit_id(text: str) -> bool:
    """Whether a text has the form of a complete commit id; the commit need not exist."""
    return bool(_COMMIT_ID.fullmatch(text))


def new_salt() -> bytes:
    """16 random bytes."""
    return os.urandom(SALT_BYTES)


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as its block holds it: without its key, vectors as links.

    Attributes:
        content: the JSON value.
        transaction: id of the transaction that wrote it (32 hex digits).
        vectors: ids of the vector blocks by name.
        embedder: id of the model that made the vectors.
        provenance: where the record came from.
        event_time: UTC milliseconds, or None.
        moved_from: the key that it was moved from.
    """

    content: JSON
    transaction: str
    vectors: Mapping[str, Id] = field(default_factory=dict[str, Id])
    embedder: str | None = None
    provenance: Provenance = UNKNOWN
    event_time: int | None = None
    moved_from: str | None = None


def encode_record(record: StoredRecord, salt: bytes) -> bytes:
    """The block of a record.

    Args:
        record: the record, its content checked by `validation.check_content`.
        salt: 16 random bytes of its own.
    """
    block: dict[str, Any] = {
        "kind": "record",
        "content": record.content,
        "transaction": record.transaction,
        "salt": salt.hex(),
    }
    if record.vectors:
        block["vectors"] = dict(record.vectors)
    if known := record.provenance.as_json():
        block["provenance"] = known
    for name in ("embedder", "event_time", "moved_from"):
        value = getattr(record, name)
        if value is not None:
            block[name] = value
    return _encode(block)


def decode_record(block: Id, data: bytes) -> StoredRecord:
    """Read the block of a record.

    Raises:
        CorruptObjectError: the bytes are not a record.
    """
    fields = _decode(block, data, "record")
    try:
        return StoredRecord(
            fields["content"],
            fields["transaction"],
            fields.get("vectors", {}),
            fields.get("embedder"),
            _provenance(fields.get("provenance")),
            fields.get("event_time"),
            fields.get("moved_from"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise _malformed(block, "record", error) from error


def _provenance(known: dict[str, Any] | None) -> Provenance:
    if not known:
        return UNKNOWN
    if sources := known.get("derived_from"):
        known["derived_from"] = tuple((each["key"], each["commit"]) for each in sources)
    return Provenance(**known)


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the tree.

    Attributes:
        level: 0 for a leaf.
        keys: the keys of a leaf's records; of an inner node, each child's last key. Ascending.
        links: ids of the records, or of the children.
        counts: how many records each link leads to; all 1 in a leaf.
    """

    level: int
    keys: Sequence[str]
    links: Sequence[Id]
    counts: Sequence[int]

    @property
    def count(self) -> int:
        """The number of records in or below this node."""
        return sum(self.counts) if self.level else len(self.keys)


def encode_node(node: Node) -> bytes:
    """The block of a tree node; the longest common prefix of its keys is stored once."""
    keys = node.keys
    prefix = common_prefix(keys[0], keys[-1]) if keys else ""
    cut = len(prefix)
    block: dict[str, Any] = {
        "kind": "node",
        "level": node.level,
        "prefix": prefix,
        "keys": [key[cut:] for key in keys],
        "links": list(node.links),
    }
    if node.level:
        block["counts"] = list(node.counts)
    return _encode(block)


def common_prefix(first: str, last: str) -> str:
    """The longest string that both start with."""
    low, high = 0, min(len(first), len(last))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == last[:middle]:
            low = middle
        else:
            high = middle - 1
    return first[:low]


def decode_node(block: Id, data: bytes) -> Node:
    """Read the block of a tree node.

    Raises:
        CorruptObjectError: the bytes are not a tree node.
    """
    fields = _decode(block, data, "node")
    try:
        level, prefix, suffixes = fields["level"], fields["prefix"], fields["keys"]
        links: list[Id] = fields["links"]
        keys = [prefix + suffix for suffix in suffixes] if prefix else suffixes
        counts: list[int] = fields["counts"] if level else [1] * len(keys)
        if not len(keys) == len(links) == len(counts):
            raise _malformed(block, "node", "keys, links and counts differ in number")
    except (KeyError, TypeError) as error:
        raise _malformed(block, "node", error) from error
    return Node(level, keys, links, counts)


EMPTY_NODE = Node(0, (), (), ())


def encode_commit(commit: Commit) -> bytes:
    """The block of a commit; `commit.id` is not part of it."""
    return _encode(
        {
            "kind": "commit",
            "parents": list(commit.parent_cids),
            "root": commit.tree_cid,
            "transaction": commit.transaction_id,
            "author": commit.author,
            "message": commit.message,
            "time": commit.timestamp_ms,
            "generation": commit.generation,
            "trailers": dict(commit.trailers),
        }
    )


def decode_commit(block: Id, data: bytes) -> Commit:
    """Read the block of a commit.

    Raises:
        CorruptObjectError: the bytes are not a commit.
    """
    fields = _decode(block, data, "commit")
    try:
        parents, tree = tuple[Id, ...](fields["parents"]), fields["root"]
        commit = Commit(
            text_id(block),
            tuple(map(text_id, parents)),
            text_id(tree),
            fields["transaction"],
            fields["author"],
            fields["message"],
            fields["time"],
            fields["generation"],
            fields["trailers"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _malformed(block, "commit", error) from error
    commit.__dict__.update(cid=block, parent_cids=parents, tree_cid=tree)
    return commit


def object_kind(block: Id, data: bytes) -> str:
    """What a block holds: `record`, `node`, `commit` or `vector`.

    Raises:
        CorruptObjectError: the bytes are not an object of this format.
    """
    if is_vector(block):
        return "vector"
    kind = fields_of(block, data).get("kind")
    if kind not in ("record", "node", "commit"):
        raise CorruptObjectError(f"object {text_id(block)} is of the unknown kind {kind!r}")
    return kind


def canonical(block: Id, data: bytes) -> bytes:
    """The one canonical encoding of a DAG-CBOR block.

    Raises:
        CorruptObjectError: the bytes are not an object of this format.
    """
    return _encode(fields_of(block, data))


def vector_floats(values: object, where: str) -> bytes:
    """A vector as little-endian float32.

    Args:
        values: a NumPy array of shape `(dimension,)` or a sequence of numbers.
        where: its name in the message.

    Raises:
        ValidationError: it is empty, has more than one axis, or holds something that is not
            a finite float32.
    """
    import numpy as np

    try:
        if isinstance(values, list | tuple):
            numbers = cast("Sequence[float]", values)
            if bool in map(type, numbers):
                raise ValidationError(f"{where} holds true or false, which are not numbers")
            flat = vector_of_floats(struct.pack(f"<{len(numbers)}f", *numbers))
        elif isinstance(values, np.ndarray) and cast("Vector", values).dtype == np.float32:
            flat = cast("Vector", values)
        else:
            if np.asarray(values).dtype.kind in "bSU":
                raise ValidationError(f"{where} holds truth values or texts, not numbers")
            with np.errstate(over="ignore"):
                flat = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError, struct.error) as error:
        if isinstance(error, ValidationError):
            raise
        raise ValidationError(f"{where} is not a vector of float32 numbers: {error}") from error
    if flat.ndim != 1:
        raise ValidationError(f"{where} has the shape {flat.shape}; a vector has one axis")
    if not flat.size:
        raise ValidationError(f"{where} is empty; a vector has at least one number")
    if not np.isfinite(flat).all():
        raise ValidationError(f"{where} holds a number that is not finite in float32")
    return flat.astype("<f4", copy=False).tobytes()


def vector_of_floats(floats: bytes) -> "Vector":
    """The inverse of `vector_floats`: a read-only float32 array of shape `(dimension,)`."""
    import numpy as np

    return np.frombuffer(floats, dtype="<f4")


def encode_vector(floats: bytes, salt: bytes) -> bytes:
    """The raw block of a vector: its floats, then 16 bytes of salt."""
    return floats + salt


def decode_vector(block: Id, data: bytes) -> "Vector":
    """Read the raw block of a vector into a read-only float32 array of shape `(dimension,)`.

    Raises:
        CorruptObjectError: the bytes are not a vector.
    """
    size = len(data) - SALT_BYTES
    if size <= 0 or size % 4:
        raise _malformed(block, "vector", f"{len(data)} bytes are not float32 numbers and a salt")
    return vector_of_floats(data[:size])


def _encode(block: dict[str, Any]) -> bytes:
    return libipld.encode_dag_cbor(block)


def fields_of(block: Id, data: bytes) -> dict[str, Any]:
    """The fields of a DAG-CBOR block, links as bytes.

    Raises:
        CorruptObjectError: the bytes are not a DAG-CBOR map.
    """
    try:
        fields = cast("object", libipld.decode_dag_cbor(data))
    except (ValueError, RecursionError) as error:
        raise CorruptObjectError(
            f"object {text_id(block)} is not valid DAG-CBOR: {error}"
        ) from error
    if not isinstance(fields, dict):
        raise CorruptObjectError(f"object {text_id(block)} is not a map")
    return cast("dict[str, Any]", fields)


def _decode(block: Id, data: bytes, kind: str) -> dict[str, Any]:
    fields = fields_of(block, data)
    if fields.get("kind") != kind:
        raise CorruptObjectError(
            f"object {text_id(block)} is a {fields.get('kind')!r} where a {kind} belongs"
        )
    return fields


def _malformed(block: Id, kind: str, why: Exception | str) -> CorruptObjectError:
    said = f"it has no field {why}" if isinstance(why, KeyError) else why
    return CorruptObjectError(f"object {text_id(block)} does not have the form of a {kind}: {said}")

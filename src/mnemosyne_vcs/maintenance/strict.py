"""The strict form of a block, which `verify` and everything that receives blocks require.

Reading the store's own blocks only needs their hash to be right (`objects`). Bytes of
unknown origin must also be in canonical encoding, and follow the schema of their kind exactly;
`docs/format` is the normative text.
"""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeAlias, cast

from mnemosyne_vcs.errors import CorruptObjectError, ValidationError
from mnemosyne_vcs.format.objects import (
    canonical,
    check_id,
    common_prefix,
    decode_vector,
    fields_of,
    is_vector,
    object_kind,
)
from mnemosyne_vcs.format.validation import (
    MAX_INTEGER,
    MIN_INTEGER,
    check_content,
    check_key,
    check_text,
)
from mnemosyne_vcs.ids import DAG_CBOR, ID_BYTES, RAW, Id, text_id
from mnemosyne_vcs.tree.edit import LONGEST, cut

__all__ = ["MAX_LEVEL", "MAX_PARENTS", "check_block"]

MAX_LEVEL = 255
MAX_PARENTS = 2

_Check: TypeAlias = Callable[[Any, str], object]
"""Raises a `ValidationError` if a value is not valid in the named place."""

_HEX = re.compile("[0-9a-f]{32}")
_LINK_STARTS = {"dag-cbor": DAG_CBOR, "raw": RAW}


def check_block(block: Id, data: bytes) -> str:
    """Check hash, canonical encoding and schema of a block.

    Relations between blocks are not checked: whether its links lead to something, and whether a
    node's children and a commit's parents agree with it.

    Args:
        block: the id.
        data: its bytes.

    Returns:
        The kind: `record`, `node`, `commit` or `vector`.

    Raises:
        CorruptObjectError: it is not valid; the message names the id and what is wrong.
    """
    check_id(block, data)
    if is_vector(block):
        _check_vector(block, data)
        return "vector"
    kind = object_kind(block, data)
    if canonical(block, data) != data:
        raise CorruptObjectError(f"{kind} {text_id(block)} is not in canonical form")
    try:
        _KINDS[kind](fields_of(block, data))
    except ValidationError as error:
        raise CorruptObjectError(f"{kind} {text_id(block)} breaks the format: {error}") from error
    return kind


def _check_vector(block: Id, data: bytes) -> None:
    import numpy as np

    if not np.isfinite(decode_vector(block, data)).all():
        raise CorruptObjectError(f"vector {text_id(block)} holds a number that is not finite")


def _check_record(fields: dict[str, Any]) -> None:
    _fields(fields, "the record", _RECORD, _RECORD_OPTIONS)


def _check_node(fields: dict[str, Any]) -> None:
    level = fields.get("level")
    _fields(fields, "the node", _NODE | {"counts": _counts} if level else _NODE)
    suffixes, links, counts = fields["keys"], fields["links"], fields.get("counts")
    sizes = {len(suffixes), len(links), len(suffixes if counts is None else counts)}
    if len(sizes) > 1:
        raise ValidationError(f"keys, links and counts differ in number: {sorted(sizes)}")
    if len(suffixes) > LONGEST:
        raise ValidationError(f"it has {len(suffixes)} entries; at most {LONGEST} are allowed")
    if level and not suffixes:
        raise ValidationError(f"it has no entries at level {level}")
    keys = [check_key(fields["prefix"] + suffix) for suffix in suffixes]
    for before, after in pairwise(keys):
        if before >= after:
            raise ValidationError(f"its keys do not ascend: {after!r} follows {before!r}")
    shared = common_prefix(keys[0], keys[-1]) if keys else ""
    if fields["prefix"] != shared:
        raise ValidationError(f"its prefix is {fields['prefix']!r}; its keys share {shared!r}")
    if cut(fields["level"], keys, 0) != len(keys):
        raise ValidationError(f"its {len(keys)} entries are more than the rule puts in one node")


def _check_commit(fields: dict[str, Any]) -> None:
    _fields(fields, "the commit", _COMMIT)
    parents = fields["parents"]
    if len(parents) > MAX_PARENTS or len(set(parents)) < len(parents):
        raise ValidationError(f"it has {len(parents)} parents; at most {MAX_PARENTS} may differ")
    if bool(parents) != bool(fields["generation"]):
        raise ValidationError(
            f"its generation is {fields['generation']} and it has {len(parents)} parents"
        )


def _fields(
    value: object,
    where: str,
    required: Mapping[str, _Check],
    optional: Mapping[str, _Check] | None = None,
) -> None:
    known = {**required, **(optional or {})}
    items = _map(value, where)
    for name in required:
        if name not in items:
            raise ValidationError(f"{where} has no field {name!r}")
    for name, item in items.items():
        if name not in known:
            raise ValidationError(f"{where} has the unknown field {name!r}")
        known[name](item, name)


def _map(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValidationError(f"{where} is not a map: {value!r:.80}")
    return cast("dict[str, Any]", value)


def _list(value: object, where: str, each: _Check) -> None:
    if not isinstance(value, list):
        raise ValidationError(f"{where} is not a list: {value!r:.80}")
    for index, item in enumerate(cast("list[object]", value)):
        each(item, f"{where}[{index}]")


def _hex(value: object, where: str) -> None:
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise ValidationError(f"{where} is not 32 lower-case hex digits: {value!r:.80}")


def _integer(lowest: int) -> _Check:
    def check(value: object, where: str) -> None:
        if type(value) is not int or not lowest <= value <= MAX_INTEGER:
            raise ValidationError(
                f"{where} is not an integer from {lowest} to 2**63-1: {value!r:.80}"
            )

    return check


def _link(codec: str) -> _Check:
    start = _LINK_STARTS[codec]

    def check(value: object, where: str) -> None:
        if not isinstance(value, bytes) or len(value) != ID_BYTES or value[:4] != start:
            raise ValidationError(f"{where} is not a link to a {codec} block: {value!r:.80}")

    return check


def _links(value: object, where: str) -> None:
    _list(value, where, _link("dag-cbor"))


def _texts(value: object, where: str) -> None:
    _list(value, where, check_text)


def _counts(value: object, where: str) -> None:
    _list(value, where, _integer(1))


def _key(value: object, _where: str) -> None:
    check_key(value)


def _level(value: object, where: str) -> None:
    if type(value) is not int or not 0 <= value <= MAX_LEVEL:
        raise ValidationError(f"{where} is not an integer from 0 to {MAX_LEVEL}: {value!r:.80}")


def _trailers(value: object, where: str) -> None:
    for name, item in _map(value, where).items():
        check_text(item, f"{where}.{name}")


def _vectors(value: object, where: str) -> None:
    vectors = _filled(_map(value, where), where)
    for name, item in vectors.items():
        _link("raw")(item, f"{where}[{name!r}]")


def _provenance(value: object, where: str) -> None:
    _filled(_map(value, where), where)
    _fields(value, where, {}, _PROVENANCE)


def _derived_from(value: object, where: str) -> None:
    _list(value, where, _source)
    _filled(value, where)


def _source(value: object, where: str) -> None:
    _fields(value, where, {"key": _key, "commit": check_text})


def _step(value: object, where: str) -> None:
    (_integer(MIN_INTEGER) if isinstance(value, int) else check_text)(value, where)


def _filled(value: Any, where: str) -> Any:
    if not value:
        raise ValidationError(f"{where} is empty; empty fields must be left out")
    return value


_RECORD: dict[str, _Check] = {
    "kind": check_text,
    "content": check_content,
    "transaction": _hex,
    "salt": _hex,
}
_RECORD_OPTIONS: dict[str, _Check] = {
    "vectors": _vectors,
    "embedder": check_text,
    "provenance": _provenance,
    "event_time": _integer(MIN_INTEGER),
    "moved_from": _key,
}
_PROVENANCE: dict[str, _Check] = {
    "source": check_text,
    "agent": check_text,
    "task": check_text,
    "step": _step,
    "tool_call": check_text,
    "observation": check_text,
    "run": check_text,
    "derived_from": _derived_from,
    "trace_id": check_text,
    "span_id": check_text,
    "note": check_text,
}
_NODE: dict[str, _Check] = {
    "kind": check_text,
    "level": _level,
    "prefix": check_text,
    "keys": _texts,
    "links": _links,
}
_COMMIT: dict[str, _Check] = {
    "kind": check_text,
    "parents": _links,
    "root": _link("dag-cbor"),
    "transaction": _hex,
    "author": check_text,
    "message": check_text,
    "time": _integer(0),
    "generation": _integer(0),
    "trailers": _trailers,
}
_KINDS = {"record": _check_record, "node": _check_node, "commit": _check_commit}

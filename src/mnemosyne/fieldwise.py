"""Three-way merging of one record: its content field by field, and what lies beside it."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from mnemosyne.model import Provenance
from mnemosyne.objects import Id, StoredRecord

if TYPE_CHECKING:
    from mnemosyne.model import Vector

__all__ = ["Load", "Missing", "merge_records", "same_json", "same_value"]

Load: TypeAlias = "Callable[[Id], Vector]"
"""Reads one vector."""


class Missing(Enum):
    """What stands for a value where there is none to compare with.

    Attributes:
        ABSENT: the field or record is not there.
        UNKNOWN: what was there cannot be told; it equals nothing, not even itself.
    """

    ABSENT = "absent"
    UNKNOWN = "unknown"


_Same: TypeAlias = Callable[[Any, Any], bool]


def same_json(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal in exact types: 1, 1.0 and true differ."""
    if type(a) is not type(b) or a is Missing.UNKNOWN:
        return False
    if isinstance(a, dict):
        mine, other = cast("dict[str, Any]", a), cast("dict[str, Any]", b)
        return mine.keys() == other.keys() and all(same_json(mine[k], other[k]) for k in mine)
    if isinstance(a, list):
        items, others = cast("list[Any]", a), cast("list[Any]", b)
        return len(items) == len(others) and all(map(same_json, items, others))
    return a == b


def same_value(a: StoredRecord, b: StoredRecord, load: Load) -> bool:
    """Whether two records say the same, wherever they come from: all but provenance and writer."""
    return (
        same_json(a.content, b.content)
        and a.embedder == b.embedder
        and a.event_time == b.event_time
        and a.vectors.keys() == b.vectors.keys()
        and all(_same_vector(a.vectors[name], b.vectors[name], load) for name in a.vectors)
    )


def merge_records(
    base: StoredRecord | Missing, ours: StoredRecord, theirs: StoredRecord, load: Load
) -> StoredRecord | tuple[str, ...]:
    """The record that has the changes of both sides.

    Objects in the content merge field by field, each vector, the embedder and the event time as
    a field of its own; lists and plain values are taken whole.

    Args:
        base: what both sides started from.
        ours: our version.
        theirs: their version.
        load: reads a vector.

    Returns:
        The merged record, with the facts of the provenance that both sides agree on and no
        writer; or the fields that clash: paths in the content with parts divided by dots, in
        parentheses what lies beside it and the content as a whole.
    """
    clashes: list[str] = []

    def same_vector(a: Id | Missing, b: Id | Missing) -> bool:
        if isinstance(a, bytes) and isinstance(b, bytes):
            return _same_vector(a, b, load)
        return same_json(a, b)

    def beside(name: str) -> Any:
        old, mine, other = (_or_absent(side, name) for side in (base, ours, theirs))
        merged: Any = _merge(old, mine, other, f"({name})", clashes, same_json)
        return None if merged is Missing.ABSENT else merged

    old = base if isinstance(base, Missing) else base.content
    content: Any = _merge(old, ours.content, theirs.content, "", clashes, same_json)
    vectors: dict[str, Id] = {}
    for name in sorted(ours.vectors.keys() | theirs.vectors.keys()):
        old = base if isinstance(base, Missing) else base.vectors.get(name, Missing.ABSENT)
        mine, other = (side.vectors.get(name, Missing.ABSENT) for side in (ours, theirs))
        field = f"(vector {name})" if name else "(embedding)"
        merged: Any = _merge(old, mine, other, field, clashes, same_vector)
        if merged is not Missing.ABSENT:
            vectors[name] = merged
    embedder, event_time = beside("embedder"), beside("event_time")
    if clashes:
        return tuple(clashes)
    provenance = _agreed(ours.provenance, theirs.provenance)
    return StoredRecord(content, "", vectors, embedder, provenance, event_time)


def _merge(base: Any, ours: Any, theirs: Any, path: str, clashes: list[str], same: _Same) -> Any:
    """One field as both sides have left it; a clash is noted."""
    if same(ours, theirs) or same(base, theirs):
        return ours
    if same(base, ours):
        return theirs
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        clashes.append(path or "(content)")
        return None
    mine, other = cast("dict[str, Any]", ours), cast("dict[str, Any]", theirs)
    return _merge_objects(base, mine, other, path, clashes)


def _merge_objects(
    base: Any, ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str, clashes: list[str]
) -> dict[str, Any]:
    known = cast("dict[str, Any]", base) if isinstance(base, dict) else {}
    unknown = Missing.UNKNOWN if base is Missing.UNKNOWN else Missing.ABSENT
    merged: dict[str, Any] = {}
    for name in sorted(ours.keys() | theirs.keys()):
        value: Any = _merge(
            known.get(name, unknown),
            ours.get(name, Missing.ABSENT),
            theirs.get(name, Missing.ABSENT),
            f"{path}.{name}" if path else name,
            clashes,
            same_json,
        )
        if value is not Missing.ABSENT:
            merged[name] = value
    return merged


def _or_absent(side: StoredRecord | Missing, name: str) -> Any:
    if isinstance(side, Missing):
        return side
    value = getattr(side, name)
    return Missing.ABSENT if value is None else value


def _same_vector(a: Id, b: Id, load: Load) -> bool:
    return a == b or load(a).tobytes() == load(b).tobytes()


def _agreed(ours: Provenance, theirs: Provenance) -> Provenance:
    if ours == theirs:
        return ours
    facts, others = ours.known(), theirs.known()
    return Provenance(**{k: v for k, v in facts.items() if others.get(k) == v})

"""Three-way merge of one record: the merged version, or the clashing fields."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from mnemosyne_vcs.format.objects import StoredRecord
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Provenance
from mnemosyne_vcs.transaction.changes import Draft, Held
from mnemosyne_vcs.values import Missing, same_json

if TYPE_CHECKING:
    from mnemosyne_vcs.model import Vector

__all__ = ["Load", "Version", "combine", "identical", "merge_records", "same_value"]


Load: TypeAlias = "Callable[[Id], Vector]"
"""Reads one vector."""


_Same: TypeAlias = Callable[[Any, Any], bool]


def same_value(a: StoredRecord, b: StoredRecord, load: Load) -> bool:
    """Whether two records are equal apart from provenance and writer."""
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
        parentheses the fields beside it and the content as a whole.
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
    """The merged value of one field; a clash is noted."""
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


@dataclass(frozen=True, slots=True)
class Version:
    """The record of one key in one of the three states of a merge.

    Attributes:
        key: the key.
        held: what the key holds.
        record: the record.
    """

    key: str
    held: Held | Missing
    record: StoredRecord | Missing

    def at(self, key: str) -> Held:
        """The version under a key, which may be another than its own."""
        if isinstance(self.held, Missing) or isinstance(self.record, Missing):
            return None
        if self.key == key:
            return self.held
        return Draft(replace(self.record, transaction="", moved_from=self.key), copy_vectors=True)

    def says(self, record: StoredRecord, load: Load) -> bool:
        """Whether it has the value of a record, ignoring the provenance."""
        return not isinstance(self.record, Missing) and same_value(self.record, record, load)

    @property
    def provenance(self) -> Provenance | None:
        """Its provenance; None if there is no record."""
        return None if isinstance(self.record, Missing) else self.record.provenance


def combine(
    key: str,
    base: Version,
    ours: Version,
    theirs: Version,
    load: Load,
    names: tuple[str, str] | None = None,
) -> Held | tuple[str, ...]:
    """The merged state of a key that both sides have changed.

    Args:
        key: the key.
        base: what both started from, perhaps under another key.
        ours: our version; under another key than the base if our side moved it.
        theirs: their version, in the same way.
        load: reads a vector.
        names: ids of the commits that hold ours and theirs, for the provenance of a record that
            is put together from both.

    Returns:
        The merged state, or the fields that clash; no fields if the whole record does.
    """
    if ours.held is Missing.UNKNOWN:
        return ()
    if isinstance(ours.record, Missing) or isinstance(theirs.record, Missing):
        return _deleted(base, ours, theirs, load)
    if identical(ours.held, theirs.held):
        return ours.at(key)
    merged = merge_records(base.record, ours.record, theirs.record, load)
    if isinstance(merged, tuple):
        return merged
    whole = [v for v in (ours, theirs) if v.says(merged, load)]
    if not whole:
        moved_onto = base.key == key and (ours.record.moved_from or theirs.record.moved_from)
        return () if moved_onto else _put_together(key, merged, ours, theirs, names)
    return (whole[0] if len(whole) == 1 else _either(key, base, ours, theirs, load)).at(key)


def identical(a: Held | Missing, b: Held | Missing) -> bool:
    """Whether both sides have the same block, or nothing."""
    return a is not Missing.UNKNOWN and (a is b or (isinstance(a, bytes) and a == b))


def _deleted(base: Version, ours: Version, theirs: Version, load: Load) -> tuple[()] | None:
    """The merge with a side that deleted the record: delete, unless the other changed it."""
    kept = ours if theirs.held is None else theirs
    if isinstance(kept.record, Missing):
        return None
    return None if kept.key == base.key and base.says(kept.record, load) else ()


def _either(key: str, base: Version, ours: Version, theirs: Version, load: Load) -> Version:
    """The record to take of two with the same value, independent of their sides.

    Prefers the one under the key, then the one whose provenance is new, then the lower id.
    """
    if ours.key != theirs.key:
        return ours if ours.key == key else theirs
    if not isinstance(base.record, Missing) and ours.says(base.record, load):
        changed = [v for v in (ours, theirs) if v.provenance != base.provenance]
        if len(changed) == 1:
            return changed[0]
    if isinstance(ours.held, bytes) and isinstance(theirs.held, bytes):
        return ours if ours.held < theirs.held else theirs
    return ours


def _put_together(
    key: str,
    merged: StoredRecord,
    ours: Version,
    theirs: Version,
    names: tuple[str, str] | None,
) -> Draft:
    """A merged record that is neither side's, to be written under a key."""
    provenance = merged.provenance
    if names is not None:
        sources = sorted(zip((ours.key, theirs.key), names, strict=True))
        provenance = replace(provenance, derived_from=tuple(sources))
    across = ours.key != key or theirs.key != key
    return Draft(replace(merged, provenance=provenance), copy_vectors=across)

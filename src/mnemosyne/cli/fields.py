"""Which fields of a record a change touched."""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from mnemosyne.model import JSON, Change, Record

__all__ = ["FieldChange", "field_changes"]


class FieldChange(NamedTuple):
    """One field that differs between two versions of a record.

    Attributes:
        field: its path in the content, parts divided by dots; empty for the content as a whole;
            in parentheses what lies beside the content, such as `(provenance.source)`.
        before: its value in the first version, None if it is not there.
        after: its value in the second version, None if it is not there.
        kind: `added`, `changed` or `removed`.
    """

    field: str
    before: JSON
    after: JSON
    kind: str


_MISSING: Any = object()


def field_changes(change: Change) -> list[FieldChange]:
    """The fields that differ between the two records of a change, if it has both.

    Objects are compared field by field; lists and plain values as a whole.
    """
    if change.before is None or change.after is None:
        return []
    content = _compare("", change.before.content, change.after.content)
    beside = _compare("", _beside(change.before), _beside(change.after))
    aside = (each._replace(field=f"({each.field})") for each in beside)
    return [*content, *aside, *_vector_changes(change.before, change.after)]


def _beside(record: Record) -> dict[str, JSON]:
    known = record.provenance.known()
    if "derived_from" in known:
        known["derived_from"] = [list(origin) for origin in known["derived_from"]]
    values: dict[str, JSON] = {f"provenance.{name}": value for name, value in known.items()}
    if record.embedder is not None:
        values["embedder"] = record.embedder
    if record.event_time is not None:
        values["event_time"] = record.event_time
    return values


def _vector_changes(before: Record, after: Record) -> Iterator[FieldChange]:
    old, new = before.vectors, after.vectors
    for name in sorted(old.keys() | new.keys()):
        field = f"(vector {name})" if name else "(embedding)"
        if name not in old:
            yield FieldChange(field, None, None, "added")
        elif name not in new:
            yield FieldChange(field, None, None, "removed")
        elif old.ids[name] != new.ids[name] and old[name].tobytes() != new[name].tobytes():
            yield FieldChange(field, None, None, "changed")


def _compare(path: str, before: Any, after: Any) -> Iterator[FieldChange]:
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        for name in [*old, *(name for name in new if name not in old)]:
            below = f"{path}.{name}" if path else name
            yield from _compare(below, old.get(name, _MISSING), new.get(name, _MISSING))
    elif before is _MISSING:
        yield FieldChange(path, None, after, "added")
    elif after is _MISSING:
        yield FieldChange(path, before, None, "removed")
    elif not _equal(before, after):
        yield FieldChange(path, before, after, "changed")


def _equal(a: Any, b: Any) -> bool:
    """Equal as JSON values are: 1, 1.0 and true differ."""
    return a == b and repr(a) == repr(b)

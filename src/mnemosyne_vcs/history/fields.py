"""The fields of a record, and those that a change touched."""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from mnemosyne_vcs.model import JSON, Change, Record
from mnemosyne_vcs.values import Missing, content_at, same_json

__all__ = ["FieldChange", "field_changes", "value_at"]


class FieldChange(NamedTuple):
    """One field that differs between two versions of a record.

    Attributes:
        field: its path in the content, parts divided by dots; empty for the content as a whole;
            in parentheses for a field beside the content, such as `(provenance.source)`.
        before: its value in the first version, None if it is not there.
        after: its value in the second version, None if it is not there.
        kind: `added`, `changed` or `removed`.
    """

    field: str
    before: JSON
    after: JSON
    kind: str


def field_changes(change: Change) -> list[FieldChange]:
    """The fields that differ between the two records of a change, if it has both.

    Objects are compared field by field; lists and plain values as a whole. The
    numbers of vectors are not shown.
    """
    if change.before is None or change.after is None:
        return []
    content = _compare("", change.before.content, change.after.content)
    beside = _compare("", _beside(change.before), _beside(change.after))
    aside = (each._replace(field=f"({each.field})") for each in beside)
    return [*content, *aside, *_vector_changes(change.before, change.after)]


def value_at(record: Record, field: str) -> Any:
    """The value of a field of a record, `Missing.ABSENT` if it does not have the field.

    Args:
        record: the record.
        field: a path in the content, parts divided by dots, list items by number; empty for
            the content as a whole; or in parentheses a field beside it, as `field_changes`
            names it: `(provenance.agent)`, `(embedder)`, `(embedding)`, `(vector NAME)`.
    """
    if not (field.startswith("(") and field.endswith(")")):
        return content_at(record.content, field.split(".") if field else [])
    name = field[1:-1]
    if name == "embedding" or name.startswith("vector "):
        vector = record.vectors.get(name.removeprefix("vector ") if name != "embedding" else "")
        return Missing.ABSENT if vector is None else vector.tobytes()
    return _beside(record).get(name, Missing.ABSENT)


def _beside(record: Record) -> dict[str, JSON]:
    known = record.provenance.as_json()
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
            yield from _compare(below, old.get(name, Missing.ABSENT), new.get(name, Missing.ABSENT))
    elif before is Missing.ABSENT:
        yield FieldChange(path, None, after, "added")
    elif after is Missing.ABSENT:
        yield FieldChange(path, before, None, "removed")
    elif not same_json(before, after):
        yield FieldChange(path, before, after, "changed")

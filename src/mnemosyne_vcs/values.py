"""Comparing JSON values by field, in exact types, with markers for missing values."""

from enum import Enum
from typing import Any, cast

from mnemosyne_vcs.model import JSON

__all__ = ["Missing", "content_at", "same_json"]


class Missing(Enum):
    """A marker in place of a value that cannot be compared.

    Attributes:
        ABSENT: the field or record is not there.
        UNKNOWN: the value cannot be determined; it equals nothing, not even itself.
    """

    ABSENT = "absent"
    UNKNOWN = "unknown"


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


def content_at(content: JSON, path: list[str]) -> Any:
    """The value at a path in a content, list items by number; or `Missing.ABSENT`."""
    value: object = content
    for part in path:
        if isinstance(value, dict):
            value = cast("dict[str, object]", value).get(part, Missing.ABSENT)
        elif isinstance(value, list) and part.isdecimal():
            items = cast("list[object]", value)
            value = items[int(part)] if int(part) < len(items) else Missing.ABSENT
        else:
            return Missing.ABSENT
    return value

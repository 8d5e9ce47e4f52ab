"""What the format can hold: keys, names and the JSON values of records.

Every check returns the value in the form in which it is stored, or raises `ValidationError`.
"""

import math
import re
from collections.abc import Mapping
from typing import cast

from mnemosyne.errors import ValidationError
from mnemosyne.model import JSON, Provenance

__all__ = [
    "MAX_DEPTH",
    "MAX_KEY_BYTES",
    "check_content",
    "check_key",
    "check_name",
    "check_provenance",
    "check_text",
]

MAX_KEY_BYTES = 4096
MAX_DEPTH = 64
MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_NAME = re.compile(r"[^\s~^:?*\[\\@{}\x00-\x1f\x7f]+")


def check_key(key: object) -> str:
    """Check a record key: 1 to 4,096 bytes of UTF-8 without control characters.

    Raises:
        ValidationError: the key is not one; the message shows it.
    """
    if not isinstance(key, str):
        raise ValidationError(f"a key is a string, not {type(key).__name__}: {key!r}")
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        raise ValidationError(f"key {_shown(key)} holds a lone surrogate") from None
    if not 1 <= size <= MAX_KEY_BYTES:
        raise ValidationError(
            f"key {_shown(key)} has {size} bytes of UTF-8; 1 to {MAX_KEY_BYTES} are allowed"
        )
    if found := _CONTROL.search(key):
        raise ValidationError(f"key {_shown(key)} holds the control character {found[0]!r}")
    return str(key)


def check_name(name: str, what: str) -> str:
    """Check the name of a branch or tag.

    Args:
        name: the name; `/` separates its parts.
        what: what it names, for the message.

    Raises:
        ValidationError: the name is empty, longer than 255 bytes, has an empty part, or holds
            white space, control characters or one of `~ ^ : ? * [ ] { } @` and the backslash.
    """
    parts_ok = bool(name) and all(name.split("/")) and ".." not in name and name[0] != "-"
    if not parts_ok or not _NAME.fullmatch(name) or len(check_text(name, what).encode()) > 255:
        raise ValidationError(
            f"{name!r} is no name for a {what}: use letters, digits, '-', '_', '.' and '/'"
        )
    return name


def check_text(value: object, where: str) -> str:
    """Check a plain string.

    Args:
        value: the string.
        where: where it stands, for the message.

    Raises:
        ValidationError: it is no string or cannot be encoded as UTF-8.
    """
    if not isinstance(value, str):
        raise ValidationError(f"{where} is a string, not {type(value).__name__}: {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValidationError(f"{where} holds a lone surrogate: {_shown(value)}") from None
    return str(value)


def check_content(value: object, path: str = "content") -> JSON:
    """Copy a JSON value, in exact types.

    Subclasses of `str`, `int` and `float` are converted and -0.0 becomes 0.0.

    Args:
        value: None, a bool, an integer in -2**63 to 2**63-1, a finite float, a string, or lists
            and string-keyed mappings of them, at most 64 levels deep.
        path: the place of the value, for the message.

    Raises:
        ValidationError: something inside is none of these; the message names its path.
    """
    return _copy(value, path, 0)


def check_provenance(provenance: Provenance) -> Provenance:
    """Check the fields of a provenance.

    Raises:
        ValidationError: a field is no text (`step`: no text or integer; `derived_from`: no pairs
            of key and commit id); the message names it.
    """
    known = provenance.known()
    for name, value in known.items():
        where = f"provenance.{name}"
        if name == "derived_from":
            pairs = cast("list[tuple[object, ...]]", list(value))
            if any(len(pair) != 2 for pair in pairs):
                raise ValidationError(f"{where} holds pairs of key and commit id, not {value!r}")
            known[name] = tuple(
                (check_key(key), check_text(commit, where)) for key, commit in pairs
            )
        elif name == "step" and isinstance(value, int) and not isinstance(value, bool):
            known[name] = check_content(value, where)
        else:
            known[name] = check_text(value, where)
    return Provenance(**known) if known else provenance


def _copy(value: object, path: str, depth: int) -> JSON:
    match value:
        case None | bool():
            return value
        case str():
            return check_text(value, path)
        case int():
            if not MIN_INTEGER <= value <= MAX_INTEGER:
                raise ValidationError(f"{path} is {value}, outside -2**63 to 2**63-1")
            return int(value)
        case float():
            if not math.isfinite(value):
                raise ValidationError(f"{path} is {value}; only finite numbers can be stored")
            return float(value) + 0.0
        case list() | Mapping():
            if depth == MAX_DEPTH:
                raise ValidationError(f"{path} lies deeper than {MAX_DEPTH} levels")
            if isinstance(value, list):
                items = cast("list[object]", value)
                return [_copy(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(items)]
            pairs = cast("Mapping[object, object]", value)
            return {
                _field(name, path): _copy(item, f"{path}.{name}", depth + 1)
                for name, item in pairs.items()
            }
        case _:
            raise ValidationError(
                f"{path} is a {type(value).__name__}, which is no JSON value: {_shown(value)}"
            )


def _field(name: object, path: str) -> str:
    if not isinstance(name, str):
        raise ValidationError(f"{path} has the key {name!r}; keys of JSON objects are strings")
    return check_text(name, f"a key of {path}")


def _shown(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"

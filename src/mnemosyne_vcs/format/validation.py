"""Limits of the format: keys, names and the JSON values of records.

Every check returns the value in the form in which it is stored, or raises `ValidationError`.
"""

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence, Sized
from datetime import UTC, datetime, timedelta
from typing import NoReturn, cast

from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.model import EPOCH, JSON, Provenance

__all__ = [
    "MAX_DEPTH",
    "MAX_KEY_BYTES",
    "check_content",
    "check_integer",
    "check_key",
    "check_limit",
    "check_moment",
    "check_name",
    "check_provenance",
    "check_text",
    "milliseconds_of",
    "parse_json",
    "record_id",
]

MAX_KEY_BYTES = 4096
MAX_DEPTH = 64
MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1
MIN_MOMENT, MAX_MOMENT = (
    (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
    for moment in (datetime.min, datetime.max)
)
"""The first and the last millisecond that a datetime can be, in years 1 and 9999."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_NAME = re.compile(r"[^\s~^:?*\[\]\\@{}\x00-\x1f\x7f-\x9f]+")


def record_id(key: str) -> str | None:
    """The record id at the end of a key that begins with `/`; None for other keys.

    Keys that begin with `/` are those of CrewAI's memory, `/scope/…/id`. An id is under one
    key of a branch. A record that is gone from one key and is there under another one with the
    same id was moved.
    """
    return key[key.rfind("/") + 1 :] or None if key.startswith("/") else None


def check_key(key: object) -> str:
    """Check a record key: 1 to 4,096 bytes of UTF-8 without control characters.

    Raises:
        ValidationError: it is not a valid key; the message shows it.
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
    return str.__str__(key)


def check_name(name: str, what: str) -> str:
    """Check the name of a branch or tag.

    Args:
        name: the name; `/` separates its parts.
        what: what it names, for the message.

    Raises:
        ValidationError: the name is empty, longer than 255 bytes, has an empty part, starts with
            `-`, or holds `..`, white space, control characters or one of `~ ^ : ? * [ ] { } @` and
            the backslash.
    """
    check_text(name, f"the name of a {what}")
    parts_ok = bool(name) and all(name.split("/")) and ".." not in name and name[0] != "-"
    if not parts_ok or not _NAME.fullmatch(name) or len(name.encode()) > 255:
        raise ValidationError(
            f"{name!r} is not a valid {what} name: use letters, digits, '-', '_', '.' and '/'"
        )
    return name


def check_text(value: object, where: str) -> str:
    """Check a plain string.

    Args:
        value: the string.
        where: its name in the message.

    Raises:
        ValidationError: it is not a string, or cannot be encoded as UTF-8.
    """
    if not isinstance(value, str):
        raise ValidationError(f"{where} is a string, not {type(value).__name__}: {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValidationError(f"{where} holds a lone surrogate: {_shown(value)}") from None
    return str.__str__(value)


def check_trailer(value: object) -> tuple[str, str]:
    """Check a pair that names a trailer and its value.

    Raises:
        ValidationError: it is not a pair of two texts.
    """
    if not (isinstance(value, tuple) and len(cast("tuple[object, ...]", value)) == 2):
        raise ValidationError(f"trailer is a pair of a name and a value, not {value!r:.80}")
    name, text = cast("tuple[object, object]", value)
    return check_text(name, "a trailer's name"), check_text(text, "a trailer's value")


def check_integer(value: object, where: str) -> int:
    """Check an integer in -2**63 to 2**63-1.

    Args:
        value: the integer.
        where: its name in the message.

    Raises:
        ValidationError: it is not an integer, or outside that range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValidationError(f"{where} is an integer, not {type(value).__name__}: {_shown(value)}")
    if not MIN_INTEGER <= value <= MAX_INTEGER:
        raise ValidationError(f"{where} is {value}, outside -2**63 to 2**63-1")
    return int(value)


def check_limit(limit: object) -> int | None:
    """Check the greatest number of things that is wanted; None means all.

    Returns:
        The limit, at most the greatest number of things that there can be.

    Raises:
        ValidationError: it is not an integer, or less than 0.
    """
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise ValidationError(f"limit is a number from 0 up, or None, not {limit!r:.80}")
    return min(limit, sys.maxsize)


def check_moment(moment: object, where: str) -> int:
    """Check a moment: a datetime, of which a naive one means UTC, or UTC milliseconds.

    Fractions of a millisecond are cut off.

    Args:
        moment: the moment.
        where: its name in the message.

    Returns:
        UTC milliseconds.

    Raises:
        ValidationError: it is neither, or not in the years 1 to 9999.
    """
    if isinstance(moment, datetime):
        milliseconds = milliseconds_of(moment)
    else:
        milliseconds = check_integer(moment, where)
    if not MIN_MOMENT <= milliseconds <= MAX_MOMENT:
        raise ValidationError(
            f"{where} is {milliseconds}, which is not in the years 1 to 9999; give a datetime, or "
            "UTC milliseconds since 1970"
        )
    return milliseconds


def parse_json(text: str | bytes) -> JSON:
    """Read a JSON text; a name may occur only once in an object.

    Raises:
        ValueError: it is not JSON, or nested too deeply; the message says where.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refused)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r:.80} occurs twice in one object")
    return named


def _refused(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def milliseconds_of(moment: datetime) -> int:
    """The UTC milliseconds of a datetime; a naive one means UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(milliseconds=1)


class _MisfitError(Exception):
    """A value that cannot be stored, with the parts of its path, innermost first."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.path: list[str] = []


def check_content(value: object, path: str = "content") -> JSON:
    """Copy a JSON value, in exact types.

    Subclasses of `str`, `int` and `float` are converted and -0.0 becomes 0.0.

    Args:
        value: None, a bool, an integer in -2**63 to 2**63-1, a finite float, a string, or lists
            and string-keyed mappings of them, at most 64 levels deep.
        path: the place of the value, for the message.

    Raises:
        ValidationError: a value inside is of another type; the message names its path.
    """
    try:
        return _copy(value, 0)
    except _MisfitError as misfit:
        place = path + "".join(reversed(misfit.path))
        raise ValidationError(f"{place} {misfit.problem}") from None


def _copy(value: object, depth: int) -> JSON:
    if isinstance(value, str):
        return _copied_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return _copied_mapping(cast("dict[object, object]", value), depth + 1)
    if isinstance(value, list):
        return _copied_list(cast("list[object]", value), depth + 1)
    if isinstance(value, Mapping):
        return _copied_mapping(cast("Mapping[object, object]", value), depth + 1)
    return _copied_number(value)


def _copied_number(value: object) -> int | float:
    match value:
        case int():
            if not MIN_INTEGER <= value <= MAX_INTEGER:
                raise _MisfitError(f"is {value}, outside -2**63 to 2**63-1")
            return int(value)
        case float():
            if not math.isfinite(value):
                raise _MisfitError(f"is {value}; only finite numbers can be stored")
            return float(value) + 0.0
        case _:
            raise _MisfitError(
                f"is a {type(value).__name__}, which is not a JSON value: {_shown(value)}"
            )


def _copied_text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _MisfitError(f"holds a lone surrogate: {_shown(value)}") from None
    return value if type(value) is str else str.__str__(value)


def _copied_list(items: list[object], depth: int) -> JSON:
    _check_depth(depth)
    copied: list[JSON] = []
    try:
        for item in items:
            copied.append(_copy(item, depth))
    except _MisfitError as misfit:
        misfit.path.append(f"[{len(copied)}]")
        raise
    return copied


def _copied_mapping(pairs: Mapping[object, object], depth: int) -> JSON:
    _check_depth(depth)
    copied: dict[str, JSON] = {}
    for name, item in pairs.items():
        if type(name) is str and type(item) is str and name.isascii() and item.isascii():
            copied[name] = item
            continue
        if not isinstance(name, str):
            raise _MisfitError(f"has the key {name!r}; keys of JSON objects are strings")
        try:
            copied[_copied_text(name)] = _copy(item, depth)
        except _MisfitError as misfit:
            misfit.path.append("." + name.encode(errors="backslashreplace").decode())
            raise
    return copied


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _MisfitError(f"is deeper than {MAX_DEPTH} levels")


def check_provenance(provenance: Provenance) -> Provenance:
    """Check the fields of a provenance.

    Raises:
        ValidationError: a field is not text (`step`: text or integer; `derived_from`: pairs of
            key and commit id), or it is not a `Provenance`; the message names it.
    """
    if not isinstance(provenance, Provenance):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValidationError(
            f"provenance is a Provenance, not {type(provenance).__name__}: {_shown(provenance)}"
        )
    known = provenance.known()
    for name, value in known.items():
        where = f"provenance.{name}"
        if name == "derived_from":
            known[name] = _sources(value, where)
        elif name == "step" and isinstance(value, int):
            known[name] = check_integer(value, where)
        else:
            known[name] = check_text(value, where)
    return Provenance(**known) if known else provenance


def _sources(value: object, where: str) -> tuple[tuple[str, str], ...]:
    refused = ValidationError(f"{where} holds pairs of key and commit id, not {_shown(value)}")
    if not isinstance(value, list | tuple):
        raise refused
    pairs = cast("Sequence[object]", value)
    if not all(isinstance(pair, list | tuple) and len(cast("Sized", pair)) == 2 for pair in pairs):
        raise refused
    known = cast("Sequence[tuple[object, object]]", pairs)
    return tuple((check_key(key), check_text(commit, where)) for key, commit in known)


def _shown(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"

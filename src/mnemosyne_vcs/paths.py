"""Paths from people and configurations.

Mnemosyne creates missing files. So a path that surely means something else, such as `~/a.mnem` or
a URL in quotes, is refused: it would become an empty file in an unexpected place.
"""

import os
import re
from typing import Any, cast

from mnemosyne_vcs.errors import NotFoundError, ValidationError

__all__ = ["absolute", "path_text", "require_meant", "require_trimmed"]

_HOME = re.compile(r"~(?:[^/\\]*[/\\]|$)")
_VARIABLE = re.compile(r"(?:\$\w+|%\w+%)(?:[/\\]|$)|.*\$\{\w+\}", re.DOTALL)
_CONTROL = re.compile(r"[\0-\x1f\x7f]")
_QUOTES = "\"'`“”‘’«»"


def path_text(path: object, what: str = "a path") -> str:
    """The text of a path or URL.

    Args:
        path: the path.
        what: its name in the error.

    Raises:
        ValidationError: it is neither a str nor a path of str.
    """
    text = os.fspath(cast("os.PathLike[Any]", path)) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise ValidationError(f"{what} must be a str or a pathlib.Path, not {text!r:.60}")
    return text


def require_trimmed(text: str, shown: str) -> None:
    """Refuse a path or URL with quotes, blanks or control characters around it.

    Args:
        text: the path or URL.
        shown: what to show of it; without a password.

    Raises:
        ValidationError: it has some.
    """
    if "\0" in text:
        raise ValidationError(f"{shown!r}: a path cannot contain NUL")
    for place, character in (("begins", text[:1]), ("ends", text[-1:])):
        if character in _QUOTES and character:
            raise ValidationError(
                f"{shown!r} {place} with a quotation mark; pass it without the quotes "
                "(`docker --env-file` and some other tools keep them)"
            )
        if character.isspace() or character == "\ufeff":
            raise ValidationError(
                f"{shown!r} {place} with white space; pass it without that (a file with Windows "
                "line endings leaves \\r at the end)"
            )
    if _CONTROL.search(text):
        raise ValidationError(f"{shown!r} contains a control character; remove it")


def require_meant(path: str, shown: str) -> None:
    """Refuse a path that surely means something else.

    Args:
        path: the path.
        shown: what to show of it; without a password.

    Raises:
        ValidationError: something in it needs expansion, or it is a URL or a directory.
    """
    if _HOME.match(path):
        raise ValidationError(
            f"{shown!r}: the path begins with '~', which only a shell expands; pass "
            "os.path.expanduser(path), or the whole path (a directory of that name here is ./~)"
        )
    if _VARIABLE.match(path):
        raise ValidationError(
            f"{shown!r}: the path holds a variable, which only a shell expands; pass "
            "os.path.expandvars(path), or the whole path"
        )
    if "://" in path:
        raise ValidationError(f"{shown!r} holds '://', but is not a known URL")
    if path.endswith(("/", os.sep)):
        raise ValidationError(f"{shown!r} names a directory; name a file in it")


def absolute(path: str) -> str:
    """The absolute path; links in it stay as they are.

    Raises:
        NotFoundError: the path is relative, and the current directory is gone.
    """
    try:
        return os.path.abspath(path)  # noqa: PTH100 - links stay as they are
    except OSError as error:
        raise NotFoundError(
            f"{path!r} is relative to the current directory, which is gone ({error.strerror}); "
            "change to a directory that exists, or give an absolute path"
        ) from error

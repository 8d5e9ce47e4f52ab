"""What every engine says in the same words."""

import re

from mnemosyne.engine.base import RefUpdate
from mnemosyne.errors import RefConflictError
from mnemosyne.model import ReflogEntry
from mnemosyne.objects import Id, text_id

__all__ = ["ref_conflict", "reflog_entry", "without_password"]

_BEFORE_HOST = re.compile(r"(?<=://)([^/@:?#]*):[^/?#]*@")
_IN_QUERY = re.compile(r"(?<=[?&])[a-z]*password=[^&]*&?")


def ref_conflict(url: str, update: RefUpdate, found: Id | None) -> RefConflictError:
    """The error for a ref that is not where the caller of `write` expected it."""
    return RefConflictError(
        f"ref {update.name!r} of {url} is {_place(found)}, not {_place(update.old)}; "
        "read it again and retry"
    )


def reflog_entry(update: RefUpdate) -> ReflogEntry:
    """What the reflog remembers of a move."""
    return ReflogEntry(
        update.name, _text(update.old), _text(update.new), update.who, update.when, update.why
    )


def without_password(url: str) -> str:
    """A URL without the password that it may hold, before the host or among the parameters."""
    return _IN_QUERY.sub("", _BEFORE_HOST.sub(r"\1@", url)).rstrip("?&")


def _text(target: Id | None) -> str | None:
    return None if target is None else text_id(target)


def _place(target: Id | None) -> str:
    return "absent" if target is None else f"at {text_id(target)}"

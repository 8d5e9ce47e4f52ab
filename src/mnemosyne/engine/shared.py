"""What every engine says in the same words."""

from mnemosyne.engine.base import RefUpdate
from mnemosyne.errors import RefConflictError
from mnemosyne.model import ReflogEntry
from mnemosyne.objects import Id, text_id

__all__ = ["ref_conflict", "reflog_entry"]


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


def _text(target: Id | None) -> str | None:
    return None if target is None else text_id(target)


def _place(target: Id | None) -> str:
    return "absent" if target is None else f"at {text_id(target)}"

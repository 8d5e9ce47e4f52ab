"""How a failure is shown, and its exit code."""

from collections.abc import Iterator

import click

from mnemosyne_vcs.cli.output import Part, Styled, tell, tell_json
from mnemosyne_vcs.errors import (
    ConflictError,
    EngineError,
    InconclusiveError,
    MnemosyneError,
)
from mnemosyne_vcs.present.to_json import commit_json, conflict_json

__all__ = [
    "DAMAGED",
    "EXIT_CODES",
    "INTERRUPTED",
    "exit_code",
    "not_in_this_locale",
    "show_failure",
]

EXIT_CODES = {
    0: "done",
    1: "another error, a question was answered with no, or grep found nothing",
    2: "the command line is wrong, or names no store",
    3: "not found",
    4: "conflict; nothing was written",
    5: "a value, key or revision is not valid",
    6: "the store is damaged",
    7: "the store is read-only",
    8: "the store is busy; try again",
    9: "the disk, server or network failed",
    10: "the store needs a newer version of mnem",
    11: "exists already",
    12: "a search through history has no single answer",
    130: "interrupted",
}
DAMAGED, INTERRUPTED = 6, 130

_OTHER = 1
_OF_KIND = {
    "error": _OTHER,
    "transaction-done": _OTHER,
    "not-found": 3,
    "conflict": 4,
    "ref-conflict": 4,
    "validation": 5,
    "dimension": 5,
    "invalid-revision": 5,
    "corrupt": DAMAGED,
    "read-only": 7,
    "busy": 8,
    "engine": 9,
    "format-version": 10,
    "already-exists": 11,
    "inconclusive": 12,
}


def exit_code(error: Exception) -> int:
    """The exit code for an error."""
    if isinstance(error, MnemosyneError):
        return _OF_KIND.get(error.kind, _OTHER)
    return error.exit_code if isinstance(error, click.ClickException) else _OTHER


def not_in_this_locale(error: UnicodeEncodeError) -> EngineError:
    """The message for a path with a character that the locale's encoding lacks."""
    return EngineError(
        f"{error.object!r:.80} cannot be encoded as {error.encoding}, the encoding of this locale; "
        "set LC_ALL=C.UTF-8, or PYTHONUTF8=1"
    )


def show_failure(error: Exception, *, as_json: bool) -> None:
    """Print an error, on stderr: one line and its notes, or a JSON object.

    Args:
        error: what went wrong.
        as_json: whether to print JSON.
    """
    if as_json:
        tell_json({"error": _failure_json(error)})
        return
    for line in _lines(error):
        tell(*line)


def _lines(error: Exception) -> Iterator[list[Part]]:
    if isinstance(error, click.UsageError) and error.ctx is not None:
        for line in error.ctx.get_usage().split("\n"):
            yield [line]
        yield [f"Try '{error.ctx.command_path} {error.ctx.help_option_names[0]}' for help."]
        yield [""]
    yield [Styled("Error:", "bad"), " ", _message(error)]
    for note in getattr(error, "__notes__", ()):
        yield [note]


def _failure_json(error: Exception) -> dict[str, object]:
    kind = "usage" if isinstance(error, click.UsageError) else "error"
    shown: dict[str, object] = {"kind": getattr(error, "kind", kind), "message": _message(error)}
    if isinstance(error, ConflictError):
        shown["conflicts"] = [conflict_json(conflict) for conflict in error.conflicts]
    if isinstance(error, InconclusiveError):
        shown["candidates"] = [commit_json(commit) for commit in error.candidates]
    return shown


def _message(error: Exception) -> str:
    return error.format_message() if isinstance(error, click.ClickException) else str(error)

"""Resolving conflicts: by options, and by asking on a terminal."""

import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, get_args

import click

from mnemosyne_vcs.cli.conflicts import Sides, conflict_lines
from mnemosyne_vcs.cli.output import Output, dumps, is_terminal, tell
from mnemosyne_vcs.format.validation import parse_json
from mnemosyne_vcs.merge.resolutions import Replacement, Resolution, Side
from mnemosyne_vcs.model import Conflict
from mnemosyne_vcs.repository import Repository

__all__ = ["ask_each", "can_ask", "resolutions", "resolve_options"]

F = TypeVar("F", bound=Callable[..., Any])

SIDES: tuple[Side, ...] = get_args(Side)
_QUESTION = "[o]urs, [t]heirs, [b]ase, [d]elete, [e]dit, [s]kip or [a]bort"


def resolve_options(function: F) -> F:
    """The options `--resolve` and `--on-conflict`."""
    on_conflict = click.option(
        "--on-conflict",
        type=click.Choice(SIDES),
        metavar="|".join(SIDES),
        help="Resolve all other conflicts in this way.",
    )
    resolve = click.option(
        "--resolve",
        multiple=True,
        metavar="KEY=ours|theirs|base|delete|JSON",
        help="Resolve the conflict of a key; may be repeated.",
    )
    return resolve(on_conflict(function))


def resolutions(texts: Iterable[str]) -> dict[str, Resolution]:
    """How to resolve the conflict of each key.

    Args:
        texts: the values of `--resolve`.

    Raises:
        UsageError: one is malformed, or a key has two.
    """
    found: dict[str, Resolution] = {}
    for text in texts:
        key, resolution = _resolution(text)
        if key in found:
            raise click.UsageError(f"--resolve is given twice for {key!r}")
        found[key] = resolution
    return found


def _resolution(text: str) -> tuple[str, Resolution]:
    """Key and resolution. The key may contain =, and so may JSON."""
    key, _, last = text.rpartition("=")
    if key and last in SIDES:
        return key, last
    for position, character in enumerate(text):
        if character == "=" and position:
            try:
                content = parse_json(text[position + 1 :])
            except ValueError:
                continue
            return text[:position], Replacement(content)
    raise click.UsageError(
        f"--resolve {text!r} is not of the form KEY={'|'.join(SIDES)}|JSON; "
        "a text needs double quotes, as in JSON"
    )


def can_ask(output: Output) -> bool:
    """Whether conflicts can be resolved by asking on a terminal."""
    return output.terminal and is_terminal(sys.stdin) and not output.as_json


def ask_each(
    output: Output, repository: Repository, conflicts: Iterable[Conflict], sides: Sides
) -> dict[str, Resolution]:
    """Show each conflict on the terminal and ask how to resolve it.

    Args:
        output: where to show it.
        repository: the store.
        conflicts: the conflicts.
        sides: what their versions are.

    Returns:
        The answers by key, without those that were skipped.

    Raises:
        ClickException: the answer was to abort.
    """
    answers: dict[str, Resolution] = {}
    for conflict in conflicts:
        for line in conflict_lines(repository, conflict, sides):
            output.line(*line)
        resolution = _ask(conflict)
        if resolution is not None:
            answers[conflict.key] = resolution
    return answers


def _ask(conflict: Conflict) -> Resolution | None:
    words: dict[str, Side] = {
        side[0]: side for side in SIDES if side != "base" or conflict.base is not None
    }
    while True:
        answer = click.prompt(_QUESTION, err=True).strip().lower()
        word = answer[:1] if answer in (*SIDES, "edit", "skip", "abort") else answer
        if word in words:
            return words[word]
        if word == "s":
            return None
        if word == "a":
            raise click.ClickException("nothing was changed")
        if word == "e" and (edited := _edited(conflict)) is not None:
            return edited
        if word == "b":
            tell("this conflict has no base")


def _edited(conflict: Conflict) -> Resolution | None:
    """The content after editing in an editor; None if it is unchanged or not valid JSON."""
    record = conflict.ours or conflict.theirs
    text = click.edit(dumps(record and record.content, indent=2) + "\n", extension=".json")
    if text is None:
        tell("no change was saved")
        return None
    try:
        return Replacement(parse_json(text))
    except ValueError as error:
        tell(f"that is not JSON: {error}")
        return None

"""Asking before something is removed."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from mnemosyne_vcs.cli.output import is_terminal
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.visible import printable

__all__ = ["ask", "check_askable", "dry_run_option", "yes_option"]

F = TypeVar("F", bound=Callable[..., Any])


def dry_run_option(function: F) -> F:
    """The option `--dry-run`."""
    return click.option("--dry-run", is_flag=True, help="Only show what would change.")(function)


def yes_option(function: F) -> F:
    """The option `--yes`."""
    return click.option("-y", "--yes", is_flag=True, help="Do not ask.")(function)


def check_askable(session: Session, *, asks: bool) -> None:
    """Raise before doing anything if a question cannot be asked.

    Args:
        session: this run.
        asks: whether a question will be asked.

    Raises:
        UsageError: a question will be asked, and there is no terminal.
    """
    if asks and (session.as_json or not is_terminal(sys.stdin)):
        raise click.UsageError(
            "cannot ask without a terminal; give --yes, or --dry-run to look first"
        )


def ask(question: str) -> None:
    """Ask a yes-or-no question on stderr.

    Args:
        question: what to ask.

    Raises:
        ClickException: the answer is no.
    """
    if not click.confirm(printable(question), err=True):
        raise click.ClickException("nothing was changed")

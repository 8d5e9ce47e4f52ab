"""What the verbs that make a commit share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.output import Output, Styled
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.present.to_json import commit_json
from mnemosyne_vcs.repository import Repository
from mnemosyne_vcs.transaction.transaction import Transaction

__all__ = ["author_option", "commit_once", "message_option", "mixed_option", "show_commit"]

F = TypeVar("F", bound=Callable[..., Any])


def author_option(function: F) -> F:
    """The option `--author`."""
    return click.option(
        "--author", metavar="NAME", help="The author; MNEMOSYNE_AUTHOR or you if not given."
    )(function)


def message_option(function: F) -> F:
    """The option `--message`."""
    return click.option("-m", "--message", default="", metavar="TEXT", help="Why.")(function)


def mixed_option(function: F) -> F:
    """The option `--allow-mixed-vectors`."""
    return click.option(
        "--allow-mixed-vectors",
        is_flag=True,
        help="Leave vectors of several dimensions or models side by side.",
    )(function)


def commit_once(
    repository: Repository, fn: Callable[[Transaction], object], branch: str, message: str
) -> Commit | None:
    """Commit what a function does, if it changes anything.

    Args:
        repository: the store.
        fn: called with a transaction, and again if the branch moves meanwhile.
        branch: the branch to commit to.
        message: why.

    Returns:
        The commit; None if nothing changed.

    Raises:
        MnemosyneError: as `Repository.transact` and the function raise.
    """
    tried: set[str] = set()

    def attempt(transaction: Transaction) -> None:
        tried.add(transaction.id)
        fn(transaction)

    commit = repository.transact(attempt, branch, message=message)
    return commit if commit.transaction_id in tried else None


def show_commit(output: Output, commit: Commit | None) -> None:
    """Print the commit that a verb made, or that it changed nothing (None)."""
    if commit is not None:
        output.did(f"commit {commit.id} was made")
    if output.as_json:
        output.json(None if commit is None else commit_json(commit))
    elif commit is None:
        output.line("nothing to change")
    else:
        output.line(*describe.byline(commit), "  ", Styled(describe.title(commit), "title"))

"""`mnem branch`."""

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.branches_and_tags import BRANCHES, check_arguments, create, delete, show_all
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option
from mnemosyne_vcs.cli.confirm import dry_run_option, yes_option
from mnemosyne_vcs.cli.session import Session


@click.command("branch", cls=Verb)
@click.argument("name", required=False, shell_complete=completion.branches)
@click.argument("at", required=False, shell_complete=completion.revisions)
@click.option(
    "-d",
    "--delete",
    "deleting",
    is_flag=True,
    help="Delete the branch NAME; its commits stay in the reflog.",
)
@author_option
@dry_run_option
@yes_option
@pass_session
def command(
    session: Session,
    name: str | None,
    at: str | None,
    deleting: bool,
    author: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """List the branches, or make the branch NAME at AT.

    AT is a revision, and the branch of -b if not given. A branch costs nothing, however large the
    memory is. With --json, one branch a line.
    """
    check_arguments(name, at, deleting)
    if name is None:
        show_all(session, BRANCHES)
    elif deleting:
        delete(session, BRANCHES, name, author, dry_run=dry_run, yes=yes)
    else:
        create(session, BRANCHES, name, at, author)

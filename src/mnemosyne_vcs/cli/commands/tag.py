"""`mnem tag`."""

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.branches_and_tags import TAGS, check_arguments, create, delete, show_all
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option
from mnemosyne_vcs.cli.confirm import dry_run_option, yes_option
from mnemosyne_vcs.cli.session import Session


@click.command("tag", cls=Verb)
@click.argument("name", required=False, shell_complete=completion.tags)
@click.argument("at", required=False, shell_complete=completion.revisions)
@click.option("-d", "--delete", "deleting", is_flag=True, help="Delete the tag NAME.")
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
    """List the tags, or give the revision AT the permanent tag NAME.

    AT is the branch of -b if not given. With --json, one tag a line.
    """
    check_arguments(name, at, deleting)
    if name is None:
        show_all(session, TAGS)
    elif deleting:
        delete(session, TAGS, name, author, dry_run=dry_run, yes=yes)
    else:
        create(session, TAGS, name, at, author)

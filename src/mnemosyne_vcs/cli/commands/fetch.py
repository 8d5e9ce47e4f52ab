"""`mnem fetch`."""

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option
from mnemosyne_vcs.cli.progress import progress
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.transfers import show_transfer
from mnemosyne_vcs.sync.remotes import DEFAULT_REMOTE


@click.command("fetch", cls=Verb)
@click.argument("remote", default=DEFAULT_REMOTE, shell_complete=completion.remotes)
@click.option("--only", multiple=True, metavar="BRANCH", help="Only this branch. May be repeated.")
@click.option(
    "--prune", is_flag=True, help="Forget remote branches that REMOTE does not have any more."
)
@author_option
@pass_session
def command(
    session: Session, remote: str, only: tuple[str, ...], prune: bool, author: str | None
) -> None:
    """Copy the history of the store REMOTE here, and move no branch.

    REMOTE is the name of a remote, origin if not given, or a URL or path. Its branch main is then
    the revision origin/main. Only what is missing is copied, and every block is checked.
    """
    if only and prune:
        raise click.UsageError("--prune needs all branches; leave out --only")
    repository, output = session.open(author=session.author(author)), session.output
    with progress("fetching") as advance:
        fetched = repository.fetch(remote, branches=only or None, prune=prune, progress=advance)
    show_transfer(output, "fetched from", fetched)

"""`mnem push`."""

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option
from mnemosyne_vcs.cli.progress import progress
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.transfers import show_transfer
from mnemosyne_vcs.sync.remotes import DEFAULT_REMOTE


@click.command("push", cls=Verb)
@click.argument("remote", default=DEFAULT_REMOTE, shell_complete=completion.remotes)
@click.argument("name", metavar="BRANCH", required=False, shell_complete=completion.branches)
@author_option
@pass_session
def command(session: Session, remote: str, name: str | None, author: str | None) -> None:
    """Copy a branch to the store REMOTE.

    REMOTE is the name of a remote, origin if not given, or a URL or path. BRANCH is that of -b if
    not given. If the branch there has commits that are not here, nothing is written and the exit
    code is 4: run `mnem pull`, then push again.
    """
    repository, output = session.open(author=session.author(author)), session.output
    with progress("pushing") as advance:
        pushed = repository.push(remote, name or session.branch, progress=advance)
    show_transfer(output, "pushed to", pushed)

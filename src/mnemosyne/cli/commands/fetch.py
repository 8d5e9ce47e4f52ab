"""`mnem fetch`."""

import click

from mnemosyne.cli import completion
from mnemosyne.cli.progress import progress
from mnemosyne.cli.session import Session
from mnemosyne.cli.transfers import show_transfer
from mnemosyne.cli.verb import Verb, pass_session
from mnemosyne.cli.writing import author_option
from mnemosyne.remotes import DEFAULT_REMOTE


@click.command("fetch", cls=Verb)
@click.argument("remote", default=DEFAULT_REMOTE, shell_complete=completion.remotes)
@click.option("--only", multiple=True, metavar="BRANCH", help="This branch, not all. Repeatable.")
@click.option("--prune", is_flag=True, help="Forget branches of REMOTE that are gone there.")
@author_option
@pass_session
def command(
    session: Session, remote: str, only: tuple[str, ...], prune: bool, author: str | None
) -> None:
    """Bring the history of the store REMOTE here; no branch of this one moves.

    REMOTE is the name of a remote, origin if not given, or a URL or path. Its branch main is then
    the revision origin/main. Only what is missing travels, and every block of it is checked.
    """
    if only and prune:
        raise click.UsageError("--prune looks at all branches; leave out --only")
    repository, output = session.open(author=session.author(author)), session.output
    with progress("fetching") as advance:
        fetched = repository.fetch(remote, branches=only or None, prune=prune, progress=advance)
    show_transfer(output, "fetched from", fetched)

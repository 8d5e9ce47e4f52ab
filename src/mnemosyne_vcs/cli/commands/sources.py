"""`mnem sources`."""

import click

from mnemosyne_vcs.cli.activities import activity_options, show
from mnemosyne_vcs.cli.command_base import PagedVerb, pass_session
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.repository import Repository


@click.command("sources", cls=PagedVerb)
@activity_options
@pass_session
def command(session: Session, revision: str | None, limit: int | None, every: bool) -> None:
    """List the sources of what was written, the latest first.

    These are the sources of what the commits up to REVISION wrote. Each is shown with the number of
    its commits, and the times of the first and the last. With --json, one source a line.
    """
    show(session, "source", Repository.sources, revision, limit, everywhere=every)

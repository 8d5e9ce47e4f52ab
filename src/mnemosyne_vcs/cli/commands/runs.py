"""`mnem runs`."""

import click

from mnemosyne_vcs.cli.activities import activity_options, show
from mnemosyne_vcs.cli.command_base import PagedVerb, pass_session
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.repository import Repository


@click.command("runs", cls=PagedVerb)
@activity_options
@pass_session
def command(session: Session, revision: str | None, limit: int | None, every: bool) -> None:
    """List the runs of what was written, the latest first.

    These are the runs up to REVISION that records or the trailer Run-Id name. Each is shown with
    the number of its commits, and the times of the first and the last. With --json, one run a line.
    """
    show(session, "run", Repository.runs, revision, limit, everywhere=every)

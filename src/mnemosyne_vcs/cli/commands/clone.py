"""`mnem clone`."""

import os

import click

import mnemosyne_vcs
from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commands.init import DEFAULT_PATH
from mnemosyne_vcs.cli.commit_options import author_option
from mnemosyne_vcs.cli.find_store import ENVIRONMENT
from mnemosyne_vcs.cli.progress import progress
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.transfers import require_file, show_names
from mnemosyne_vcs.engine.shared import without_password
from mnemosyne_vcs.errors import ValidationError


@click.command("clone", cls=Verb)
@click.argument("source")
@click.argument("target", required=False)
@click.option(
    "--only",
    multiple=True,
    metavar="BRANCH",
    help="Only this branch. May be repeated.",
    shell_complete=completion.branches,
)
@author_option
@pass_session
def command(
    session: Session, source: str, target: str | None, only: tuple[str, ...], author: str | None
) -> None:
    """Copy the store SOURCE, with the same commit ids, to a new store.

    At TARGET, else where -s or MNEMOSYNE_URL say, else in memory.mnem. Both may be paths or URLs
    of any kind. The copy has SOURCE as its remote origin. If copying is interrupted, run the same
    command again to continue.
    """
    url = target or session.url or os.environ.get(ENVIRONMENT) or DEFAULT_PATH
    if url.startswith("memory:"):
        raise ValidationError(f"{url} would be lost at once; name a file instead")
    require_file(url, "a copy")
    with progress("copying") as advance:
        copy = mnemosyne_vcs.clone(
            source,
            url,
            branches=list(only) or None,
            author=session.author(author),
            progress=advance,
        )
    output = session.output
    with copy:
        output.did(f"the store {copy.url} was created")
        if output.as_json:
            shown = {"branches": copy.branches(), "tags": copy.tags()}
            output.json({"url": copy.url, "remotes": copy.remotes(), **shown})
        else:
            output.line(f"copied {without_password(source)} to {without_password(url)}")
            show_names(output, copy.branches(), copy.tags())

"""`mnem init`."""

import os

import click

import mnemosyne_vcs
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.find_store import ENVIRONMENT
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.transfers import require_file
from mnemosyne_vcs.engine.shared import without_password
from mnemosyne_vcs.errors import (
    AlreadyExistsError,
    CorruptObjectError,
    NotFoundError,
    ValidationError,
)

DEFAULT_PATH = "memory.mnem"


@click.command("init", cls=Verb)
@click.argument("path", required=False)
@pass_session
def command(session: Session, path: str | None) -> None:
    """Create a new, empty store.

    At PATH, else where -s or MNEMOSYNE_URL say, else in memory.mnem.
    """
    url = path or session.url or os.environ.get(ENVIRONMENT) or DEFAULT_PATH
    if url.startswith("memory:"):
        raise ValidationError(f"{url} would be lost at once; name a file instead")
    require_file(url, "this")
    try:
        mnemosyne_vcs.open(url, read_only=True).close()
    except (NotFoundError, CorruptObjectError):  # an empty file becomes a store
        with mnemosyne_vcs.open(url, create=True) as repository:
            made = repository.url
    else:
        raise AlreadyExistsError(f"there is already a store at {without_password(url)}")
    output = session.output
    output.did(f"the store {made} was created")
    if output.as_json:
        output.json({"url": made})
    else:
        output.line("created an empty store: ", without_password(url))

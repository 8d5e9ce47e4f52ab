"""`mnem backup`."""

from pathlib import Path

import click

from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.progress import waiting
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.transfers import FilePath, require_file


@click.command("backup", cls=Verb)
@click.argument("path", type=FilePath())
@pass_session
def command(session: Session, path: str) -> None:
    """Copy the whole store to a new store, the file PATH.

    Other programs may read and write meanwhile; the copy shows one moment.
    """
    require_file(path, "a backup")
    repository, output = session.open(), session.output
    with waiting("copying"):
        repository.backup(path)
    size = Path(path).stat().st_size
    output.did(f"the backup {path} was made")
    if output.as_json:
        output.json({"path": path, "bytes": size})
    else:
        output.line(f"copied {repository.url} to {path} ({describe.byte_size(size)})")

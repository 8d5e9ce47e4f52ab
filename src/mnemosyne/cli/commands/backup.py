"""`mnem backup`."""

from pathlib import Path

import click

from mnemosyne.cli import describe
from mnemosyne.cli.progress import waiting
from mnemosyne.cli.session import Session
from mnemosyne.cli.verb import Verb, pass_session


@click.command("backup", cls=Verb)
@click.argument("path", type=click.Path(path_type=Path))
@pass_session
def command(session: Session, path: Path) -> None:
    """Copy the whole store to a new file at PATH, which is a store of its own.

    Other programs may read and write meanwhile; the copy is of one moment.
    """
    repository, output = session.open(), session.output
    with waiting("copying"):
        repository.backup(path)
    size = path.stat().st_size
    if output.as_json:
        output.json({"path": str(path), "bytes": size})
    else:
        output.line(f"copied {repository.url} to {path} ({describe.byte_size(size)})")

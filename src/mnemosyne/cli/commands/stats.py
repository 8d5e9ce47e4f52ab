"""`mnem stats`."""

from dataclasses import asdict

import click

from mnemosyne.cli import describe
from mnemosyne.cli.output import Styled
from mnemosyne.cli.progress import waiting
from mnemosyne.cli.session import Session
from mnemosyne.cli.verb import Verb, pass_session


@click.command("stats", cls=Verb)
@pass_session
def command(session: Session) -> None:
    """Count what the whole store holds."""
    repository, output = session.open(), session.output
    with waiting("counting"):
        stats = repository.stats()
    if output.as_json:
        output.json(asdict(stats))
        return
    output.fields(
        [
            ("store", stats.url),
            ("branches", f"{stats.branches:,}"),
            ("tags", f"{stats.tags:,}"),
            ("commits", f"{stats.commits:,}"),
            ("objects", "unknown" if stats.objects is None else f"{stats.objects:,}"),
            ("size", "unknown" if stats.bytes is None else describe.byte_size(stats.bytes)),
        ]
    )
    output.line()
    output.table(
        [
            [Styled(name, "key"), describe.counted(count, "record")]
            for name, count in stats.records.items()
        ]
    )

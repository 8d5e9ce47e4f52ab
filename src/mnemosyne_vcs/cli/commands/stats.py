"""`mnem stats`."""

from dataclasses import asdict

import click

from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.output import Styled
from mnemosyne_vcs.cli.progress import waiting
from mnemosyne_vcs.cli.session import Session


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

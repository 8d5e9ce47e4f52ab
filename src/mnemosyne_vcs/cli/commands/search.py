"""`mnem search`."""

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.output import Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.present.lookup import find_key
from mnemosyne_vcs.present.to_json import record_json


@click.command("search", cls=Verb)
@click.option(
    "--like",
    metavar="KEY",
    required=True,
    help="The record to be similar to.",
    shell_complete=completion.keys,
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    metavar="N",
    help="At most N records; 10 if not given.",
)
@click.option("--prefix", default="", metavar="PREFIX", help="Only keys that start with this.")
@click.option(
    "--at",
    metavar="REVISION",
    help="Search the memory as of this revision.",
    shell_complete=completion.revisions,
)
@pass_session
def command(session: Session, like: str, limit: int, prefix: str, at: str | None) -> None:
    """Find the records most similar to a record.

    Similarity is the exact cosine of their embeddings. With --json, one object a line.
    """
    snapshot, output = session.open().at(at or session.branch), session.output
    record = snapshot[find_key(snapshot, like)]
    if record.embedding is None:
        raise ValidationError(f"record {record.key!r} has no embedding to search by")
    hits = snapshot.search(record.embedding, prefix=prefix, limit=limit + 1)
    others = [hit for hit in hits if hit.record.key != record.key][:limit]
    if output.as_json:
        for hit in others:
            output.json({"score": hit.score, "record": record_json(hit.record)})
        return
    output.table(
        [
            [f"{hit.score:.4f}", Styled(hit.record.key, "key"), describe.preview(hit.record)]
            for hit in others
        ]
    )
    if not others:
        output.remark("no other record there has an embedding")

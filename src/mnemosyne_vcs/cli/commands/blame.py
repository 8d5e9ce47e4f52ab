"""`mnem blame`."""

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import PagedVerb, pass_session
from mnemosyne_vcs.cli.output import Output, Part, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.model import Blame
from mnemosyne_vcs.present.lookup import history_of
from mnemosyne_vcs.present.to_json import blame_json


@click.command("blame", cls=PagedVerb)
@click.argument("key", required=False, shell_complete=completion.keys)
@click.option("--field", metavar="PATH", help="Blame only this field, such as plan.tier.")
@click.option("--prefix", metavar="PREFIX", help="Blame every record whose key starts with this.")
@click.option(
    "--at", metavar="REVISION", help="As of this revision.", shell_complete=completion.revisions
)
@pass_session
def command(
    session: Session, key: str | None, field: str | None, prefix: str | None, at: str | None
) -> None:
    """Show the commit that wrote a record, or one field of it.

    Give a KEY, with --field for one field of it, or a --prefix for every record below it. With
    --json, one object a line. `mnem why KEY` shows more about one record.
    """
    if (key is None) == (prefix is None):
        raise click.UsageError("give either a KEY or a --prefix")
    if key is None and field is not None:
        raise click.UsageError("--field needs a KEY")
    repository, output = session.open(), session.output
    revision = at or session.branch
    if key is None:
        blames = list(repository.blame_all(prefix or "", revision))
    else:
        key, _ = history_of(repository, key, revision)
        blames = [repository.blame(key, revision, field=field)]
    _show(output, blames)


def _show(output: Output, blames: list[Blame]) -> None:
    if output.as_json:
        for blame in blames:
            output.json(blame_json(blame))
        return
    output.table([_row(blame) for blame in blames])
    if not blames:
        output.remark("no records")


def _row(blame: Blame) -> list[Part]:
    id_part, _, when, _, author = describe.byline(blame.commit)
    record = blame.record
    known = record.provenance.known() if record else {}
    origin = ", ".join(f"{name} {known[name]}" for name in ("source", "agent") if name in known)
    said = "(deleted)" if record is None else describe.preview(record)
    return [id_part, when, author, Styled(blame.key, "key"), Styled(origin, "dim"), said]

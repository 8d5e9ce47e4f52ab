"""`mnem reflog`."""

from itertools import islice

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import PagedVerb, pass_session
from mnemosyne_vcs.cli.output import Part, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.format.validation import check_limit
from mnemosyne_vcs.ids import short_id
from mnemosyne_vcs.model import ReflogEntry, moment_text
from mnemosyne_vcs.present.to_json import reflog_json


@click.command("reflog", cls=PagedVerb)
@click.argument("name", metavar="BRANCH", required=False, shell_complete=completion.branches)
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="At most N moves.")
@pass_session
def command(session: Session, name: str | None, limit: int | None) -> None:
    """List the moves of BRANCH, newest first, even if it was deleted.

    The revision BRANCH@{1} is the commit before its last move. With --json, one move a line.
    """
    repository, output = session.open(), session.output
    name = name or session.branch
    moves = list(islice(repository.reflog(name), check_limit(limit)))
    if output.as_json:
        for move in moves:
            output.json(reflog_json(name, move))
        return
    output.table([_row(name, number, move) for number, move in enumerate(moves)])
    if not moves and limit != 0:
        output.remark(f"there has never been a branch {name!r}")


def _row(name: str, number: int, move: ReflogEntry) -> list[Part]:
    target = Styled(short_id(move.new), "id") if move.new else Styled("deleted", "bad")
    when = moment_text(move.timestamp_ms)
    return [Styled(f"{name}@{{{number}}}", "key"), target, when, move.author or "–", move.message]

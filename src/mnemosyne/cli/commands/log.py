"""`mnem log`."""

from itertools import islice

import click

from mnemosyne import tree
from mnemosyne.cli import describe
from mnemosyne.cli.as_json import commit_json
from mnemosyne.cli.lookup import history_of
from mnemosyne.cli.output import Output, Styled
from mnemosyne.cli.session import Session
from mnemosyne.cli.verb import Verb, pass_session
from mnemosyne.model import Commit
from mnemosyne.objects import parse_id
from mnemosyne.repository import Repository


@click.command("log", cls=Verb)
@click.argument("revision", required=False)
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="At most N commits.")
@click.option("--key", metavar="KEY", help="Only commits that changed this record.")
@click.option("--oneline", is_flag=True, help="One line a commit, without run, save and crew.")
@pass_session
def command(
    session: Session, revision: str | None, limit: int | None, key: str | None, oneline: bool
) -> None:
    """List commits up to REVISION, newest first."""
    repository, output = session.open(), session.output
    at = revision or session.branch
    if key is None:
        commits = repository.log(at, limit=limit)
    else:
        _, history = history_of(repository, key, at)
        commits = islice((blame.commit for blame in history), limit)
    found = False
    for commit in commits:
        found = True
        if output.as_json:
            output.json(commit_json(commit))
        else:
            _show(output, commit, _title(repository, commit), oneline)
    if not found and limit != 0:
        output.remark(f"no commits yet up to {at}")


def _title(repository: Repository, commit: Commit) -> Styled:
    """The commit's message; of a commit without one, what it did."""
    if commit.message:
        return Styled(describe.title(commit), "title")
    return Styled(_counts(repository, commit), "dim")


def _counts(repository: Repository, commit: Commit) -> str:
    """How many records a commit added, changed and removed; told without reading them."""
    blocks = repository.blocks
    before, after = (parse_id(blocks.commit(each).root) for each in (commit.parents[0], commit.id))
    counts = {"added": 0, "changed": 0, "removed": 0}
    for _, old, new in tree.diff(blocks.node, before, after):
        counts["added" if old is None else "removed" if new is None else "changed"] += 1
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)


def _show(output: Output, commit: Commit, title: Styled, oneline: bool) -> None:
    output.line(*describe.byline(commit), "  ", title)
    if not oneline and commit.trailers:
        output.line(" " * 12, Styled(describe.trailers(commit), "dim"))

"""`mnem diff`."""

from collections import Counter
from collections.abc import Iterator

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import PagedVerb, pass_session
from mnemosyne_vcs.cli.output import Output
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.model import Change
from mnemosyne_vcs.present.to_json import change_json
from mnemosyne_vcs.repository import Repository


@click.command("diff", cls=PagedVerb)
@click.argument("a", required=False, shell_complete=completion.revisions)
@click.argument("b", required=False, shell_complete=completion.revisions)
@click.option(
    "--prefix",
    default="",
    metavar="PREFIX",
    help="Only keys that start with this.",
    shell_complete=completion.keys,
)
@click.option("--stat", is_flag=True, help="Only how many records differ.")
@pass_session
def command(session: Session, a: str | None, b: str | None, prefix: str, stat: bool) -> None:
    """Show what differs between revision A and revision B, field by field.

    B is the branch if not given. Without A, show what the newest commit changed. A..B is also
    accepted. With --json, one change a line.
    """
    repository, output = session.open(), session.output
    old, new = _ends(repository, session.branch, a, b)
    found = repository.diff(old, new, prefix)
    if stat:
        _show_counts(output, found)
    elif output.as_json:
        for change in found:
            output.json(change_json(change))
    elif changes := list(found):
        describe.changes(output, changes)
    else:
        output.remark("no differences")


def _ends(repository: Repository, branch: str, a: str | None, b: str | None) -> tuple[str, str]:
    """The two commits to compare, by id."""
    if a is None:
        head = repository.resolve(branch)
        return (head.parents[0] if head.parents else head.id), head.id
    start, dots, end = a.partition("..")
    if dots and b is not None:
        raise click.UsageError(f"{a} names both commits already; leave out {b}")
    old, new = (start or branch, end or branch) if dots else (a, b or branch)
    return repository.resolve(old).id, repository.resolve(new).id


def _show_counts(output: Output, found: Iterator[Change]) -> None:
    counts = Counter(change.kind for change in found)
    if output.as_json:
        output.json({kind: counts[kind] for kind in describe.CHANGE_KINDS})
    else:
        output.line(describe.change_counts(counts) or "no differences")

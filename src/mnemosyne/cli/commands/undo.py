"""`mnem undo`."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

import click

from mnemosyne import history
from mnemosyne.cli import describe
from mnemosyne.cli.as_json import change_json, commit_json
from mnemosyne.cli.lookup import find_trailer
from mnemosyne.cli.output import Output, Styled
from mnemosyne.cli.session import Session
from mnemosyne.cli.verb import Verb, pass_session
from mnemosyne.errors import ConflictError
from mnemosyne.model import Change, ChangeKind, Commit, Record
from mnemosyne.repository import Repository

_NOTHING = "nothing to undo: what they wrote is gone already"


class _Plan(NamedTuple):
    head: Commit
    targets: list[Commit]
    changes: list[Change]


@click.command("undo", cls=Verb)
@click.option("-n", "number", type=click.IntRange(min=1), metavar="N", help="The newest N commits.")
@click.option("--run", metavar="ID", help="Every commit of a run; a start of its id is enough.")
@click.option("--save", metavar="ID", help="Every commit of a save; a start of its id is enough.")
@click.option("-m", "--message", default="", metavar="TEXT", help="Why.")
@click.option("--author", metavar="NAME", help="Who undoes; MNEMOSYNE_AUTHOR or you if not given.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_session
def command(
    session: Session,
    number: int | None,
    run: str | None,
    save: str | None,
    message: str,
    author: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Take commits back in a new commit.

    It takes back the newest commit if nothing else is said. The history keeps both. What later
    commits changed again is a conflict, and then nothing is written.
    """
    _check_usage(session, [number, run, save], asks=not (dry_run or yes))
    repository, output = session.open(author=session.author(author)), session.output
    commits = repository.log(session.branch)
    if run is not None:
        run = find_trailer(commits, "Run-Id", run)
    if save is not None:
        save = find_trailer(commits, "Save-Id", save)
    count = number or 1
    with _explained(repository, session.branch):
        if dry_run or not yes:
            trailer = ("Run-Id", run) if run is not None else None
            trailer = ("Save-Id", save) if save is not None else trailer
            plan = _plan(repository, session.branch, count, trailer)
            _show_plan(output, plan)
            if dry_run or not plan.changes:
                return
            _ask(repository, session.branch, plan)
        before = repository.resolve(session.branch)
        commit = repository.undo(count, run=run, save=save, branch=session.branch, message=message)
    _show_result(output, commit if commit.id != before.id else None)


def _check_usage(session: Session, choices: list[int | str | None], *, asks: bool) -> None:
    if sum(choice is not None for choice in choices) > 1:
        raise click.UsageError("give only one of -n, --run and --save")
    if asks and (session.as_json or not sys.stdin.isatty()):
        raise click.UsageError("there is nobody to ask; give --yes, or --dry-run to look first")


def _plan(
    repository: Repository, branch: str, number: int, trailer: tuple[str, str] | None
) -> _Plan:
    """What an undo would do, found in a transaction that is given up."""
    transaction = repository.transaction(branch)
    targets = history.undo(transaction, repository.blocks, n=number, trailer=trailer)
    now = repository.at(transaction.base.id)
    pairs = ((now.get(key), transaction.get(key)) for key in _touched(repository, targets))
    changes = [_change(*pair) for pair in pairs if not _same(*pair)]
    return _Plan(transaction.base, targets, changes)


def _touched(repository: Repository, targets: list[Commit]) -> list[str]:
    keys: set[str] = set()
    for commit in targets:
        for change in repository.diff(commit.parents[0], commit.id):
            keys.update(record.key for record in (change.before, change.after) if record)
    return sorted(keys)


def _same(before: Record | None, after: Record | None) -> bool:
    return before is after if before is None or after is None else before.same_value(after)


def _change(before: Record | None, after: Record | None) -> Change:
    kind: ChangeKind = "changed" if before and after else "removed" if before else "added"
    key = "".join({record.key for record in (before, after) if record})
    return Change(key, kind, before, after)


def _show_plan(output: Output, plan: _Plan) -> None:
    if output.as_json:
        targets = [commit_json(commit) for commit in plan.targets]
        changes = [change_json(change) for change in plan.changes]
        output.json({"undoes": targets, "changes": changes})
        return
    output.line(Styled("To be undone", "title"))
    for commit in plan.targets:
        output.line("  ", *describe.byline(commit), "  ", describe.title(commit))
    output.line()
    if plan.changes:
        output.line(Styled("What would change", "title"))
        describe.changes(output, plan.changes)
    else:
        output.line(_NOTHING)


def _ask(repository: Repository, branch: str, plan: _Plan) -> None:
    if not click.confirm("Undo this?", err=True):
        raise click.ClickException("nothing was changed")
    if repository.resolve(branch).id != plan.head.id:
        raise ConflictError(f"branch {branch!r} has moved since; look again")


@contextmanager
def _explained(repository: Repository, branch: str) -> Generator[None]:
    """Add to a conflict, key by key, what was written, what is there now and by whom."""
    try:
        yield
    except ConflictError as error:
        for conflict in error.conflicts:
            later = repository.blame(conflict.key, branch)
            agent = later.record.provenance.agent if later.record else None
            by = describe.plain(describe.byline(later.commit)) + (f" ({agent})" if agent else "")
            error.add_note(
                f"  {conflict.key} ({conflict.kind})\n"
                f"    it wrote       {describe.preview(conflict.base)}\n"
                f"    before it      {describe.preview(conflict.theirs)}\n"
                f"    now            {describe.preview(conflict.ours)}\n"
                f"    written by     {by}"
            )
        raise


def _show_result(output: Output, commit: Commit | None) -> None:
    if output.as_json:
        output.json(None if commit is None else commit_json(commit))
    elif commit is None:
        output.line(_NOTHING)
    else:
        output.line(*describe.byline(commit), "  ", Styled(describe.title(commit), "title"))

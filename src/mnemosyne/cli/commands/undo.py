"""`mnem undo`."""

import sys
from itertools import chain

import click

from mnemosyne import history
from mnemosyne.cli import describe
from mnemosyne.cli.as_json import change_json, commit_json
from mnemosyne.cli.lookup import find_trailer
from mnemosyne.cli.output import Output, Styled
from mnemosyne.cli.session import Session
from mnemosyne.cli.verb import Verb, pass_session
from mnemosyne.errors import ConflictError
from mnemosyne.model import Change, Commit, Conflict
from mnemosyne.repository import Repository


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
    """Take commits back in a new commit; the newest one if nothing else is said.

    The history keeps both. What later commits changed again is a conflict, and then nothing is
    written.
    """
    if sum(choice is not None for choice in (number, run, save)) > 1:
        raise click.UsageError("give one of -n, --run and --save")
    if not (dry_run or yes or sys.stdin.isatty()):
        raise click.UsageError("there is nobody to ask; give --yes, or --dry-run to look first")
    repository, output = session.open(author=session.author(author)), session.output
    commits = repository.log(session.branch)
    if run is not None:
        run = find_trailer(commits, "Run-Id", run)
    elif save is not None:
        save = find_trailer(commits, "Save-Id", save)
    trailer = ("Run-Id", run) if run is not None else None
    trailer = ("Save-Id", save) if save is not None else trailer
    head, targets, changes = _plan(repository, session.branch, number or 1, trailer)
    if dry_run or not yes:
        _show_plan(output, targets, changes)
    if dry_run or not changes or not (yes or click.confirm("Undo this?", err=True)):
        return _nothing_done(output, dry_run, bool(changes))
    if repository.resolve(session.branch).id != head.id:
        raise ConflictError(f"branch {session.branch!r} has moved meanwhile; look again")
    commit = repository.undo(
        number or 1, run=run, save=save, branch=session.branch, message=message
    )
    if output.as_json:
        output.json(commit_json(commit))
    else:
        output.line(*describe.byline(commit), "  ", Styled(describe.title(commit), "title"))

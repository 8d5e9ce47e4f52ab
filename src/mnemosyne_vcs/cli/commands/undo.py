"""`mnem undo`."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial

import click

from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option, message_option, mixed_option
from mnemosyne_vcs.cli.confirm import ask, check_askable, dry_run_option, yes_option
from mnemosyne_vcs.cli.output import Output, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.errors import ConflictError
from mnemosyne_vcs.merge.operation import Plan, unresolved_conflicts
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.present.lookup import RUN_TRAILER, SAVE_TRAILER, find_trailer
from mnemosyne_vcs.present.to_json import change_json, commit_json
from mnemosyne_vcs.repository import Repository

_NOTHING = "nothing to undo: nothing is left of what they wrote"


@click.command("undo", cls=Verb)
@click.option("-n", "number", type=click.IntRange(min=1), metavar="N", help="The newest N commits.")
@click.option("--run", metavar="ID", help="Every commit of a run; a start of its id is enough.")
@click.option("--save", metavar="ID", help="Every commit of a save; a start of its id is enough.")
@mixed_option
@message_option
@author_option
@dry_run_option
@yes_option
@pass_session
def command(
    session: Session,
    number: int | None,
    run: str | None,
    save: str | None,
    allow_mixed_vectors: bool,
    message: str,
    author: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Take commits back in a new commit.

    Without options, it takes back the newest commit. The history keeps both. A record that later
    commits changed again is a conflict, and then nothing is written.
    """
    if sum(choice is not None for choice in (number, run, save)) > 1:
        raise click.UsageError("give only one of -n, --run and --save")
    check_askable(session, asks=not (dry_run or yes))
    repository, output = session.open(author=session.author(author)), session.output
    trailer = None
    for name, start in ((RUN_TRAILER, run), (SAVE_TRAILER, save)):
        if start is not None:
            trailer = name, find_trailer(repository.log(session.branch), name, start)
    undo = partial(
        repository.undo,
        number or 1,
        trailer=trailer,
        branch=session.branch,
        message=message,
        allow_mixed_vectors=allow_mixed_vectors,
    )
    with _explained(repository, session.branch):
        if yes and not dry_run:
            before, commit = repository.resolve(session.branch), undo()
        else:
            plan = partial(repository.plan_undo, *undo.args, **undo.keywords)()
            if plan.conflicts:
                raise unresolved_conflicts(session.branch, plan.conflicts)
            _show_plan(output, plan)
            if dry_run or plan.kind == "up-to-date":
                return
            ask("Undo this?")
            before, commit = plan.head, plan.apply()
    _show_result(output, commit if commit != before else None)


def _show_plan(output: Output, plan: Plan) -> None:
    if output.as_json:
        targets = [commit_json(commit) for commit in plan.commits]
        changes = [change_json(change) for change in plan.changes]
        output.json({"undoes": targets, "changes": changes})
        return
    output.line(Styled("To be undone", "title"))
    for commit in plan.commits:
        output.line("  ", *describe.byline(commit), "  ", describe.title(commit))
    output.line()
    describe.planned(output, plan, _NOTHING)


@contextmanager
def _explained(repository: Repository, branch: str) -> Generator[None]:
    """Add to a conflict, for each key, what was written, what is there now and its author."""
    try:
        yield
    except ConflictError as error:
        for conflict in error.conflicts:
            key = conflict.ours.key if conflict.ours else conflict.key
            later = repository.blame(key, branch)
            agent = later.record.provenance.agent if later.record else None
            by = describe.plain(describe.byline(later.commit)) + (f" ({agent})" if agent else "")
            error.add_note(f"  {conflict.key} ({conflict.kind})")
            error.add_note(f"    it wrote       {describe.preview(conflict.base)}")
            error.add_note(f"    before it      {describe.preview(conflict.theirs)}")
            error.add_note(f"    now            {describe.preview(conflict.ours)}")
            error.add_note(f"    written by     {by}")
        raise


def _show_result(output: Output, commit: Commit | None) -> None:
    if commit is not None:
        output.did(f"commit {commit.id} was made")
    if output.as_json:
        output.json(None if commit is None else commit_json(commit))
    elif commit is None:
        output.line(_NOTHING)
    else:
        output.line(*describe.byline(commit), "  ", Styled(describe.title(commit), "title"))

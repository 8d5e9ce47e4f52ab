"""`mnem restore`."""

from functools import partial

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import (
    author_option,
    message_option,
    mixed_option,
    show_commit,
)
from mnemosyne_vcs.cli.confirm import ask, check_askable, dry_run_option, yes_option
from mnemosyne_vcs.cli.output import Output, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.merge.operation import Plan, unresolved_conflicts
from mnemosyne_vcs.present.to_json import change_json, commit_json

_NOTHING = "nothing to restore: the records are the same"


@click.command("restore", cls=Verb)
@click.option(
    "--from",
    "source",
    required=True,
    metavar="REVISION",
    help="The commit to take the records from.",
    shell_complete=completion.revisions,
)
@click.argument("prefix", default="", shell_complete=completion.keys)
@mixed_option
@message_option
@author_option
@dry_run_option
@yes_option
@pass_session
def command(
    session: Session,
    source: str,
    prefix: str,
    allow_mixed_vectors: bool,
    message: str,
    author: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Restore records to what they were at another commit, in a new commit.

    This restores all records whose keys start with PREFIX; without PREFIX, the whole memory.
    Records that did not exist then are deleted. The history keeps what is replaced.
    """
    check_askable(session, asks=not (dry_run or yes))
    repository = session.open(author=None if dry_run else session.author(author))
    output, branch, commit = session.output, session.branch, repository.resolve(source)
    restore = partial(
        repository.restore,
        prefix,
        source=commit,
        branch=branch,
        message=message,
        allow_mixed_vectors=allow_mixed_vectors,
    )
    plan = partial(repository.plan_restore, *restore.args, **restore.keywords)()
    if plan.conflicts:
        raise unresolved_conflicts(branch, plan.conflicts)
    if dry_run or not yes:
        _show_plan(output, plan)
        if dry_run or plan.kind == "up-to-date":
            return
        ask("Restore this?")
    made = restore() if yes else plan.apply()
    if made != plan.head or output.as_json:
        show_commit(output, made if made != plan.head else None)
    else:
        output.line(_NOTHING)


def _show_plan(output: Output, plan: Plan) -> None:
    [source] = plan.commits
    if output.as_json:
        changes = [change_json(change) for change in plan.changes]
        output.json({"from": commit_json(source), "changes": changes})
        return
    output.line(Styled("To be restored from", "title"))
    output.line("  ", *describe.byline(source), "  ", describe.title(source))
    output.line()
    describe.planned(output, plan, _NOTHING)

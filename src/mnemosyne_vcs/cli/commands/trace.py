"""`mnem trace`."""

from functools import partial

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option, message_option, mixed_option
from mnemosyne_vcs.cli.confirm import ask, check_askable, dry_run_option, yes_option
from mnemosyne_vcs.cli.output import Output, Part, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.history.trace import TracedRecord
from mnemosyne_vcs.merge.operation import Plan
from mnemosyne_vcs.merge.retract import Retraction
from mnemosyne_vcs.present.to_json import change_json, commit_json, record_json

_NOTHING = "no live record came from it"


@click.command("trace", cls=Verb)
@click.option("--source", metavar="NAME", help="The document, message or other source.")
@click.option("--agent", metavar="NAME", help="The agent that wrote it.")
@click.option("--run", metavar="ID", help="The run that wrote it.")
@click.option("--tool-call", metavar="ID", help="The tool call that produced it.")
@click.option(
    "--commit",
    metavar="REVISION",
    help="The commit that wrote it.",
    shell_complete=completion.revisions,
)
@click.option("--only", multiple=True, metavar="BRANCH", help="Only this branch. May be repeated.")
@click.option("--retract", is_flag=True, help="Take these records back.")
@mixed_option
@message_option
@author_option
@dry_run_option
@yes_option
@pass_session
def command(
    session: Session,
    source: str | None,
    agent: str | None,
    run: str | None,
    tool_call: str | None,
    commit: str | None,
    only: tuple[str, ...],
    retract: bool,
    allow_mixed_vectors: bool,
    message: str,
    author: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """List, or take back, every live record from a bad source.

    Records that were derived from one of the source are listed too, with the keys that lead to it.
    All branches are searched. With several options, the record of the source must match all.

    --retract gives each record its newest earlier value that did not come from the source, or
    deletes it if there is none, in one commit for each branch. Other records are left as they are.
    """
    if not retract and (message or yes or dry_run or allow_mixed_vectors):
        raise click.UsageError("-m, --yes, --dry-run and --allow-mixed-vectors belong to --retract")
    check_askable(session, asks=retract and not (dry_run or yes))
    repository = session.open(author=session.author(author) if retract and not dry_run else None)
    output = session.output
    branches = only or None
    if not retract:
        found = repository.trace(
            source=source,
            agent=agent,
            run=run,
            tool_call=tool_call,
            commit=commit,
            branches=branches,
        )
        _show(output, list(found))
        return
    take_back = partial(
        repository.retract,
        source=source,
        agent=agent,
        run=run,
        tool_call=tool_call,
        commit=commit,
        branches=branches,
        message=message,
        allow_mixed_vectors=allow_mixed_vectors,
    )
    if yes and not dry_run:
        done = take_back()
    else:
        plans = partial(repository.plan_retract, **take_back.keywords)()
        _show_plans(output, plans)
        if dry_run or not plans:
            return
        ask("Take these back?")
        changes = {branch: plan.changes for branch, plan in plans.items()}
        done = Retraction(changes, {branch: plan.apply() for branch, plan in plans.items()})
    _show_done(output, done)


def _show(output: Output, found: list[TracedRecord]) -> None:
    if output.as_json:
        for traced in found:
            output.json(
                {
                    "branch": traced.branch,
                    "record": record_json(traced.record),
                    "through": list(traced.through),
                }
            )
        return
    output.table([_row(traced) for traced in found])
    if not found:
        output.remark(_NOTHING)


def _row(traced: TracedRecord) -> list[Part]:
    through = "itself" if not traced.through else f"through {', '.join(traced.through)}"
    key = Styled(traced.record.key, "key")
    return [traced.branch, key, Styled(through, "dim"), describe.preview(traced.record)]


def _show_plans(output: Output, plans: dict[str, Plan]) -> None:
    if output.as_json:
        changes = {
            branch: [change_json(change) for change in plan.changes]
            for branch, plan in plans.items()
        }
        output.json({"changes": changes})
        return
    for plan in plans.values():
        describe.planned(output, plan, _NOTHING)
    if not plans:
        output.line(_NOTHING)


def _show_done(output: Output, done: Retraction) -> None:
    for branch, commit in done.commits.items():
        output.did(f"commit {commit.id} was made on {branch}")
    if output.as_json:
        commits = {branch: commit_json(commit) for branch, commit in done.commits.items()}
        output.json({"commits": commits})
        return
    for branch, commit in done.commits.items():
        output.line(
            Styled(branch, "title"),
            ": ",
            describe.counted(len(done.changes[branch]), "record"),
            " taken back",
        )
        output.line(*describe.byline(commit), "  ", Styled(describe.title(commit), "title"))
    if not done.commits:
        output.line(_NOTHING)

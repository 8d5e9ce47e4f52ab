"""`mnem merge`."""

from functools import partial

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option, message_option, mixed_option
from mnemosyne_vcs.cli.confirm import dry_run_option
from mnemosyne_vcs.cli.conflicts import Side, Sides
from mnemosyne_vcs.cli.plan_and_apply import Action, Options, plan_and_apply
from mnemosyne_vcs.cli.resolve_options import resolutions, resolve_options
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.merge.operation import Plan
from mnemosyne_vcs.merge.resolutions import OnConflict


@click.command("merge", cls=Verb)
@click.argument("source", shell_complete=completion.revisions)
@click.option(
    "--into",
    metavar="BRANCH",
    help="The branch to change; that of -b if not given.",
    shell_complete=completion.branches,
)
@resolve_options
@click.option("--ff", is_flag=True, help="If BRANCH has no commits of its own, move it forward.")
@mixed_option
@message_option
@author_option
@dry_run_option
@pass_session
def command(
    session: Session,
    source: str,
    into: str | None,
    resolve: tuple[str, ...],
    on_conflict: OnConflict | None,
    ff: bool,
    allow_mixed_vectors: bool,
    message: str,
    author: str | None,
    dry_run: bool,
) -> None:
    """Merge the changes of SOURCE into a branch.

    They are what SOURCE has changed since the merge base. Records that both have changed are
    merged field by field. On a terminal, mnem asks how to resolve each conflict. Elsewhere, give
    a --resolve for each or --on-conflict for all; until every conflict is resolved, nothing is
    written and the exit code is 4.

    ours is what the branch has, theirs what SOURCE has, base what both started from, delete
    removes the record, and JSON is new content.
    """
    options = Options(resolutions(resolve), on_conflict, dry_run, yes=True)
    repository = session.open(author=None if dry_run else session.author(author))
    branch = into or session.branch
    run = partial(
        repository.merge,
        source,
        branch,
        message=message,
        fast_forward=ff,
        allow_mixed_vectors=allow_mixed_vectors,
    )

    def sides(plan: Plan) -> Sides:
        base = plan.bases[0] if len(plan.bases) == 1 else None
        began = "what both started from" if base else "what both started from, merged"
        return Sides(
            Side(began, base), Side(branch, plan.head.id), Side(source, plan.commits[0].id)
        )

    action = Action(
        branch=branch,
        run=run,
        plan=partial(repository.plan_merge, *run.args, **run.keywords),
        sides=sides,
        commit=repository.resolve(source),
        doing="To be merged",
        name="theirs",
        question="",
        nothing=f"nothing to merge: {branch} has every commit of {source}",
    )
    plan_and_apply(session, repository, action, options)

"""`mnem cherry-pick`."""

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


@click.command("cherry-pick", cls=Verb)
@click.argument("revision", shell_complete=completion.revisions)
@click.option(
    "--parent",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="For a merge, the number of the parent to compare with; 1 if not given.",
)
@resolve_options
@mixed_option
@message_option
@author_option
@dry_run_option
@pass_session
def command(
    session: Session,
    revision: str,
    parent: int,
    resolve: tuple[str, ...],
    on_conflict: OnConflict | None,
    allow_mixed_vectors: bool,
    message: str,
    author: str | None,
    dry_run: bool,
) -> None:
    """Apply the changes of one commit to another branch.

    Conflicts are resolved as in `mnem merge`: ours is what the branch has, theirs what the commit
    wrote, base what was there before it.
    """
    options = Options(resolutions(resolve), on_conflict, dry_run, yes=True)
    repository = session.open(author=None if dry_run else session.author(author))
    commit, branch = repository.resolve(revision), session.branch
    run = partial(
        repository.cherry_pick,
        commit,
        branch=branch,
        parent=parent,
        message=message,
        allow_mixed_vectors=allow_mixed_vectors,
    )

    def sides(plan: Plan) -> Sides:
        before = commit.parents[parent - 1]
        return Sides(
            Side("what was there before the commit", before),
            Side(branch, plan.head.id),
            Side("what the commit wrote", commit.id),
        )

    action = Action(
        branch=branch,
        run=run,
        plan=partial(repository.plan_cherry_pick, *run.args, **run.keywords),
        sides=sides,
        commit=commit,
        doing="To be picked",
        name="picks",
        question="",
        nothing=f"nothing to pick: {branch} has these changes already",
    )
    plan_and_apply(session, repository, action, options)

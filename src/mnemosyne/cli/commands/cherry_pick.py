"""`mnem cherry-pick`."""

from functools import partial

import click

from mnemosyne.cli import completion
from mnemosyne.cli.acting import Act, Plan, Wishes, carry_out
from mnemosyne.cli.conflicts import Side, Sides
from mnemosyne.cli.consent import dry_run_option
from mnemosyne.cli.session import Session
from mnemosyne.cli.settling import resolutions, resolve_options
from mnemosyne.cli.verb import Verb, pass_session
from mnemosyne.cli.writing import author_option, message_option
from mnemosyne.resolve import Strategy


@click.command("cherry-pick", cls=Verb)
@click.argument("revision", shell_complete=completion.revisions)
@click.option(
    "--parent",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Of a merge, the number of the parent to compare it with; 1 if not given.",
)
@resolve_options
@message_option
@author_option
@dry_run_option
@pass_session
def command(
    session: Session,
    revision: str,
    parent: int,
    resolve: tuple[str, ...],
    strategy: Strategy | None,
    message: str,
    author: str | None,
    dry_run: bool,
) -> None:
    """Make the changes of one commit on another branch too.

    What clashes is settled as in `mnem merge`: ours is what the branch has, theirs what the commit
    wrote, base what was before the commit.
    """
    wishes = Wishes(resolutions(resolve), strategy, dry_run, yes=True)
    repository = session.open(author=None if dry_run else session.author(author))
    commit, branch = repository.resolve(revision), session.branch
    run = partial(repository.cherry_pick, commit.id, branch=branch, parent=parent, message=message)

    def sides(plan: Plan) -> Sides:
        before = commit.parents[parent - 1]
        return Sides(
            Side("what was before the commit", before),
            Side(branch, plan.ours.id),
            Side("what the commit wrote", commit.id),
        )

    act = Act(
        branch=branch,
        run=run,
        sides=sides,
        commit=commit,
        doing="To be picked",
        name="picks",
        question="",
        nothing=f"nothing to pick: {branch} has all of it already",
    )
    carry_out(session, repository, act, wishes)

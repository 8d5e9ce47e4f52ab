"""`mnem pull`."""

from functools import partial

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import (
    author_option,
    message_option,
    mixed_option,
    show_commit,
)
from mnemosyne_vcs.cli.conflicts import Side, Sides
from mnemosyne_vcs.cli.plan_and_apply import Act, Plan, Wishes, carry_out
from mnemosyne_vcs.cli.progress import progress
from mnemosyne_vcs.cli.resolve_options import resolutions, resolve_options
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.merge.resolutions import Strategy
from mnemosyne_vcs.model import MergePlan
from mnemosyne_vcs.sync.remotes import DEFAULT_REMOTE


@click.command("pull", cls=Verb)
@click.argument("remote", default=DEFAULT_REMOTE, shell_complete=completion.remotes)
@click.argument("name", metavar="BRANCH", required=False, shell_complete=completion.branches)
@resolve_options
@mixed_option
@message_option
@author_option
@pass_session
def command(
    session: Session,
    remote: str,
    name: str | None,
    resolve: tuple[str, ...],
    strategy: Strategy | None,
    allow_mixed_vectors: bool,
    message: str,
    author: str | None,
) -> None:
    """Fetch BRANCH of the store REMOTE and bring it into the branch of -b.

    REMOTE is the name of a remote, origin if not given, or a URL or path; BRANCH is that of -b if
    not given. A branch that is not here is made. One that has nothing of its own moves on.
    Otherwise both are merged, and conflicts are settled as with `mnem merge`.
    """
    wishes = Wishes(resolutions(resolve), strategy, dry_run=False, yes=True)
    repository, output = session.open(author=session.author(author)), session.output
    into = session.branch
    name = name or into
    with progress("fetching") as advance:
        fetched = repository.fetch(remote, branches=[name], progress=advance)
    theirs = repository.resolve(fetched.branches[name])
    if into not in repository.branches():
        show_commit(output, repository.create_branch(into, at=theirs.id))
        return
    source = fetched.called(name)
    message = message or f"merge {source} into {into}"

    def sides(plan: Plan) -> Sides:
        assert isinstance(plan, MergePlan)
        base = plan.bases[0] if len(plan.bases) == 1 else None
        began = "what both started from" if base else "what both started from, put together"
        return Sides(Side(began, base), Side(into, plan.ours.id), Side(source, theirs.id))

    act = Act(
        branch=into,
        run=partial(
            repository.merge,
            theirs.id,
            into,
            message=message,
            fast_forward=True,
            allow_mixed_vectors=allow_mixed_vectors,
        ),
        sides=sides,
        commit=theirs,
        doing="To be merged",
        name="theirs",
        question="",
        nothing=f"nothing new: {into} has all of {source} already",
    )
    carry_out(session, repository, act, wishes)

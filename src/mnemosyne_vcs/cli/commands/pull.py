"""`mnem pull`."""

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
from mnemosyne_vcs.cli.confirm import dry_run_option
from mnemosyne_vcs.cli.conflicts import Side, Sides
from mnemosyne_vcs.cli.output import Output, Styled
from mnemosyne_vcs.cli.plan_and_apply import Action, Options, plan_and_apply
from mnemosyne_vcs.cli.progress import progress
from mnemosyne_vcs.cli.resolve_options import resolutions, resolve_options
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.merge.branches import require_related
from mnemosyne_vcs.merge.operation import Plan
from mnemosyne_vcs.merge.resolutions import OnConflict
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.present.to_json import commit_json
from mnemosyne_vcs.repository import Repository
from mnemosyne_vcs.sync.remotes import DEFAULT_REMOTE


@click.command("pull", cls=Verb)
@click.argument("remote", default=DEFAULT_REMOTE, shell_complete=completion.remotes)
@click.argument("name", metavar="BRANCH", required=False, shell_complete=completion.branches)
@resolve_options
@mixed_option
@click.option(
    "--allow-unrelated",
    is_flag=True,
    help="Also merge a branch that has no history in common with the branch here.",
)
@message_option
@author_option
@dry_run_option
@pass_session
def command(
    session: Session,
    remote: str,
    name: str | None,
    resolve: tuple[str, ...],
    on_conflict: OnConflict | None,
    allow_mixed_vectors: bool,
    allow_unrelated: bool,
    message: str,
    author: str | None,
    dry_run: bool,
) -> None:
    """Fetch BRANCH of the store REMOTE and merge it into the branch of -b.

    REMOTE is the name of a remote, origin if not given, or a URL or path; BRANCH is that of -b if
    not given. A branch that does not exist here is created. One without commits of its own moves
    forward. Otherwise both are merged, and conflicts are resolved as with `mnem merge`.
    If they have no history in common, REMOTE may be the wrong store, and nothing is merged unless
    --allow-unrelated is given. --dry-run fetches, but moves no branch here.
    """
    options = Options(resolutions(resolve), on_conflict, dry_run, yes=True)
    repository, output = session.open(author=session.author(author)), session.output
    into = session.branch
    name = name or into
    with progress("fetching") as advance:
        fetched = repository.fetch(remote, branches=[name], progress=advance)
    theirs = repository.resolve(fetched.branches[name])
    source = fetched.called(name)
    if into not in repository.branches():
        _make(output, repository, into, theirs, dry_run=dry_run)
        return
    if not allow_unrelated:
        require_related(repository.blocks, repository.resolve(into), theirs, source)
    message = message or f"merge {source} into {into}"
    run = partial(
        repository.merge,
        theirs,
        into,
        message=message,
        fast_forward=True,
        allow_mixed_vectors=allow_mixed_vectors,
    )

    def sides(plan: Plan) -> Sides:
        base = plan.bases[0] if len(plan.bases) == 1 else None
        began = "what both started from" if base else "what both started from, merged"
        return Sides(Side(began, base), Side(into, plan.head.id), Side(source, theirs.id))

    action = Action(
        branch=into,
        run=run,
        plan=partial(repository.plan_merge, *run.args, **run.keywords),
        sides=sides,
        commit=theirs,
        doing="To be merged",
        name="theirs",
        question="",
        nothing=f"nothing new: {into} has every commit of {source}",
    )
    plan_and_apply(session, repository, action, options)


def _make(
    output: Output, repository: Repository, name: str, theirs: Commit, *, dry_run: bool
) -> None:
    """Create the branch that does not exist here."""
    if not dry_run:
        show_commit(output, repository.create_branch(name, revision=theirs))
    elif output.as_json:
        output.json({"theirs": commit_json(theirs), "ours": None, "changes": [], "conflicts": []})
    else:
        output.line(
            "branch ", Styled(name, "key"), " would be created at ", *describe.byline(theirs)
        )

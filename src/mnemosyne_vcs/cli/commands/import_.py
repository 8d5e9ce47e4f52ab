"""`mnem import`."""

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option, message_option, show_commit
from mnemosyne_vcs.cli.progress import progress, waiting
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.transfers import (
    FORMATS,
    FilePath,
    bundle_json,
    format_of,
    show_bundle,
    source_of,
)


@click.command("import", cls=Verb)
@click.argument("path", type=FilePath())
@click.option(
    "--format", "wanted", type=click.Choice(FORMATS), help="jsonl if PATH ends in .jsonl, else car."
)
@click.option(
    "--under",
    metavar="PREFIX",
    help="For car: put this before the names of its branches and tags, such as theirs/.",
    shell_complete=completion.branches,
)
@message_option
@author_option
@pass_session
def command(
    session: Session,
    path: str,
    wanted: str | None,
    under: str | None,
    message: str,
    author: str | None,
) -> None:
    """Read a file that `mnem export` wrote, or standard input if PATH is -: all of it, or nothing.

    car has branches and tags, and commits keep their ids. A branch that exists here is moved
    forward; if it has other commits, import with --under theirs/ and merge. jsonl has records,
    which are written to one branch, in one commit.
    """
    chosen = format_of(path, wanted)
    if (chosen == "car" and message) or (chosen == "jsonl" and under):
        raise click.UsageError("--under is for car, --message is for jsonl")
    repository, output = session.open(author=session.author(author)), session.output
    if chosen == "jsonl":
        before = repository.branches().get(session.branch)
        with waiting("reading"):
            commit = repository.import_jsonl(source_of(path), session.branch, message=message)
        show_commit(output, commit if commit.id != before else None)
        return
    with progress("checking") as advance:
        bundle = repository.import_bundle(source_of(path), prefix=under or "", progress=advance)
    output.did(f"{path} was imported")
    if output.as_json:
        output.json(bundle_json(bundle))
    else:
        show_bundle(output, "read", bundle)

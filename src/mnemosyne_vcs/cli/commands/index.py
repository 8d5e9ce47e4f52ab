"""`mnem index`."""

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.output import Styled
from mnemosyne_vcs.cli.progress import waiting
from mnemosyne_vcs.cli.session import Session


@click.command("index", cls=Verb)
@click.argument("name", required=False, shell_complete=completion.branches)
@click.option("-d", "--delete", "deleting", is_flag=True, help="Drop the index of the branch NAME.")
@pass_session
def command(session: Session, name: str | None, deleting: bool) -> None:
    """List the branches whose vectors the server searches, or let it index the branch NAME.

    PostgreSQL uses pgvector for this, and each commit updates the index. Searches find the same
    with and without it; with it, a process does not load all vectors. With --json, one branch a
    line.
    """
    if name is None:
        if deleting:
            raise click.UsageError("-d needs the NAME of a branch")
        _show_all(session)
        return
    repository, output = session.open(author=session.author(None)), session.output
    if deleting:
        repository.drop_vector_index(name)
    else:
        with waiting("indexing"):
            repository.create_vector_index(name)
    output.did(f"the index of {name} was {'dropped' if deleting else 'created'}")
    if output.as_json:
        output.json({"branch": name, "indexed": not deleting})
    else:
        said = "are not indexed any more" if deleting else "are indexed"
        output.line("the vectors of ", Styled(name, "key"), f" {said}")


def _show_all(session: Session) -> None:
    found, output = session.open().vector_indexes(), session.output
    if output.as_json:
        for name, current in found.items():
            output.json({"branch": name, "indexed": True, "current": current})
        return
    output.table(
        [
            [Styled(name, "key"), "at the newest commit" if current else "behind"]
            for name, current in found.items()
        ]
    )
    if not found:
        output.remark("no branch is indexed; `mnem index NAME` indexes one")

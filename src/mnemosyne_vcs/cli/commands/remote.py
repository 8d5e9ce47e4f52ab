"""`mnem remote`."""

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option
from mnemosyne_vcs.cli.output import Styled
from mnemosyne_vcs.cli.session import Session


@click.command("remote", cls=Verb)
@click.argument("name", required=False, shell_complete=completion.remotes)
@click.argument("url", required=False)
@click.option(
    "-d",
    "--delete",
    "deleting",
    is_flag=True,
    help="Forget the remote NAME and its remote branches.",
)
@author_option
@pass_session
def command(
    session: Session, name: str | None, url: str | None, deleting: bool, author: str | None
) -> None:
    """List the remotes, or add the store URL as the remote NAME.

    Remotes are other stores that fetch, pull and push can name. A password in a URL is not kept.
    With --json, one remote a line.
    """
    if deleting != (name is not None and url is None):
        raise click.UsageError("give no name, NAME and URL, or -d and NAME")
    output = session.output
    if name is None:
        _show_all(session)
    elif url is None:
        session.open(author=session.author(author)).remove_remote(name)
        output.did(f"the remote {name} was forgotten")
        if output.as_json:
            output.json({"name": name, "url": None})
        else:
            output.line("forgot the remote ", Styled(name, "key"))
    else:
        kept = session.open(author=session.author(author)).add_remote(name, url)
        output.did(f"the remote {name} was added")
        if output.as_json:
            output.json({"name": name, "url": kept})
        else:
            output.line("remote ", Styled(name, "key"), f" is {kept}")


def _show_all(session: Session) -> None:
    repository, output = session.open(), session.output
    found = repository.remotes()
    if output.as_json:
        for name, url in found.items():
            branches = repository.remote_branches(name)
            output.json({"name": name, "url": url, "branches": branches})
        return
    output.table([[Styled(name, "key"), url] for name, url in found.items()])
    if not found:
        output.remark("there are no remotes; `mnem remote NAME URL` adds one")

"""`mnem mv`."""

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option, commit_once, message_option, show_commit
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.present.lookup import find_key
from mnemosyne_vcs.transaction.transaction import Transaction


@click.command("mv", cls=Verb)
@click.argument("old", shell_complete=completion.keys)
@click.argument("new", shell_complete=completion.keys)
@click.option("-r", "--recursive", is_flag=True, help="Move all records below OLD to below NEW.")
@message_option
@author_option
@pass_session
def command(
    session: Session, old: str, new: str, recursive: bool, message: str, author: str | None
) -> None:
    """Move a record to another key.

    If NEW ends in /, the record keeps the last part of its key. History, blame and merges follow
    the move. It is an error if NEW has a record already.
    """
    repository = session.open(author=session.author(author))
    if recursive:
        source, target = (each if each.endswith("/") else f"{each}/" for each in (old, new))
    else:
        source = find_key(repository.at(session.branch), old)
        target = new + source[source.rfind("/") + 1 :] if new.endswith("/") else new

    def move(transaction: Transaction) -> None:
        keys = list(transaction.scan_keys(source)) if recursive else [source]
        if not keys:
            raise NotFoundError(f"there is no key below {source!r} on branch {session.branch!r}")
        for key in keys:
            if key != (moved := target + key.removeprefix(source)):
                transaction.move(key, moved)

    text = message or f"move {source} to {target}"
    show_commit(session.output, commit_once(repository, move, session.branch, text))

"""`mnem rm`."""

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option, message_option, show_commit
from mnemosyne_vcs.cli.confirm import ask, check_askable, dry_run_option, yes_option
from mnemosyne_vcs.cli.output import Output, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.model import Change
from mnemosyne_vcs.present.lookup import find_key
from mnemosyne_vcs.present.to_json import change_json
from mnemosyne_vcs.snapshot import Snapshot


@click.command("rm", cls=Verb)
@click.argument("keys", nargs=-1, required=True, metavar="KEY...", shell_complete=completion.keys)
@click.option("-r", "--recursive", is_flag=True, help="Remove everything below each KEY too.")
@message_option
@author_option
@dry_run_option
@yes_option
@pass_session
def command(
    session: Session,
    keys: tuple[str, ...],
    recursive: bool,
    message: str,
    author: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove records, in one commit.

    The history keeps them: `mnem undo` brings them back.
    """
    check_askable(session, asks=not (dry_run or yes))
    output = session.output
    if dry_run:
        _show_plan(output, _found(session.open().at(session.branch), keys, recursive))
        return
    repository = session.open(author=session.author(author))
    transaction = repository.transaction(session.branch, message=message or _message(keys))
    changes = _found(repository.at(transaction.base.id), keys, recursive)
    if not yes:
        _show_plan(output, changes)
        ask("Remove this?")
    for change in changes:
        transaction.delete(change.key)
    show_commit(output, transaction.commit())


def _found(snapshot: Snapshot, texts: tuple[str, ...], recursive: bool) -> list[Change]:
    """The keys to remove, each once, in order."""
    found: set[str] = set()
    for text in texts:
        below = _below(snapshot, text) if recursive else []
        found.update(below or [find_key(snapshot, text)])
    records = snapshot.read_many(sorted(found))
    return [Change(record.key, "removed", record, None) for record in records]


def _below(snapshot: Snapshot, text: str) -> list[str]:
    subtree = text if text.endswith("/") else f"{text}/"
    own = [text] if text in snapshot else []
    below = [*own, *snapshot.scan_keys(subtree)]
    if not below and text.endswith("/"):
        raise NotFoundError(f"there is no key below {text!r} at commit {snapshot.commit.id}")
    return below


def _show_plan(output: Output, changes: list[Change]) -> None:
    if output.as_json:
        output.json({"changes": [change_json(change) for change in changes]})
        return
    output.line(Styled("What would be removed", "title"))
    describe.changes(output, changes)


def _message(keys: tuple[str, ...]) -> str:
    first, *others = keys
    return f"remove {first}" + (f" and {len(others)} more" if others else "")

"""`mnem ls`."""

from collections.abc import Iterator

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.output import Output, Part, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.present.to_json import record_json
from mnemosyne_vcs.snapshot import Snapshot


@click.command("ls", cls=Verb)
@click.argument("prefix", default="", shell_complete=completion.keys)
@click.option("-r", "--recursive", is_flag=True, help="List every key below PREFIX, not subtrees.")
@click.option("-l", "--long", is_flag=True, help="Also show the content of each record.")
@click.option(
    "--at", metavar="REVISION", help="As of this revision.", shell_complete=completion.revisions
)
@pass_session
def command(session: Session, prefix: str, recursive: bool, long: bool, at: str | None) -> None:
    """List the records and subtrees below PREFIX.

    A subtree ends in / and has the number of its records. With --json, one object a line.
    """
    snapshot, output = session.open().at(at or session.branch), session.output
    prefix = _below(snapshot, prefix)
    if prefix and not snapshot.count(prefix):
        raise NotFoundError(f"there is no key below {prefix!r} at commit {snapshot.commit.id}")
    if recursive:
        keys = snapshot.scan_keys(prefix)
    else:
        own = [prefix] if prefix in snapshot else []
        keys = iter([*own, *(prefix + name for name in snapshot.children(prefix))])
    if output.as_json:
        _print_json(output, snapshot, keys, long)
    elif long or not recursive:
        output.table([_row(snapshot, key, long) for key in keys])
    else:
        for key in keys:
            output.line(key)


def _below(snapshot: Snapshot, prefix: str) -> str:
    """The prefix to list: a subtree's with its slash; past the slash that all keys start with."""
    if prefix.endswith("/") or (prefix in snapshot and not snapshot.count(f"{prefix}/")):
        return prefix
    if prefix:
        return f"{prefix}/" if snapshot.count(f"{prefix}/") else prefix
    return "/" if list(snapshot.children()) == ["/"] else ""


def _is_subtree(snapshot: Snapshot, key: str) -> bool:
    return key.endswith("/") and key not in snapshot


def _row(snapshot: Snapshot, key: str, long: bool) -> list[Part]:
    subtree = _is_subtree(snapshot, key)
    if subtree:
        return [
            Styled(key, "title"),
            Styled(describe.counted(snapshot.count(key), "record"), "dim"),
        ]
    return [key, describe.preview(snapshot[key]) if long else ""]


def _print_json(output: Output, snapshot: Snapshot, keys: Iterator[str], long: bool) -> None:
    for key in keys:
        if _is_subtree(snapshot, key):
            output.json({"prefix": key, "records": snapshot.count(key)})
        else:
            output.json(record_json(snapshot[key]) if long else {"key": key})

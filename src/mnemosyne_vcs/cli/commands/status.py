"""`mnem status`."""

import time

import click

from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.output import Output, Part, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.maintenance.backup import Stats
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.present.to_json import commit_json


@click.command("status", cls=Verb)
@pass_session
def command(session: Session) -> None:
    """Show what the store holds, and its newest commit."""
    repository, output = session.open(), session.output
    head, stats = repository.resolve(session.branch), repository.stats()
    if output.as_json:
        output.json(
            {
                "url": stats.url,
                "branch": session.branch,
                "head": commit_json(head),
                "records": len(repository.at(head.id)),
                "commits": stats.commits,
                "branches": stats.records,
                "tags": stats.tags,
                "objects": stats.objects,
                "bytes": stats.bytes,
            }
        )
        return
    records = len(repository.at(head.id))
    output.fields(
        [
            ("store", stats.url),
            ("branch", Styled(session.branch, "key")),
            ("records", f"{records:,}"),
            ("commits", f"{stats.commits:,}"),
            ("tags", f"{stats.tags:,}"),
            ("size", "unknown" if stats.bytes is None else describe.byte_size(stats.bytes)),
            *_newest(head),
        ]
    )
    _other_branches(output, session.branch, stats)


def _newest(head: Commit) -> list[tuple[str, Part]]:
    if not head.parents:
        return [("newest", "no commits yet")]
    ago = describe.age(head.timestamp_ms, time.time_ns() // 1_000_000)
    newest = f"{describe.plain(describe.byline(head))}, {ago}"
    return [("newest", newest), ("", describe.title(head) or describe.trailers(head))]


def _other_branches(output: Output, branch: str, stats: Stats) -> None:
    others = {name: count for name, count in stats.records.items() if name != branch}
    if others:
        output.line()
        output.line(Styled("Other branches", "title"))
        output.table(
            [
                ["", Styled(name, "key"), describe.counted(count, "record")]
                for name, count in others.items()
            ]
        )

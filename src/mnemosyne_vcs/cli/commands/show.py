"""`mnem show`."""

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import PagedVerb, pass_session
from mnemosyne_vcs.cli.output import Output, Styled, dumps
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.merge.operation import RESOLVED
from mnemosyne_vcs.model import Commit, Record, moment_text
from mnemosyne_vcs.present.lookup import locate
from mnemosyne_vcs.present.to_json import change_json, commit_json, record_json
from mnemosyne_vcs.repository import Repository

_OWN_NAMES = ("commit", "parent", "author", "time")


@click.command("show", cls=PagedVerb)
@click.argument("what", required=False, shell_complete=completion.keys_and_revisions)
@pass_session
def command(session: Session, what: str | None) -> None:
    """Show a commit and what it changed, or a record.

    WHAT is REVISION for a commit (the newest if not given), REVISION:KEY for a record at that
    revision, :KEY for a record of the branch, or just KEY if it is not also a revision.
    """
    repository = session.open()
    snapshot, key = locate(repository, what or session.branch, session.branch)
    if key is None:
        _show_commit(session.output, repository, snapshot.commit)
    else:
        writer = repository.blame(key, snapshot.commit.id).commit
        _show_record(session.output, snapshot[key], writer)


def _show_commit(output: Output, repository: Repository, commit: Commit) -> None:
    parent = commit.parents[0] if commit.parents else commit.id
    found = list(repository.diff(parent, commit.id))
    resolved = describe.resolutions(commit)
    if output.as_json:
        changes = [change_json(change) for change in found]
        output.json({**commit_json(commit), "changes": changes, "resolved": resolved})
        return
    output.fields(
        [
            ("commit", Styled(commit.id, "id")),
            *(("parent", Styled(parent, "id")) for parent in commit.parents),
            ("author", commit.author),
            ("time", moment_text(commit.timestamp_ms)),
            *(
                (_trailer(name), value)
                for name, value in commit.trailers.items()
                if name != RESOLVED or not resolved
            ),
        ]
    )
    for line in commit.message.rstrip("\n").split("\n") if commit.message else ():
        output.line("    ", Styled(line, "title"))
    describe.settled(output, resolved)
    output.line()
    if len(commit.parents) > 1:
        output.line(Styled("Compared with its first parent", "title"))
    describe.changes(output, found)


def _trailer(name: str) -> str:
    """The label of a trailer, different from those of `mnem` itself."""
    lowered = name.lower()
    return f"trailer {lowered}" if lowered.strip() in _OWN_NAMES else lowered


def _show_record(output: Output, record: Record, writer: Commit) -> None:
    dimensions = {name: len(vector) for name, vector in sorted(record.vectors.items())}
    if output.as_json:
        shown = record_json(record) or {}
        output.json({**shown, "dimensions": dimensions, "commit": commit_json(writer)})
        return
    output.line(Styled(record.key, "key"))
    for line in dumps(record.content, indent=2).split("\n"):
        output.line(line)
    output.line()
    output.fields(
        [
            ("written by", writer.author),
            ("commit", Styled(writer.id, "id")),
            ("time", moment_text(writer.timestamp_ms)),
            *describe.origin(record),
            *(
                (f"vector {name}" if name else "embedding", describe.counted(size, "dimension"))
                for name, size in dimensions.items()
            ),
            *([("embedder", record.embedder)] if record.embedder else []),
            *(
                [("event time", moment_text(record.event_time))]
                if record.event_time is not None
                else []
            ),
            *([("moved from", Styled(record.moved_from, "key"))] if record.moved_from else []),
        ]
    )

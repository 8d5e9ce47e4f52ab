"""`mnem why`."""

import time

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.output import Output, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.model import Blame, Commit, moment_text
from mnemosyne_vcs.present.lookup import history_of
from mnemosyne_vcs.present.to_json import blame_json
from mnemosyne_vcs.repository import Repository


@click.command("why", cls=Verb)
@click.argument("key", shell_complete=completion.keys)
@click.option(
    "--at", metavar="REVISION", help="As of this revision.", shell_complete=completion.revisions
)
@pass_session
def command(session: Session, key: str, at: str | None) -> None:
    """Show who wrote a record, from what source, and its earlier values.

    With --json, `written` is the commit of its present value, and `earlier` its earlier values.
    """
    repository, output = session.open(), session.output
    revision = at or session.branch
    key, history = history_of(repository, key, revision)
    written = repository.blame(key, revision)
    changed, *earlier = history
    if output.as_json:
        output.json(
            {
                "key": key,
                "written": blame_json(written),
                "present_since": blame_json(changed)["commit"],
                "earlier": [blame_json(blame) for blame in earlier],
            }
        )
        return
    _show_present(output, written, changed.commit)
    if earlier:
        output.line()
        output.line(Styled("Before that", "title"))
        output.table([_row(repository, blame) for blame in earlier])


def _show_present(output: Output, written: Blame, changed: Commit) -> None:
    commit, record = written.commit, written.record
    output.line(Styled(written.key, "key"))
    output.line("  ", "(deleted)" if record is None else describe.preview(record))
    output.line()
    ago = describe.age(commit.timestamp_ms, time.time_ns() // 1_000_000)
    output.fields(
        [
            ("written by" if record else "deleted by", commit.author),
            ("commit", Styled(commit.id, "id")),
            ("time", f"{moment_text(commit.timestamp_ms)}, {ago}"),
            *([("message", commit.message)] if commit.message else []),
            *(describe.origin(record) if record else []),
        ]
    )
    if changed.id != commit.id:
        output.line()
        output.line("restored by ", *describe.byline(changed), "  ", describe.title(changed))


def _row(repository: Repository, blame: Blame) -> list[str | Styled]:
    id_part, _, when, _, author = describe.byline(blame.commit)
    agent = blame.record.provenance.agent if blame.record else None
    said = "(deleted)" if blame.record is None else describe.preview(blame.record)
    return [id_part, when, f"{author} ({agent})" if agent else author, said]

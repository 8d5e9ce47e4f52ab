"""`mnem grep`."""

from collections.abc import Iterator
from itertools import groupby

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import PagedVerb, pass_session
from mnemosyne_vcs.cli.marks import WIDTH, marked
from mnemosyne_vcs.cli.output import Output, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.model import TextMatch
from mnemosyne_vcs.views.matches import excerpt

_NOTHING = 1


@click.command("grep", cls=PagedVerb)
@click.argument("text")
@click.option("-i", "--ignore-case", is_flag=True, help="Small and capital letters are the same.")
@click.option("-l", "--keys", "only_keys", is_flag=True, help="Only the keys of the records.")
@click.option("-c", "--count", is_flag=True, help="Only the number of lines of each record.")
@click.option("--prefix", default="", metavar="PREFIX", help="Only keys that start with this.")
@click.option(
    "--at",
    metavar="REVISION",
    help="Look through the memory as of this revision.",
    shell_complete=completion.revisions,
)
@pass_session
def command(
    session: Session,
    text: str,
    ignore_case: bool,
    only_keys: bool,
    count: bool,
    prefix: str,
    at: str | None,
) -> None:
    """Show the lines that have TEXT in them, exactly as it is written.

    Keys and the names, strings and numbers in the contents are looked through. A line begins with
    the key and the path in the content. The exit code is 1 if nothing was found. With --json, one
    object a line.
    """
    if only_keys and count:
        raise click.UsageError("--keys and --count exclude each other")
    snapshot, output = session.open().at(at or session.branch), session.output
    found = snapshot.find(text, ignore_case=ignore_case, prefix=prefix)
    shown = 0
    for key, matches in groupby(found, lambda match: match.record.key):
        shown += 1
        if only_keys:
            output.json({"key": key}) if output.as_json else output.line(Styled(key, "key"))
        elif count:
            _show_count(output, key, sum(1 for _ in matches))
        else:
            _show(output, matches)
    if not shown:
        click.get_current_context().exit(_NOTHING)


def _show_count(output: Output, key: str, number: int) -> None:
    if output.as_json:
        output.json({"key": key, "count": number})
    else:
        output.line(Styled(key, "key"), f": {number}")


def _show(output: Output, matches: Iterator[TextMatch]) -> None:
    for match in matches:
        if output.as_json:
            output.json(
                {
                    "key": match.record.key,
                    "path": match.path,
                    "line_number": match.line_number,
                    "line": match.line,
                    "spans": [list(span) for span in match.spans],
                }
            )
        elif match.path is None:
            output.line(*marked(match.line, match.spans, "key"))
        else:
            line, spans = match.line, match.spans
            if output.terminal:
                line, spans = excerpt(line, spans, WIDTH)
            path = f":{match.path}" if match.path else ""
            key = Styled(match.record.key, "key")
            output.line(key, Styled(path, "dim"), ": ", *marked(line, spans))

"""`mnem verify`."""

import click

from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.failures import DAMAGED
from mnemosyne_vcs.cli.output import Styled
from mnemosyne_vcs.cli.progress import progress, waiting
from mnemosyne_vcs.cli.session import Session


@click.command("verify", cls=Verb)
@click.option(
    "--repair-index",
    is_flag=True,
    help="First rebuild the index of the history from the commits.",
)
@click.pass_context
@pass_session
def command(session: Session, ctx: click.Context, repair_index: bool) -> None:
    """Read and check everything in the store.

    The exit code is 6 if it is damaged or incomplete, or the index of its history is wrong.
    """
    repository = session.open(author=session.author(None) if repair_index else None)
    output = session.output
    if repair_index:
        with waiting("indexing"):
            indexed = repository.rebuild_index()
        if not output.as_json:
            output.line("rebuilt the index of ", describe.counted(indexed, "commit"))
    with progress("checking", lambda: repository.stats().objects) as advance:
        report = repository.verify(advance)
    if output.as_json:
        problems = [
            {"object": problem.object, "kind": problem.kind, "message": problem.message}
            for problem in report.problems
        ]
        output.json(
            {
                "ok": report.ok,
                "commits": report.commits,
                "objects": report.objects,
                "problems": problems,
            }
        )
    else:
        for problem in report.problems:
            output.line(Styled(problem.kind, "bad"), "  ", problem.message)
        checked = describe.counted(report.objects, "object")
        commits = describe.counted(report.commits, "commit")
        found = (
            Styled("all sound", "good")
            if report.ok
            else Styled(describe.counted(len(report.problems), "problem"), "bad")
        )
        output.line("checked ", checked, ", of them ", commits, ": ", found)
    if not report.ok:
        ctx.exit(DAMAGED)

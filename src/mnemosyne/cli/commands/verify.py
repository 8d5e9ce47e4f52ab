"""`mnem verify`."""

import click

from mnemosyne.cli import describe
from mnemosyne.cli.failures import DAMAGED
from mnemosyne.cli.output import Styled
from mnemosyne.cli.progress import progress
from mnemosyne.cli.session import Session
from mnemosyne.cli.verb import Verb, pass_session


@click.command("verify", cls=Verb)
@click.pass_context
@pass_session
def command(session: Session, ctx: click.Context) -> None:
    """Read and check everything in the store.

    The exit code is 6 if it is damaged.
    """
    repository, output = session.open(), session.output
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

"""`mnem verify`."""

import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import click

from mnemosyne.cli import describe
from mnemosyne.cli.failures import DAMAGED
from mnemosyne.cli.output import Styled
from mnemosyne.cli.session import Session
from mnemosyne.cli.verb import Verb, pass_session
from mnemosyne.maintenance import Progress
from mnemosyne.repository import Repository

PATIENCE = 1.0


@click.command("verify", cls=Verb)
@click.pass_context
@pass_session
def command(session: Session, ctx: click.Context) -> None:
    """Read and check everything in the store.

    The exit code is 6 if it is damaged.
    """
    repository, output = session.open(), session.output
    with _progress(repository) as progress:
        report = repository.verify(progress)
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


@contextmanager
def _progress(repository: Repository) -> Generator[Progress | None]:
    """A progress bar on stderr if that is a terminal, once the work has taken a while."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    started, bar, task = time.monotonic(), Bar(console=Console(stderr=True), transient=True), None
    with ExitStack() as shown:

        def advance(checked: int) -> None:
            nonlocal task
            if task is None:
                if time.monotonic() - started < PATIENCE:
                    return
                task = bar.add_task("checking", total=repository.stats().objects)
                shown.enter_context(bar)
            bar.update(task, completed=checked)

        yield advance

"""`mnem gc`."""

from datetime import timedelta

import click

from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.confirm import ask, check_askable, yes_option
from mnemosyne_vcs.cli.output import Output
from mnemosyne_vcs.cli.progress import progress, waiting
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.maintenance.gc import GcReport
from mnemosyne_vcs.repository import Repository


@click.command("gc", cls=Verb)
@click.option(
    "--keep-reflog",
    type=click.FloatRange(min=0, max=100_000),
    default=30,
    metavar="DAYS",
    help="How long lines of the reflog keep commits; 30 days if not given.",
)
@click.option(
    "--compact",
    is_flag=True,
    help="Also store old versions as differences, and make the file smaller by copying it.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@yes_option
@pass_session
def command(session: Session, keep_reflog: float, compact: bool, dry_run: bool, yes: bool) -> None:
    """Remove permanently what no branch, tag or recent line of the reflog reaches.

    This includes the commits of deleted branches. Other programs may write meanwhile.
    """
    check_askable(session, asks=not (dry_run or yes))
    repository = session.open() if dry_run else session.open(author=session.author(None))
    keep, output = timedelta(days=keep_reflog), session.output
    if dry_run or not yes:
        report = _collect(repository, keep, dry_run=True)
        _show(output, report)
        if dry_run or not (report.objects or compact):
            return
        ask("Remove this permanently?")
    _show(output, _collect(repository, keep, compact=compact))


def _collect(
    repository: Repository, keep: timedelta, *, dry_run: bool = False, compact: bool = False
) -> GcReport:
    if compact:
        with waiting("compacting"):
            return repository.gc(keep_reflog=keep, compact=True)
    with progress("looking", lambda: repository.stats().objects) as advance:
        return repository.gc(keep_reflog=keep, dry_run=dry_run, progress=advance)


def _show(output: Output, report: GcReport) -> None:
    if not report.dry_run:
        output.did(f"{report.objects} objects were removed")
    if output.as_json:
        output.json(
            {
                "objects": report.objects,
                "bytes": report.bytes,
                "kept": report.kept,
                "dry_run": report.dry_run,
            }
        )
        return
    done = "would remove" if report.dry_run else "removed"
    removed, kept = (describe.counted(each, "object") for each in (report.objects, report.kept))
    output.line(f"{done} {removed} ({describe.byte_size(report.bytes)}); {kept} stay")

"""`mnem export`."""

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.progress import progress
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.streams import STREAM
from mnemosyne_vcs.cli.transfers import (
    FORMATS,
    FilePath,
    bundle_json,
    format_of,
    show_bundle,
    target_of,
)


@click.command("export", cls=Verb)
@click.argument("path", type=FilePath())
@click.option(
    "--format", "wanted", type=click.Choice(FORMATS), help="jsonl if PATH ends in .jsonl, else car."
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="For car: only this branch or tag. May be repeated.",
    shell_complete=completion.branches,
)
@click.option(
    "--at",
    metavar="REVISION",
    help="For jsonl: the memory as of this revision.",
    shell_complete=completion.revisions,
)
@click.option("--prefix", metavar="PREFIX", help="For jsonl: only keys that start with this.")
@pass_session
def command(
    session: Session,
    path: str,
    wanted: str | None,
    only: tuple[str, ...],
    at: str | None,
    prefix: str | None,
) -> None:
    """Write a new file at PATH, or standard output if it is -, for other stores and programs.

    car holds branches and tags with their whole history; `mnem import` keeps the commit ids.
    jsonl holds the records of one branch as they are now, one JSON object a line.
    """
    chosen = format_of(path, wanted)
    if (chosen == "car" and (at or prefix)) or (chosen == "jsonl" and only):
        raise click.UsageError("--only is for car, --at and --prefix are for jsonl")
    if chosen == "car":
        _export_car(session, path, only)
    else:
        _export_jsonl(session, path, at or session.branch, prefix or "")


def _export_car(session: Session, path: str, only: tuple[str, ...]) -> None:
    repository, output = session.open(), session.output
    known = repository.branches()
    branches = [name for name in only if name in known] if only else None
    tags = [name for name in only if name not in known] if only else None
    with progress("writing", lambda: repository.stats().objects) as advance:
        target = target_of(output, path, "car")
        bundle = repository.export_bundle(target, branches=branches, tags=tags, progress=advance)
    if path == STREAM:
        output.remark(f"wrote {describe.counted(bundle.objects, 'object')}")
        return
    output.did(f"{path} was written")
    if output.as_json:
        output.json(bundle_json(bundle))
    else:
        show_bundle(output, "wrote", bundle)


def _export_jsonl(session: Session, path: str, at: str, prefix: str) -> None:
    repository, output = session.open(), session.output
    commit = repository.resolve(at)
    with progress("writing", lambda: repository.at(commit.id).count(prefix)) as advance:
        target = target_of(output, path, "jsonl")
        count = repository.export_jsonl(target, commit.id, prefix=prefix, progress=advance)
    if path == STREAM:
        output.remark(f"wrote {describe.counted(count, 'record')} as of {at}")
        return
    output.did(f"{path} was written")
    if output.as_json:
        output.json({"path": path, "format": "jsonl", "commit": commit.id, "records": count})
    else:
        output.line(f"wrote {path}: {describe.counted(count, 'record')} as of {at}")

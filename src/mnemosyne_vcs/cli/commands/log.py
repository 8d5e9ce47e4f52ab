"""`mnem log`."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import PagedVerb, pass_session
from mnemosyne_vcs.cli.output import Output, Part, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.format.validation import check_limit
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.present.lookup import RUN_TRAILER, find_run, history_of
from mnemosyne_vcs.present.to_json import commit_json
from mnemosyne_vcs.refs import ROOT_COMMIT
from mnemosyne_vcs.repository import Repository
from mnemosyne_vcs.revision import parse_time
from mnemosyne_vcs.trees import Tree

_FILTERS = ("key", "prefix", "author", "agent", "run", "source", "since", "until")


@click.command("log", cls=PagedVerb)
@click.argument("revision", required=False, shell_complete=completion.revisions)
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="At most N commits.")
@click.option(
    "--key",
    metavar="KEY",
    help="Only commits that changed this record.",
    shell_complete=completion.keys,
)
@click.option(
    "--prefix",
    metavar="PREFIX",
    help="Only commits that changed a record whose key starts with this.",
)
@click.option("--author", metavar="NAME", help="Only commits by this author.")
@click.option("--agent", metavar="NAME", help="Only commits that wrote a record by this agent.")
@click.option("--run", metavar="ID", help="Only commits of a run; a start of its id is enough.")
@click.option("--source", metavar="NAME", help="Only commits that wrote a record from this source.")
@click.option("--since", metavar="TIME", help="Only commits at or after this time.")
@click.option(
    "--until", metavar="TIME", help="Only commits at or before this time, or dated in the future."
)
@click.option("--first-parent", is_flag=True, help="Follow only the first parent of merges.")
@click.option("--all", "every", is_flag=True, help="Commits of all branches and tags.")
@click.option("--graph", is_flag=True, help="Draw the commit graph.")
@click.option(
    "--oneline", is_flag=True, help="One line for each commit, without run, save and crew."
)
@pass_session
def command(
    session: Session,
    revision: str | None,
    limit: int | None,
    every: bool,
    graph: bool,
    oneline: bool,
    **wanted: Any,
) -> None:
    """List commits up to REVISION, newest first.

    Commits must match all filters. A TIME is written as 2026-11-01T09:00Z, yesterday or '3 hours
    ago'.
    """
    filters = [f"--{name}" for name in _FILTERS if wanted[name] is not None]
    if filters and graph:
        raise click.UsageError(f"--graph shows every commit and cannot be used with {filters[0]}")
    if every and (revision or wanted["first_parent"]):
        raise click.UsageError("--all goes with neither REVISION nor --first-parent")
    repository, output = session.open(), session.output
    at = revision or session.branch
    commits = islice(_wanted(repository, at, every=every, **wanted), check_limit(limit))
    if output.as_json:
        found = _print_json(output, commits)
    elif graph:
        found = _draw(output, repository, commits, oneline, wanted["first_parent"])
    else:
        found = _list(output, repository, commits, oneline)
    if not found and limit != 0:
        none = "no such commit" if filters else "no commits yet"
        output.remark(none if every else f"{none} up to {at}")


def _wanted(
    repository: Repository,
    at: str,
    *,
    every: bool,
    key: str | None,
    run: str | None,
    since: str | None,
    until: str | None,
    **others: Any,
) -> Iterator[Commit]:
    now = time.time_ns() // 1_000_000
    log = partial(repository.log, all=True) if every else partial(repository.log, at)
    run = None if run is None else _run(log, run)
    return log(
        key=key if key is None or every else history_of(repository, key, at)[0],
        run=run,
        trailer=None if run is None else (RUN_TRAILER, run),
        since=None if since is None else parse_time(since, now),
        until=None if until is None else parse_time(until, now),
        **others,
    )


def _run(log: Callable[..., Iterator[Commit]], text: str) -> str:
    """The run that a text means: a whole id, which is found without reading every commit, or the
    start of one."""
    whole = any(log(run=text, trailer=(RUN_TRAILER, text), limit=1))
    return text if whole else find_run(log(), text)


def _print_json(output: Output, commits: Iterable[Commit]) -> bool:
    found = False
    for commit in commits:
        found = True
        output.json(commit_json(commit))
    return found


def _list(output: Output, repository: Repository, commits: Iterable[Commit], oneline: bool) -> bool:
    found = False
    for commit in commits:
        found = True
        for line in _lines(repository, commit, oneline):
            output.line(*line)
    return found


def _draw(
    output: Output,
    repository: Repository,
    commits: Iterator[Commit],
    oneline: bool,
    first_parent: bool,
) -> bool:
    """Print commits beside their graph, with their branches and tags."""
    from mnemosyne_vcs.cli.graph import characters, draw
    from mnemosyne_vcs.present.graph_layout import layout

    chars, names, shown = characters(), _names(repository), list[Commit]()

    def edges() -> Iterator[tuple[str, list[str]]]:
        for commit in commits:
            shown.append(commit)
            parents = commit.parents[:1] if first_parent else commit.parents
            yield commit.id, [parent for parent in parents if parent != ROOT_COMMIT.id]

    found = False
    for row in layout(edges()):
        found = True
        texts = list(_lines(repository, shown.pop(), oneline))
        if row.id in names:
            texts[0].insert(1, Styled(f"  ({', '.join(names[row.id])})", "good"))
        for number, left in enumerate(draw(row, len(texts), chars)):
            text = texts[number] if number < len(texts) else []
            output.line(left.rstrip() if not text else f"{left}  ", *text)
    return found


def _names(repository: Repository) -> dict[str, list[str]]:
    """The branches and tags of each commit that has any."""
    names: dict[str, list[str]] = {}
    for kind in (repository.branches(), repository.tags()):
        for name, commit in kind.items():
            names.setdefault(commit, []).append(name)
    return names


def _lines(repository: Repository, commit: Commit, oneline: bool) -> Iterator[list[Part]]:
    yield [*describe.byline(commit), "  ", _title(repository, commit)]
    trailers = describe.trailers(commit)
    if trailers and not oneline:
        yield [" " * 12, Styled(trailers, "dim")]


def _title(repository: Repository, commit: Commit) -> Styled:
    """The commit's message; without one, what it did."""
    if commit.message:
        return Styled(describe.title(commit), "title")
    return Styled(_counts(repository, commit), "dim")


def _counts(repository: Repository, commit: Commit) -> str:
    """The number of records that a commit added, changed and removed, without reading them."""
    blocks = repository.blocks
    before, after = Tree.before(blocks, commit), Tree.of(blocks, commit)
    counts = {"added": 0, "changed": 0, "removed": 0}
    for _, old, new in before.diff(after):
        counts["added" if old is None else "removed" if new is None else "changed"] += 1
    return describe.change_counts(counts)

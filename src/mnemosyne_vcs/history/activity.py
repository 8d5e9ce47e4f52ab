"""The agents, runs and sources of a history: by the engine's index of facts, or by search."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from itertools import islice

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.graph import ancestors
from mnemosyne_vcs.history.facts import RUN_TRAILER, commit_facts, known_facts, written
from mnemosyne_vcs.history.index import find_commit
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Commit

__all__ = ["Activity", "activities"]


@dataclass(frozen=True, slots=True)
class Activity:
    """The commits of one agent, run or source.

    Attributes:
        name: the agent, the run or the source.
        commits: how many commits wrote a record that names it.
        first: the oldest of them.
        last: the newest of them.
    """

    name: str
    commits: int
    first: Commit
    last: Commit


def activities(
    blocks: Blocks, heads: Collection[Commit], field: str, limit: int | None = None
) -> list[Activity]:
    """What the commits up to some others say in a field, that of the newest commit first.

    The engine's index tells which commits say what. That the first and the last commit of each do
    is read; if one does not, all commits are read.

    Args:
        blocks: the objects.
        heads: the commits to look back from.
        field: `agent`, `run` or `source`.
        limit: how many at most.
    """

    def values(commit: Commit) -> set[str]:
        return {value for name, value in commit_facts(blocks, commit) if name == field}

    named = _named(blocks, heads, field, values)
    if named is not None:
        found = _found(blocks, heads, lambda commit: named.get(commit.cid, ()), limit)
        if _are_true(blocks, field, found):
            return found
    return _found(blocks, heads, values, limit)


def _named(
    blocks: Blocks, heads: Iterable[Commit], field: str, read: Callable[[Commit], Iterable[str]]
) -> dict[Id, list[str]] | None:
    """What the index says that each commit says; None if it is not complete."""
    known = known_facts(blocks, heads)
    if known is None:
        return None
    named: dict[Id, list[str]] = {}
    for commit, value in known.index.values_of_facts(field):
        named.setdefault(commit, []).append(value)
    for commit in filter(None, (find_commit(blocks, each) for each in known.unknown)):
        named[commit.cid] = list(read(commit))
    return named


def _are_true(blocks: Blocks, field: str, found: Iterable[Activity]) -> bool:
    """Whether the first and the last commit of each say what it is listed for."""
    names: dict[str, tuple[Commit, set[str]]] = {}
    for each in found:
        for commit in (each.first, each.last):
            names.setdefault(commit.id, (commit, set()))[1].add(each.name)
    return all(_says(blocks, commit, field, each) for commit, each in names.values())


def _says(blocks: Blocks, commit: Commit, field: str, names: set[str]) -> bool:
    """Whether a commit says all of some values; it is read as far as that takes."""
    missing = names - {commit.trailers.get(RUN_TRAILER)} if field == "run" else set(names)
    for record in written(blocks, commit) if missing else ():
        missing.discard(getattr(record.provenance, field))
        if not missing:
            break
    return not missing


def _found(
    blocks: Blocks,
    heads: Iterable[Commit],
    values: Callable[[Commit], Iterable[str]],
    limit: int | None,
) -> list[Activity]:
    found: dict[str, Activity] = {}
    for commit in ancestors(blocks.walk(), [head.cid for head in heads]):
        for name in sorted(values(commit)):
            known = found.get(name, Activity(name, 0, commit, commit))
            found[name] = replace(known, commits=known.commits + 1, first=commit)
    return list(islice(found.values(), limit))

"""The commit graph: pure functions over a lookup from commit id to commit."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Literal, TypeAlias

from mnemosyne_vcs.errors import InconclusiveError
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Commit

__all__ = [
    "Lookup",
    "Verdict",
    "ancestors",
    "bisect",
    "first_parents",
    "is_ancestor",
    "merge_bases",
]

Lookup: TypeAlias = Callable[[Id], Commit]
"""Gives the commit that an id names."""

Verdict: TypeAlias = bool | Literal["skip"]
"""Whether something holds at a commit; `skip` if that cannot be decided."""


def ancestors(lookup: Lookup, heads: Iterable[Id], *, since: int = 0) -> Iterator[Commit]:
    """Commits reachable from the heads, the heads included, each once and before its parents.

    Newest first: by generation, then time, then id.

    Args:
        lookup: gives a commit by its id.
        heads: ids of the commits to start from.
        since: UTC milliseconds; older commits are left out, with everything before them.
    """
    seen: set[Id] = set()
    queue: list[tuple[int, int, str, Commit]] = []

    def enqueue(cid: Id) -> None:
        if cid not in seen:
            seen.add(cid)
            commit = lookup(cid)
            if commit.timestamp_ms >= since:
                heappush(queue, (-commit.generation, -commit.timestamp_ms, commit.id, commit))

    for head in heads:
        enqueue(head)
    while queue:
        commit = heappop(queue)[3]
        yield commit
        for parent in commit.parent_cids:
            enqueue(parent)


def first_parents(lookup: Lookup, head: Id) -> Iterator[Commit]:
    """The commit itself, then its first parent, and so on to the first commit.

    Args:
        lookup: gives a commit by its id.
        head: id of the commit to start from.
    """
    commit = lookup(head)
    yield commit
    while commit.parent_cids:
        commit = lookup(commit.parent_cids[0])
        yield commit


def is_ancestor(lookup: Lookup, ancestor: Id, descendant: Id) -> bool:
    """Whether one commit is the other or in its past.

    Args:
        lookup: gives a commit by its id.
        ancestor: id of the commit that is looked for.
        descendant: id of the commit whose past is searched.
    """
    generation = lookup(ancestor).generation
    for commit in ancestors(lookup, [descendant]):
        if commit.cid == ancestor:
            return True
        if commit.generation < generation:
            return False
    return False


def bisect(
    lookup: Lookup,
    probe: Callable[[Commit], Verdict],
    good: Id,
    bad: Id,
    *,
    descend: bool = True,
) -> Commit:
    """The commit that made something hold: it holds there, and not before.

    Searches the line of first parents from `bad` back to the past of `good`. If the answer is a
    merge and it holds on a side that was merged, the search continues there.

    Args:
        lookup: gives a commit by its id.
        probe: whether it holds at a commit; called at most once for each.
        good: id of a commit at which it does not hold.
        bad: id of a commit at which it holds, not in the past of `good`.
        descend: whether to search merged sides.

    Raises:
        InconclusiveError: the answer for all remaining commits was `skip`.
    """
    line, known = _line(lookup, bad, good), good
    while True:
        index = _first(line, probe)
        found = line[index]
        known = line[index - 1].cid if index else known
        merged = found.parent_cids[1:] if descend else ()
        side = _line(lookup, merged[0], known) if merged else []
        verdict = probe(side[-1]) if side else False
        if verdict == "skip":
            raise _inconclusive([*side, found])
        if not verdict:
            return found
        line = side


def _line(lookup: Lookup, head: Id, known: Id) -> list[Commit]:
    """First parents from a head, oldest first, without those in the past of a known commit."""
    border = lookup(known)
    past: set[Id] | None = None
    line: list[Commit] = []
    for commit in first_parents(lookup, head):
        if commit.generation <= border.generation:
            if past is None and commit.cid != known:
                past = {each.cid for each in ancestors(lookup, [known])}
            if past is None or commit.cid in past:
                break
        line.append(commit)
    return line[::-1]


def _first(line: Sequence[Commit], probe: Callable[[Commit], Verdict]) -> int:
    """The index of the first commit of a line at which it holds; it does at the last."""
    low, high = -1, len(line) - 1
    skipped: set[int] = set()
    while open_ones := [i for i in range(low + 1, high) if i not in skipped]:
        middle = (low + high) / 2
        index = min(open_ones, key=lambda i: abs(i - middle))
        verdict = probe(line[index])
        if verdict == "skip":
            skipped.add(index)
        elif verdict:
            high = index
        else:
            low = index
    if high - low > 1:
        raise _inconclusive(line[low + 1 : high + 1])
    return high


def _inconclusive(candidates: Sequence[Commit]) -> InconclusiveError:
    return InconclusiveError(
        f"it was one of {len(candidates)} commits, and the rest were skipped; look at the "
        "candidates yourself",
        candidates,
    )


_OURS, _THEIRS, _BELOW = 1, 2, 4


def merge_bases(lookup: Lookup, ours: Collection[Id], theirs: Id) -> list[Commit]:
    """The best common ancestors: those that are not an ancestor of another common ancestor.

    Reads the commits of either side down to the bases, and no further.

    Args:
        lookup: gives a commit by its id.
        ours: ids of the commits of one side; several mean a merge of all of them.
        theirs: id of the commit of the other side.

    Returns:
        The bases by generation, then id; more than one where histories cross.
    """
    marks: dict[Id, int] = {}
    queue: list[tuple[int, str, Commit]] = []
    open_ends = 0

    def mark(cid: Id, new: int) -> None:
        nonlocal open_ends
        old = marks.get(cid)
        marks[cid] = new if old is None else old | new
        open_ends += not marks[cid] & _BELOW
        if old is None:
            commit = lookup(cid)
            heappush(queue, (-commit.generation, commit.id, commit))
        else:
            open_ends -= not old & _BELOW

    for head in ours:
        mark(head, _OURS)
    mark(theirs, _THEIRS)
    bases: list[Commit] = []
    while open_ends:
        commit = heappop(queue)[2]
        found = marks[commit.cid]
        open_ends -= not found & _BELOW
        if found == _OURS | _THEIRS:
            bases.append(commit)
            found |= _BELOW
        for parent in commit.parent_cids:
            mark(parent, found)
    return sorted(bases, key=lambda commit: (commit.generation, commit.id))

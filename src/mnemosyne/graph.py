"""The commit graph: pure functions over a lookup from commit id to commit."""

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush

from mnemosyne.model import Commit

__all__ = ["Lookup", "ancestors", "first_parents", "is_ancestor"]

Lookup = Callable[[str], Commit]


def ancestors(lookup: Lookup, heads: Iterable[str]) -> Iterator[Commit]:
    """Commits reachable from the heads, the heads included, each once and before its parents.

    Newest first: by generation, then time, then id.

    Args:
        lookup: gives a commit by its id.
        heads: ids of the commits to start from.
    """
    seen: set[str] = set()
    queue: list[tuple[int, int, str]] = []

    def enqueue(commit_id: str) -> None:
        if commit_id not in seen:
            seen.add(commit_id)
            commit = lookup(commit_id)
            heappush(queue, (-commit.generation, -commit.time, commit_id))

    for head in heads:
        enqueue(head)
    while queue:
        commit = lookup(heappop(queue)[2])
        yield commit
        for parent in commit.parents:
            enqueue(parent)


def first_parents(lookup: Lookup, head: str) -> Iterator[Commit]:
    """The commit itself, then its first parent, and so on to the first commit.

    Args:
        lookup: gives a commit by its id.
        head: id of the commit to start from.
    """
    commit = lookup(head)
    yield commit
    while commit.parents:
        commit = lookup(commit.parents[0])
        yield commit


def is_ancestor(lookup: Lookup, ancestor: str, descendant: str) -> bool:
    """Whether one commit is the other or lies in its past.

    Args:
        lookup: gives a commit by its id.
        ancestor: id of the commit that is looked for.
        descendant: id of the commit whose past is searched.
    """
    generation = lookup(ancestor).generation
    for commit in ancestors(lookup, [descendant]):
        if commit.id == ancestor:
            return True
        if commit.generation < generation:
            return False
    return False

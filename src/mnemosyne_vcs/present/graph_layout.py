"""The place of each commit in a drawing of their graph.

Commits are rows and lines of descent are lanes, counted from 0 at the left. A row is laid out as
soon as its commit is known, so that a long history is drawn while it is read.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

__all__ = ["Edge", "Row", "layout"]


class Edge(NamedTuple):
    """A line from one row to the next.

    Attributes:
        top: the lane that it starts in.
        bottom: the lane that it ends in.
    """

    top: int
    bottom: int


class Row(NamedTuple):
    """One commit, and the lines below it.

    Attributes:
        id: the commit.
        lane: its lane.
        passing: the lanes of the lines that pass by it, in order.
        edges: the lines from here to the next row, in order; those of the commit itself start
            in its lane.
    """

    id: str
    lane: int
    passing: tuple[int, ...]
    edges: tuple[Edge, ...]


def layout(commits: Iterable[tuple[str, Sequence[str]]]) -> Iterator[Row]:
    """Give each commit a lane, and lead lines to its parents.

    A commit is in the lane of the child that expects it, and a first parent below its child. A
    lane whose line has ended is used again.

    Args:
        commits: id and ids of parents of each, every commit before its parents. Lines to parents
            that never come go on to the end.
    """
    lanes: list[str | None] = []
    """The commit that each lane leads to; None for a free lane."""
    for commit, parents in commits:
        lane = lanes.index(commit) if commit in lanes else _free(lanes)
        passing = [i for i, each in enumerate(lanes) if each is not None and i != lane]
        before = {i: lanes[i] for i in passing}
        lanes[lane] = None
        _expect(lanes, lane, parents)
        edges = [Edge(i, lanes.index(each)) for i, each in before.items()]
        edges += [Edge(lane, lanes.index(parent)) for parent in dict.fromkeys(parents)]
        yield Row(commit, lane, tuple(passing), tuple(sorted(edges)))


def _expect(lanes: list[str | None], lane: int, parents: Sequence[str]) -> None:
    """Let a lane lead to the first parent, and another to each parent that none leads to."""
    for number, parent in enumerate(parents):
        if parent not in lanes:
            lanes[_free(lanes) if number else lane] = parent
        elif number == 0 and lane < (other := lanes.index(parent)):
            lanes[other], lanes[lane] = None, parent
    while lanes and lanes[-1] is None:
        lanes.pop()


def _free(lanes: list[str | None]) -> int:
    """The first lane that leads nowhere; a new one if all lead somewhere."""
    if None not in lanes:
        lanes.append(None)
    return lanes.index(None)

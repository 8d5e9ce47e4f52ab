"""The commit graph: ancestry and merge bases, against the definition by sets."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.graph import ancestors, first_parents, is_ancestor, merge_bases
from mnemosyne_vcs.ids import Id, text_id
from mnemosyne_vcs.model import Commit

Parents = Sequence[Sequence[int]]


class Graph:
    """Commits named by number, given the numbers of the parents of each."""

    def __init__(self, parents: Parents) -> None:
        self.commits: dict[Id, Commit] = {}
        self.past: list[set[int]] = []
        self.read: set[Id] = set()
        for number, above in enumerate(parents):
            generation = 1 + max((self[p].generation for p in above), default=-1)
            self.past.append(set[int]().union(above, *(self.past[p] for p in above)))
            ids = tuple(text_id(name(each)) for each in above)
            self.commits[name(number)] = Commit(
                text_id(name(number)), ids, "", "", "", str(number), number, generation
            )

    def __getitem__(self, number: int) -> Commit:
        return self.commits[name(number)]

    def lookup(self, commit: Id) -> Commit:
        self.read.add(commit)
        return self.commits[commit]

    def bases(self, ours: Sequence[int], theirs: int) -> list[int]:
        found = merge_bases(self.lookup, [name(each) for each in ours], name(theirs))
        return [int(commit.message) for commit in found]


def name(number: int) -> Id:
    return object_id(b"%d" % number)


@st.composite
def graphs(draw: st.DrawFn) -> Parents:
    size = draw(st.integers(1, 14))
    parents: list[list[int]] = [[]]
    for number in range(1, size):
        above = st.integers(max(0, number - 5), number - 1)
        parents.append(draw(st.lists(above, min_size=1, max_size=2, unique=True)))
    return parents


@given(graphs(), st.data())
def test_merge_bases_are_the_best_common_ancestors(parents: Parents, data: st.DataObject):
    graph = Graph(parents)
    numbers = st.sampled_from(range(len(parents)))
    ours, theirs = data.draw(st.lists(numbers, min_size=1, max_size=3)), data.draw(numbers)
    mine = set(ours).union(*(graph.past[each] for each in ours))
    common = mine & (graph.past[theirs] | {theirs})
    best = {c for c in common if not any(c in graph.past[other] for other in common)}
    found = graph.bases(ours, theirs)
    assert found == sorted(best, key=lambda c: (graph[c].generation, graph[c].id))
    if len(ours) == 1:
        assert graph.bases([theirs], ours[0]) == found


@given(graphs(), st.data())
def test_ancestry(parents: Parents, data: st.DataObject):
    graph = Graph(parents)
    head = data.draw(st.sampled_from(range(len(parents))))
    past = graph.past[head] | {head}
    line = [int(c.message) for c in ancestors(graph.lookup, [name(head)])]
    assert set(line) == past
    assert len(line) == len(past)
    for index, commit in enumerate(line):
        assert not graph.past[commit] & set(line[:index]), "a commit comes before its parents"
    for other in range(len(parents)):
        assert is_ancestor(graph.lookup, name(other), name(head)) == (other in past)
    assert [c.cid for c in first_parents(graph.lookup, name(head))][-1] == name(0)


@pytest.mark.parametrize(
    ("parents", "ours", "theirs", "bases"),
    [
        ([[], [0], [0]], [1], 2, [0]),
        ([[], [0], [1]], [2], 1, [1]),
        ([[], [0]], [1], 1, [1]),
        ([[], [0], [0], [1, 2], [2, 1]], [3], 4, [1, 2]),
        ([[], [0], [0], [0], [1, 2], [3]], [4], 5, [0]),
        ([[], [0], [0], [1, 2], [1, 2], [3, 4], [4, 3]], [5], 6, [3, 4]),
        ([[], [], [0], [1]], [2], 3, []),
    ],
    ids=["fork", "behind", "same", "crossed", "octopus", "crossed twice", "unrelated"],
)
def test_merge_bases_of(parents: Parents, ours: list[int], theirs: int, bases: list[int]):
    assert sorted(Graph(parents).bases(ours, theirs)) == bases


def test_bases_near_by_are_found_without_reading_the_past():
    length = 10_000
    line: list[list[int]] = [[], *([n] for n in range(length))]
    graph = Graph([*line, [length], [length], [length + 1]])
    assert graph.bases([length + 3], length + 2) == [length]
    assert len(graph.read) <= 6

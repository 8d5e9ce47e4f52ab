"""The commit graph: where commits stand, how it is drawn, `mnem log --graph`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs.cli.graph import ASCII, UNICODE, draw
from mnemosyne_vcs.ids import short_id
from mnemosyne_vcs.present.graph_layout import Edge, layout

from .conftest import RUN_2

MERGED = [("m", ["a", "b"]), ("b", ["r"]), ("a", ["r"]), ("r", [])]


def drawn(commits, chars=UNICODE, lines=1):
    return [line.rstrip() for row in layout(commits) for line in draw(row, lines, chars)]


def test_a_line_is_one_lane():
    rows = list(layout([("c", ["b"]), ("b", ["a"]), ("a", [])]))

    assert [row.lane for row in rows] == [0, 0, 0]
    assert [row.edges for row in rows] == [(Edge(0, 0),), (Edge(0, 0),), ()]


def test_a_merge_and_its_sides():
    assert drawn(MERGED) == ["●", "├─╮", "│ ●", "● │", "├─╯", "●"]
    assert drawn(MERGED, ASCII) == ["*", "+-.", "| *", "* |", "+-'", "*"]


def test_lines_of_text_beside_a_commit_lead_on():
    assert drawn([("b", ["a"]), ("a", [])], lines=3) == ["●", "│", "│", "●", "", ""]


def test_three_parents():
    commits = [("o", ["a", "b", "c"]), ("c", ["r"]), ("b", ["r"]), ("a", ["r"]), ("r", [])]

    assert drawn(commits) == ["●", "├─┬─╮", "│ │ ●", "│ ● │", "│ ├─╯", "● │", "├─╯", "●"]


def test_two_heads_and_a_lane_that_is_free_again():
    commits = [("a2", ["a1"]), ("b", ["r"]), ("a1", ["r"]), ("c", ["r"]), ("r", [])]

    assert drawn(commits) == ["●", "│ ●", "● │", "├─╯", "│ ●", "├─╯", "●"]


def test_a_line_over_another_one():
    commits = [
        ("m", ["a", "b"]), ("b", ["r"]), ("n", ["a", "q"]), ("q", ["r"]), ("a", ["r"]), ("r", []),
    ]  # fmt: skip
    shown = drawn(commits)

    assert shown[:3] == ["●", "├─╮", "│ ●"]
    assert shown[3:5] == ["│ │ ●", "├─┼─┤"]


def test_parents_that_are_not_shown_lead_on_to_the_end():
    assert drawn([("c", ["b"]), ("x", ["b"])]) == ["●", "│ ●", "├─╯"]


@st.composite
def graphs(draw_from):
    count = draw_from(st.integers(1, 25))
    commits = []
    for number in range(count):
        older = st.integers(number + 1, count - 1)
        parents = draw_from(st.lists(older, max_size=3, unique=True)) if number < count - 1 else []
        commits.append((str(number), [str(parent) for parent in parents]))
    return commits


@given(graphs())
def test_every_line_leads_from_a_commit_to_its_parent(commits):
    """Followed through the rows, the lines are just the pairs of child and parent."""
    parents = dict(commits)
    ends, found = {}, set()
    for row in layout(commits):
        children = ends.pop(row.lane, set())
        found |= {(child, row.id) for child in children}
        assert set(row.passing) == set(ends)
        following = {}
        for edge in row.edges:
            own = {row.id} if edge.top == row.lane else ends[edge.top]
            following.setdefault(edge.bottom, set()).update(own)
        ends = following
        assert all(len(line) <= 2 * len(commits) * 3 for line in draw(row, 2, UNICODE))
    assert not ends
    assert found == {(child, parent) for child in parents for parent in parents[child]}


class TestLog:
    @pytest.fixture
    def merged(self, store):
        with mnemosyne_vcs.open(store.path, author="lead") as repo:
            repo.put("later", 1, message="later on main")
            merge = repo.merge("what-if")
            return merge.id

    def test_text(self, mnem, store, merged):
        lines = mnem("log", "--graph", "--oneline").lines

        assert [line.partition("  ")[0] for line in lines] == [
            "●", "├─╮", "● │", "│ ●", "├─╯", "●", "●",
        ]  # fmt: skip
        assert lines[0].split()[1:3] == [short_id(merged), "(main)"]
        assert "(what-if)" in lines[3]

    def test_trailers_stand_beside_the_graph(self, mnem, store):
        lines = mnem("log", "--graph").lines

        assert [line[0] for line in lines] == ["●", "│", "●", " "]
        assert lines[1].split()[1:3] == ["run", RUN_2[:8]]

    def test_first_parents(self, mnem, store, merged):
        lines = mnem("log", "--graph", "--first-parent", "--oneline").lines

        assert len(lines) == 4
        assert all(line.startswith("●  ") for line in lines)

    def test_all_branches(self, mnem, store):
        assert len(mnem("log", "--json").lines) == 2
        assert len(mnem("log", "--all", "--json").lines) == 3
        assert "(what-if)" in mnem("log", "--all", "--graph").stdout

    def test_filters_go_with_all(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            there = repo.put("x/1", 1, branch="what-if", author="ann")
            repo.put("x/1", 2, author="bob")

        assert mnem("log", "--all", "--oneline", "--author", "ann").lines == [
            line for line in mnem("log", "--all", "--oneline").lines if there.short_id in line
        ]
        assert len(mnem("log", "--all", "--oneline", "--key", "x/1").lines) == 2
        assert len(mnem("log", "--all", "--oneline", "--prefix", "x/", "-n", "1").lines) == 1

    def test_characters_that_stdout_cannot_take(self, process, store, merged):
        lines = process("log", "--graph", "--oneline", PYTHONIOENCODING="ascii").lines

        assert [line.partition("  ")[0] for line in lines][:3] == ["*", "+-.", "* |"]

    def test_json_is_that_of_log(self, mnem, store, merged):
        assert mnem("log", "--graph", "--json").stdout == mnem("log", "--json").stdout

    @pytest.mark.parametrize(
        "arguments", [("--graph", "--key", "x"), ("--all", "main"), ("--all", "--first-parent")]
    )
    def test_what_does_not_go_together(self, mnem, store, arguments):
        mnem("log", *arguments, code=2)

"""`mnem diff`: between any two revisions, field by field."""

import pytest

import mnemosyne_vcs

from .conftest import NOTE, PLAN, TEAM

ADDED = f"added  {TEAM}"


def test_what_the_newest_commit_changed(mnem, store):
    assert mnem("diff").lines == mnem("diff", "main~1", "main").lines
    assert mnem("diff").lines[:3] == [
        f"changed  {PLAN}",
        '           content: "4821 is on Enterprise" → "4821 is on Free"',
        "           importance: 0.5 → 0.9",
    ]


def test_with_one_revision_the_branch_is_the_other(mnem, store):
    assert mnem("diff", "main", "-b", "what-if").lines == mnem("diff", "main", "what-if").lines
    assert mnem("diff", "main", "what-if").lines == ["added  notes:1/x", '         {"a": 1}']


@pytest.mark.parametrize("ends", ["main..what-if", "..what-if"])
def test_two_dots(mnem, store, ends):
    assert mnem("diff", ends).lines == mnem("diff", "main", "what-if").lines


def test_the_other_way_round_removes(mnem, store):
    assert mnem("diff", "what-if", "main").lines[0] == "removed  notes:1/x"


def test_only_a_prefix(mnem, store):
    ran = mnem("diff", "main~2", "--prefix", "/crew/support/1111-not")
    assert ran.stdout == "" and "no differences" in ran.stderr

    keys = [change["key"] for change in mnem("diff", "main~2", "--prefix", TEAM, "--json").jsonl]
    assert keys == [TEAM]


def test_json_is_one_change_a_line(mnem, store):
    changes = mnem("diff", "main~2", "main", "--json").jsonl

    assert [change["key"] for change in changes] == [NOTE, PLAN, TEAM]
    assert {change["kind"] for change in changes} == {"added"}
    [change] = mnem("diff", "--json").jsonl
    assert change["fields"][0] == {
        "field": "content",
        "before": "4821 is on Enterprise",
        "after": "4821 is on Free",
        "kind": "changed",
    }


def test_null_is_a_value_and_a_vector_has_no_numbers(mnem, store):
    with mnemosyne_vcs.open(store.path) as repo:
        repo.put("x", {"a": 1}, embedding=[1, 0, 0])
        repo.put("x", {"a": None}, embedding=[0, 1, 0])

    assert mnem("diff").lines == [
        "changed  x",
        "           a: 1 → null",
        "           (embedding) changed",
    ]


def test_counts(mnem, store):
    assert mnem("diff", "main~2", "--stat").stdout == "3 added\n"
    assert mnem("diff", "main", "main", "--stat").stdout == "no differences\n"
    assert mnem("diff", "--stat", "--json").json == {
        "added": 0,
        "changed": 1,
        "moved": 0,
        "removed": 0,
    }


def test_of_an_empty_store(mnem):
    mnem("init")

    assert mnem("diff").stdout == ""
    assert mnem("diff", "--json").stdout == ""


def test_bad_revisions(mnem, store):
    assert "nope" in mnem("diff", "nope", code=3).stderr
    assert mnem("diff", "main~99", code=3).stderr
    assert mnem("diff", "main@{", "--json", code=5).error["kind"] == "invalid-revision"
    assert "both commits" in mnem("diff", "main..main", "main", code=2).stderr

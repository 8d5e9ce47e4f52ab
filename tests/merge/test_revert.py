"""Acting on history: revert, cherry-pick, restore, undo."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import ReadOnlyError, ValidationError
from mnemosyne_vcs.testing.repository.revert import RevertContract


class TestRevert(RevertContract):
    pass


@pytest.mark.parametrize("parent", [-1, 0, 2])
def test_a_parent_that_a_commit_does_not_have(repo, parent):
    commit = repo.put("a", 1)
    for act in (repo.revert, repo.cherry_pick):
        with pytest.raises(ValidationError, match=f"has 1 parents; there is no number {parent}"):
            act(commit, parent=parent)


def test_an_undo_of_what_has_come_back_by_itself_is_no_conflict(repo):
    """The newer of two stretches clashes with it, but the whole does not."""
    for content, task in ((1, ""), (2, "bad"), (3, ""), (4, "bad"), (1, "")):
        repo.transact(lambda tx, to=content: tx.put("a", to), trailers={"Task": task})
    repo.transact(lambda tx: tx.put("b", 1), trailers={"Task": "bad"})
    plan = repo.plan_undo(trailer=("Task", "bad"))
    assert plan.conflicts == ()
    assert [change.key for change in plan.changes] == ["b"]
    plan.apply()
    assert {record.key: record.content for record in repo.at().scan()} == {"a": 1}


def test_an_undo_of_what_was_changed_to_something_else_is_a_conflict(repo):
    for content, task in ((1, ""), (2, "bad"), (3, ""), (4, "bad"), (9, "")):
        repo.transact(lambda tx, to=content: tx.put("a", to), trailers={"Task": task})
    assert [each.key for each in repo.plan_undo(trailer=("Task", "bad")).conflicts] == ["a"]


def test_a_read_only_repository_plans_and_does_not_act(tmp_path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True) as repo:
        repo.put("a", 1)
    with mnemosyne_vcs.open(tmp_path / "a.mnem", read_only=True) as repo:
        assert [change.kind for change in repo.plan_undo().changes] == ["removed"]
        for act in (repo.undo, lambda: repo.revert("main"), lambda: repo.restore(source="main~1")):
            with pytest.raises(ReadOnlyError):
                act()

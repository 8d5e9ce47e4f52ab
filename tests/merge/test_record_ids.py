"""Keys that begin with `/` end in a record id, which stands under one key of a branch."""

from typing import Any

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import ConflictError, Provenance, Repository


def present(repo: Repository, revision: str = "main") -> dict[str, Any]:
    return {record.key: record.content for record in repo.at(revision).scan()}


def clash(error: pytest.ExceptionInfo[ConflictError]) -> tuple[str, str, str, str]:
    (conflict,) = error.value.conflicts
    assert conflict.base is None
    assert conflict.ours
    assert conflict.theirs
    return conflict.key, conflict.kind, conflict.ours.key, conflict.theirs.key


@pytest.fixture
def doubled(repo: Repository) -> Repository:
    """Each of two branches has added a record with the id `r`, in another scope."""
    repo.create_branch("side")
    repo.put("/b/r", "ours", embedding=[1, 0])
    repo.put("/a/r", "theirs", branch="side", embedding=[0, 1])
    repo.put("/a/fits", 1, branch="side")
    return repo


def test_one_id_added_in_two_scopes_is_a_conflict(doubled: Repository):
    with pytest.raises(ConflictError, match="'/b/r' and '/a/r' \\(same-id\\)") as error:
        doubled.merge("side")
    assert clash(error) == ("/a/r", "same-id", "/b/r", "/a/r")
    assert present(doubled) == {"/b/r": "ours"}
    with pytest.raises(ConflictError) as error:
        doubled.merge("main", into="side")
    assert clash(error) == ("/a/r", "same-id", "/a/r", "/b/r")


@pytest.mark.parametrize(
    ("resolution", "result"),
    [
        ("ours", {"/b/r": "ours"}),
        ("theirs", {"/a/r": "theirs"}),
        ("base", {}),
        ("delete", {}),
        (mnemosyne_vcs.Replacement("new"), {"/a/r": "new"}),
    ],
)
def test_every_way_out_leaves_one_or_none(doubled: Repository, resolution: Any, result: Any):
    commit = doubled.merge("side", resolutions={"/a/r": resolution})
    assert present(doubled) == {"/a/fits": 1, **result}
    assert commit.trailers["Resolved"]
    assert doubled.merge("side").id == commit.id
    assert doubled.verify().ok


def test_a_record_taken_from_theirs_keeps_its_writer(doubled: Repository):
    doubled.merge("side", on_conflict="theirs")
    assert doubled.blame("/a/r").commit.message == "put /a/r"
    assert doubled.at()["/a/r"].embedding.tolist() == [0.0, 1.0]


def test_both_sides_that_settled_it_differently_clash_again(doubled: Repository):
    doubled.create_branch("other", revision="side")
    doubled.merge("side", resolutions={"/a/r": "ours"})
    doubled.merge("main~1", into="other", resolutions={"/a/r": "ours"})
    assert present(doubled, "other") == {"/a/fits": 1, "/a/r": "theirs"}
    with pytest.raises(ConflictError):
        doubled.merge("other")
    for side, left in (("ours", "/b/r"), ("theirs", "/a/r"), ("delete", None)):
        doubled.create_branch(side)
        doubled.merge("other", into=side, on_conflict=side)
        assert set(present(doubled, side)) - {left} == {"/a/fits"}, side


def test_a_record_that_was_deleted_and_saved_elsewhere_was_moved(repo: Repository):
    repo.put("/a/r", {"x": 1, "y": 1})
    repo.create_branch("side")
    with repo.transaction() as tx:
        tx.delete("/a/r")
        tx.put("/b/r", {"x": 2, "y": 1})
    repo.put("/a/r", {"x": 1, "y": 2}, branch="side")
    repo.create_branch("mirror", revision="side")
    repo.merge("side")
    assert present(repo) == {"/b/r": {"x": 2, "y": 2}}
    repo.merge("main~1", into="mirror")
    assert present(repo, "mirror") == {"/b/r": {"x": 2, "y": 2}}


def test_two_such_moves_to_different_scopes_clash(repo: Repository):
    repo.put("/a/r", 1)
    repo.create_branch("side")
    for branch, key in (("main", "/b/r"), ("side", "/c/r")):
        with repo.transaction(branch) as tx:
            tx.delete("/a/r")
            tx.put(key, 1)
    with pytest.raises(ConflictError, match="'/a/r' \\(move/move\\)"):
        repo.merge("side")


def test_other_keys_have_no_ids(repo: Repository):
    repo.create_branch("side")
    repo.put("a/r", 1)
    repo.put("b/r", 2, branch="side")
    repo.put("/a/", 3, branch="side")
    repo.put("/b/", 3)
    repo.merge("side")
    assert present(repo) == {"a/r": 1, "b/r": 2, "/a/": 3, "/b/": 3}


def test_what_a_side_held_twice_before_is_its_own(repo: Repository):
    with repo.transaction() as tx:
        tx.put("/a/r", 1)
        tx.put("/b/r", 2)
    repo.create_branch("side")
    repo.put("/a/r", 3, branch="side")
    repo.put("/a/s", 4)
    repo.merge("side")
    assert present(repo) == {"/a/r": 3, "/a/s": 4, "/b/r": 2}


def test_revert_and_cherry_pick_say_so(repo: Repository):
    wrong = repo.put("/a/r", 1)
    gone = repo.delete("/a/r")
    repo.put("/b/r", 2)
    with pytest.raises(ConflictError, match="'/b/r' and '/a/r' \\(same-id\\)") as error:
        repo.revert(gone.id)
    assert clash(error)[1] == "same-id"
    with pytest.raises(ConflictError, match="same-id"):
        repo.cherry_pick(wrong.id)
    with pytest.raises(ConflictError, match="same-id"):
        repo.revert(gone.id, on_conflict=lambda _: None)
    plan = repo.plan_revert(gone.id)
    assert [conflict.kind for conflict in plan.conflicts] == ["same-id"]
    repo.revert(gone.id, on_conflict="theirs")
    assert present(repo) == {"/a/r": 1}


def test_undo_says_so(repo: Repository):
    repo.put("/a/r", 1)
    repo.transact(lambda tx: tx.delete("/a/r"), trailers={"Run-Id": "bad"})
    repo.put("/b/r", 2)
    with pytest.raises(ConflictError, match="same-id"):
        repo.undo(trailer=("Run-Id", "bad"))
    assert present(repo) == {"/b/r": 2}


def test_restore_of_a_subtree_says_so_and_of_everything_need_not(repo: Repository):
    then = repo.put("/a/r", 1)
    with repo.transaction() as tx:
        tx.move("/a/r", "/b/r")
    with pytest.raises(ConflictError, match="'/b/r' and '/a/r' \\(same-id\\)") as error:
        repo.restore("/a/", source=then.id)
    assert clash(error)[1] == "same-id"
    assert [c.kind for c in repo.plan_restore("/a/", source=then.id).conflicts] == ["same-id"]
    assert present(repo) == {"/b/r": 1}
    repo.restore(source=then.id)
    assert present(repo) == {"/a/r": 1}
    with repo.transaction() as tx:
        tx.delete("/a/r")
    repo.restore("/a/", source=then.id)
    assert present(repo) == {"/a/r": 1}


def test_restore_of_a_subtree_in_which_a_record_has_moved_needs_no_decision(repo: Repository):
    then = repo.put("/a/x/r", 1)
    with repo.transaction() as tx:
        tx.move("/a/x/r", "/a/y/r")
    repo.restore("/a/", source=then)
    assert present(repo) == {"/a/x/r": 1}


def test_restore_of_a_record_whose_id_was_held_twice_before_needs_no_decision(repo: Repository):
    then = repo.put("/a/r", 1)
    repo.put("/a/r", 2)
    repo.put("/b/r", "twice")
    repo.restore("/a/", source=then)
    assert present(repo) == {"/a/r": 1, "/b/r": "twice"}


def test_retract_deletes_what_would_stand_beside_another(repo: Repository):
    repo.put("/a/r", 1)
    commit = repo.transact(lambda tx: tx.move("/a/r", "/a/s"))
    repo.put("/b/r", 2)
    repo.retract(commit=commit.id)
    assert present(repo) == {"/b/r": 2}


def test_pull_says_so(repo: Repository, new_url: Any):
    with mnemosyne_vcs.open(new_url(), create=True) as other:
        other.put("/a/r", 1)
        repo.put("/b/r", 2)
        with pytest.raises(ConflictError, match="same-id"):
            repo.pull(other, allow_unrelated=True)
        repo.pull(other, on_conflict="ours", author="ann", allow_unrelated=True)
        assert present(repo) == {"/b/r": 2}


def test_a_run_that_is_traced_keeps_its_provenance(doubled: Repository):
    known = Provenance(source="mail")
    doubled.put("/a/r", "theirs", branch="side", embedding=[0, 1], provenance=known)
    doubled.merge("side", on_conflict="theirs")
    assert doubled.at()["/a/r"].provenance == known

"""Blame and the history of a key, through moves, merges, reverts and cherry-picks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import NotFoundError, Provenance, Repository
from mnemosyne_vcs.graph import ancestors
from mnemosyne_vcs.history.index import complete_index


def told(repo: Repository, key: str, at: str = "main") -> list[tuple[str, object]]:
    """The history of a key as messages and contents."""
    return [
        (each.commit.message, each.record.content if each.record else None)
        for each in repo.history(key, at)
    ]


def test_history_goes_through_merges(repo: Repository):
    repo.put("a", {"x": 1, "y": 1}, message="first")
    repo.create_branch("side")
    repo.put("a", {"x": 2, "y": 1}, branch="side", message="on side")
    repo.put("b", 1)
    repo.merge("side", message="merge 1")
    assert told(repo, "a") == [("on side", {"x": 2, "y": 1}), ("first", {"x": 1, "y": 1})]
    repo.put("a", {"x": 3, "y": 1}, branch="side", message="x")
    repo.put("a", {"x": 2, "y": 4}, message="y")
    merge = repo.merge("side", message="merge 2")
    assert told(repo, "a")[0] == ("merge 2", {"x": 3, "y": 4})
    assert {message for message, _ in told(repo, "a")} == {"merge 2", "x", "y", "on side", "first"}
    assert repo.blame("a").commit.id == merge.id
    assert repo.blame("a", field="x").commit.message == "x"
    assert repo.blame("a", field="y").commit.message == "y"


def test_history_goes_through_moves_merged_with_edits(repo: Repository):
    repo.put("old", {"x": 1, "y": 1}, message="first")
    repo.create_branch("side")
    repo.put("old", {"x": 2, "y": 1}, branch="side", message="edit")
    with repo.transaction(message="move") as tx:
        tx.move("old", "new")
    repo.merge("side", message="merge")
    assert repo.at()["new"].content == {"x": 2, "y": 1}
    messages = [message for message, _ in told(repo, "new")]
    assert messages[0] == "merge"
    assert sorted(messages) == ["edit", "first", "merge", "move"]
    assert repo.blame("new", field="x").commit.message == "edit"
    assert repo.blame("new", field="y").commit.message == "first"


def test_history_goes_through_reverts_and_undone_moves(repo: Repository):
    repo.put("old", 1, message="first")
    with repo.transaction(message="move") as tx:
        tx.move("old", "new")
    repo.undo(message="undo")
    assert told(repo, "old") == [("undo", 1), ("move", None), ("first", 1)]
    assert repo.blame("old").commit.message == "first"
    repo.revert("main", message="again")
    assert repo.blame("new").commit.message == "move"
    assert told(repo, "new")[0] == ("again", 1)
    assert told(repo, "new")[-1] == ("first", 1)


def test_a_key_that_a_merge_left_out(repo: Repository):
    repo.put("a", 1)
    repo.create_branch("side")
    with repo.transaction("side", message="move") as tx:
        tx.move("a", "b")
    repo.delete("a", message="delete")
    merge = repo.merge("side", on_conflict="ours")
    repo.put("c", 1)
    assert "b" not in repo.at()
    assert (repo.blame("b").record, repo.blame("b").commit.id) == (None, merge.id)
    assert repo.blame("a").commit.message in ("move", "delete")


def test_the_commit_that_last_changed_a_field(repo: Repository):
    repo.put("a", {"plan": {"tier": 1, "seats": 1}}, message="first", embedding=[1, 0])
    repo.put("a", {"plan": {"tier": 2, "seats": 1}}, message="tier", embedding=[1, 0])
    repo.put("a", {"plan": {"tier": 2, "seats": 2}}, message="seats", embedding=[0, 1])
    with repo.transaction(message="move") as tx:
        tx.move("a", "b")
    repo.put(
        "b",
        {"plan": {"tier": 2, "seats": 2}, "note": ["n"]},
        message="note",
        embedding=[0, 1],
        provenance=Provenance(source="doc"),
    )
    found = {
        field: repo.blame("b", field=field).commit.message
        for field in ("plan.tier", "plan.seats", "plan", "note", "note.0", "", "(embedding)")
    }
    assert found == {
        "plan.tier": "tier",
        "plan.seats": "seats",
        "plan": "seats",
        "note": "note",
        "note.0": "note",
        "": "note",
        "(embedding)": "seats",
    }
    assert repo.blame("b", field="(provenance.source)").commit.message == "note"
    assert repo.blame("a", "main~2", field="plan.seats").commit.message == "seats"
    assert repo.blame("b", field="plan.tier").record.key == "a"


def test_a_field_that_was_removed_or_never_there(repo: Repository):
    repo.put("a", {"x": 1, "y": 1}, message="first")
    repo.put("a", {"y": 1}, message="removed")
    repo.put("a", {"y": 2}, message="other")
    assert repo.blame("a", field="x").commit.message == "removed"
    with pytest.raises(NotFoundError, match="'z'"):
        repo.blame("a", field="z")
    repo.delete("a", message="deleted")
    assert repo.blame("a", field="y").commit.message == "deleted"


def test_a_field_that_was_put_back_is_of_who_wrote_it(repo: Repository):
    repo.put("a", {"x": 1, "y": 1}, message="first")
    wrong = repo.put("a", {"x": 2, "y": 1}, message="wrong")
    repo.revert(wrong.id)
    assert repo.blame("a", field="x").commit.message == "first"


def test_blame_of_a_subtree(repo: Repository):
    repo.put("t/a", 1, author="ann")
    repo.put("t/b", 1, author="bob")
    repo.put("u", 1)
    repo.create_branch("side")
    repo.put("t/c", 1, author="cid", branch="side")
    repo.put("t/a", 2, author="dan")
    repo.merge("side")
    found = {blame.key: blame.commit.author for blame in repo.blame_all("t/")}
    assert found == {"t/a": "dan", "t/b": "bob", "t/c": "cid"}
    assert [blame.key for blame in repo.blame_all()] == ["t/a", "t/b", "t/c", "u"]
    assert [blame.commit.author for blame in repo.blame_all("t/", "main~4")] == ["ann"]


def test_blame_of_a_picked_record_whose_writer_is_gone(repo: Repository):
    from datetime import timedelta

    clock = iter(range(10**12, 10**13, 1000))
    repo = Repository(repo.blocks.engine, clock=clock.__next__)
    repo.create_branch("side")
    written = repo.put("a", 1, branch="side")
    repo.put("b", 1)
    picked = repo.cherry_pick("side")
    assert repo.blame("a").commit.id == written.id
    repo.delete_branch("side")
    repo.gc(keep_reflog=timedelta(0))
    assert repo.blame("a").commit.id == picked.id
    assert [blame.commit.id for blame in repo.blame_all("a")] == [picked.id]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "delete", "merge", "branch", "undo", "move"]),
        st.sampled_from(["main", "side"]),
        st.sampled_from(["a", "b", "c"]),
        st.integers(0, 3),
    ),
    max_size=25,
)


@given(STEPS)
def test_history_and_blame_agree_with_a_walk(steps: list[tuple[str, str, str, int]]):
    """On any history: what the index says equals what looking at every commit says."""
    with mnemosyne_vcs.open("memory://", create=True) as repo:
        repo.create_branch("side")
        for step in steps:
            _do(repo, *step)
        for branch in ("main", "side"):
            _check(repo, branch)
        repo.blocks.engine.clear_index()  # type: ignore[attr-defined]
        complete_index(repo.blocks, repo.blocks.engine.refs().values())
        _check(repo, "main")


def _do(repo: Repository, action: str, branch: str, key: str, value: int) -> None:
    here = repo.at(branch)
    if action == "merge":
        repo.merge("side", on_conflict="ours")
    elif action == "branch":
        repo.merge("main", into="side", on_conflict="theirs")
    elif action == "undo" and len(list(repo.log(branch, first_parent=True))) > 0:
        repo.undo(branch=branch)
    elif action == "delete" and key in here:
        repo.delete(key, branch=branch)
    elif action == "move" and key in here and "d" not in here:
        with repo.transaction(branch) as tx:
            tx.move(key, "d")
    elif action == "put":
        repo.put(key, {"x": value, "y": value // 2}, branch=branch)


def _check(repo: Repository, branch: str) -> None:
    head = repo.resolve(branch)
    line = list(ancestors(repo.blocks.commit, [head.cid]))
    states = {commit.id: repo.at(commit.id) for commit in line}
    versions = {
        commit.id: {record.key: record for record in states[commit.id].scan()} for commit in line
    }

    def block(commit_id: str, key: str) -> object:
        record = versions[commit_id].get(key)
        return record and (record.transaction_id, record.moved_from, str(record.content))

    for key in "abcd":
        changed = [
            commit.id
            for commit in line
            if commit.parents
            and all(block(commit.id, key) != block(parent, key) for parent in commit.parents)
        ]
        assert [c.id for c in repo.log(branch, prefix=key)] == changed
        if not changed:
            with pytest.raises(NotFoundError):
                repo.blame(key, branch)
            continue
        told = [blame.commit.id for blame in repo.history(key, branch)]
        order = [line.index(repo.resolve(commit)) for commit in told]
        assert told[0] == changed[0]
        assert order == sorted(order)
        assert told == changed or key == "d"
        blame = repo.blame(key, branch)
        assert (blame.record is not None) == (key in states[head.id])
        if blame.record is not None:
            assert blame.commit.transaction_id == blame.record.transaction_id
            _check_field(repo, key, branch)
    assert [b.commit.id for b in repo.blame_all("", branch)] == [
        repo.blame(key, branch).commit.id for key in states[head.id]
    ]


def _check_field(repo: Repository, key: str, branch: str) -> None:
    found = repo.blame(key, branch, field="x")
    now = repo.at(branch)[key].content["x"]
    assert found.record.content["x"] == now
    for parent in found.commit.parents:
        memory = repo.at(parent)
        before = memory.get(found.key) or memory.get(found.record.moved_from or "")
        assert before is None or before.content["x"] != now

"""Blame and the history of a key, through moves, merges, reverts and cherry-picks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import NotFoundError, Repository
from mnemosyne_vcs.graph import ancestors
from mnemosyne_vcs.history.index import complete_index
from mnemosyne_vcs.testing.repository.blame import BlameContract


class TestBlame(BlameContract):
    pass


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

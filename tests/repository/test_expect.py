"""`expect`: a branch is only moved from the commit that the caller has looked at."""

from collections.abc import Callable
from pathlib import Path

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import RefConflictError, Repository

Act = Callable[[Repository, str], object]

ACTIONS: dict[str, Act] = {
    "put": lambda repo, head: repo.put("new", 1, expect=head),
    "put what is there": lambda repo, head: repo.put("a", 1, expect=head),
    "delete": lambda repo, head: repo.delete("a", expect=head),
    "transact": lambda repo, head: repo.transact(lambda tx: tx.put("new", 1), expect=head),
    "transact nothing": lambda repo, head: repo.transact(lambda tx: None, expect=head),
    "merge": lambda repo, head: repo.merge("side", expect=head),
    "merge by moving on": lambda repo, head: repo.merge("ahead", fast_forward=True, expect=head),
    "revert": lambda repo, head: repo.revert("main", expect=head),
    "cherry-pick": lambda repo, head: repo.cherry_pick("side", expect=head),
    "restore": lambda repo, head: repo.restore(source="main~1", expect=head),
    "undo": lambda repo, head: repo.undo(expect=head),
}


def prepared(repo: Repository) -> str:
    repo.put("a", 1)
    repo.create_branch("side")
    repo.put("side", 1, branch="side")
    head = repo.put("b", 1)
    repo.create_branch("ahead")
    repo.put("ahead", 1, branch="ahead")
    return head.id


@pytest.mark.parametrize("name", ACTIONS)
def test_it_is_done_where_the_branch_is_as_expected(repo: Repository, name: str):
    head = prepared(repo)
    ACTIONS[name](repo, head)
    moved = repo.resolve().id != head
    assert moved == (name not in ("put what is there", "transact nothing"))


@pytest.mark.parametrize("name", ACTIONS)
def test_it_is_refused_where_the_branch_is_elsewhere(repo: Repository, name: str):
    head = prepared(repo)
    now = repo.put("c", 1)
    with pytest.raises(RefConflictError, match=f"'main' points at {now.id}, not at {head}"):
        ACTIONS[name](repo, head)
    assert repo.resolve().id == now.id


def test_a_commit_in_between_is_a_conflict_whatever_it_changed(repo: Repository):
    head = prepared(repo)
    other: list[str] = []

    def write(transaction: object) -> None:
        transaction.put("new", 1)  # type: ignore[attr-defined]
        other.append(repo.put("unrelated", 1).id)

    with pytest.raises(RefConflictError, match="as expected"):
        repo.transact(write, expect=head)
    assert [repo.resolve().id] == other


def test_a_transaction_holds_to_what_it_expects(repo: Repository):
    head = prepared(repo)
    with pytest.raises(RefConflictError), repo.transaction(expect=head) as transaction:
        transaction.put("new", 1)
        repo.put("unrelated", 1)
    assert "new" not in repo.at()
    with repo.transaction(expect=repo.resolve()) as transaction:
        transaction.put("new", 1)
    assert "new" in repo.at()


def test_a_branch_is_deleted_only_where_it_is_expected(repo: Repository):
    head = prepared(repo)
    now = repo.put("c", 1, branch="side")
    with pytest.raises(RefConflictError, match=f"'side' points at {now.id}, not at {head}"):
        repo.delete_branch("side", expect=head)
    assert "side" in repo.branches()
    repo.delete_branch("side", expect=now)
    assert "side" not in repo.branches()


@pytest.mark.parametrize("ours", [False, True], ids=["moved on", "merged"])
def test_a_pull_moves_a_branch_only_where_it_is_expected(
    repo: Repository, tmp_path: Path, ours: bool
):
    head = prepared(repo)
    with mnemosyne_vcs.clone(repo, tmp_path / "copy.db") as copy:
        repo.put("theirs", 1)
        now = copy.put("ours", 1) if ours else copy.resolve()
        wrong = head if ours else copy.resolve("main~1")
        with pytest.raises(RefConflictError, match=f"'main' points at {now.id}"):
            copy.pull(repo, expect=wrong)
        assert copy.resolve() == now
        assert copy.pull(repo, expect=now) != now
        assert copy.at()["theirs"].content == 1


def test_a_pull_makes_no_branch_where_one_is_expected(repo: Repository, tmp_path: Path):
    head = prepared(repo)
    with mnemosyne_vcs.clone(repo, tmp_path / "copy.db", branches=["main"]) as copy:
        with pytest.raises(RefConflictError, match="there is no branch 'side' here"):
            copy.pull(repo, "side", expect=head)
        assert "side" not in copy.branches()


@pytest.mark.parametrize("act", ["merge", "revert", "undo", "restore"])
def test_a_plan_is_refused_too_where_the_branch_is_elsewhere(repo: Repository, act: str):
    head = prepared(repo)
    plans: dict[str, Callable[[], object]] = {
        "merge": lambda: repo.plan_merge("side", expect=head),
        "revert": lambda: repo.plan_revert("main", expect=head),
        "undo": lambda: repo.plan_undo(expect=head),
        "restore": lambda: repo.plan_restore(source="main~1", expect=head),
    }
    plans[act]()
    repo.put("c", 1)
    with pytest.raises(RefConflictError, match="as expected"):
        plans[act]()

"""Which records of a merge count as moved, and which stand beside another one with their id."""

from collections.abc import Callable, Iterable

import pytest

from mnemosyne_vcs import Commit, Plan, Repository, Transaction

Edit = Callable[[Transaction], object]


@pytest.fixture
def fork(repo: Repository) -> Callable[..., Plan]:
    """Makes a state, and two branches that have changed it; plans to merge them."""

    def make(base: Iterable[Edit], ours: Iterable[Edit], theirs: Iterable[Edit]) -> Plan:
        commit(repo, "main", base)
        repo.create_branch("trial")
        commit(repo, "main", ours)
        commit(repo, "trial", theirs)
        return repo.plan_merge("trial")

    return make


def commit(repo: Repository, branch: str, edits: Iterable[Edit]) -> Commit:
    def run(tx: Transaction) -> None:
        for edit in edits:
            edit(tx)

    return repo.transact(run, branch)


def put(key: str, content: object) -> Edit:
    return lambda tx: tx.put(key, content)  # type: ignore[arg-type]


def move(old: str, new: str) -> Edit:
    return lambda tx: tx.move(old, new)


def delete(key: str) -> Edit:
    return lambda tx: tx.delete(key)


def conflicts(plan: Plan) -> list[tuple[str, str]]:
    return [(conflict.key, conflict.kind) for conflict in plan.conflicts]


def result(repo: Repository, plan: Plan) -> dict[str, object]:
    return {record.key: record.content for record in repo.at(plan.apply()).scan()}


@pytest.fixture(params=["", "/"], ids=["keys", "keys with ids"])
def root(request: pytest.FixtureRequest) -> str:
    return request.param


def test_an_edit_does_not_follow_a_record_whose_key_was_given_to_another(fork, root):
    a, b = f"{root}s/a", f"{root}s/b"
    plan = fork([put(a, {"v": 0})], [move(a, b), put(a, {"v": 1})], [put(a, {"v": 2})])
    assert conflicts(plan) == [(a, "edit/edit")]
    assert [c.key for c in plan.changes] == []


def test_a_record_that_has_held_the_id_before_is_not_where_another_moved_to(fork):
    base = [put("/a/r", {"v": 0}), put("/b/r", {"w": 0})]
    plan = fork(base, [delete("/a/r"), put("/b/r", {"w": 1})], [put("/a/r", {"v": 1})])
    assert conflicts(plan) == [("/a/r", "same-id")]


def test_keys_without_ids_do_not_pair(fork):
    plan = fork([put("k", {"v": 0})], [delete("k"), put("new", {"v": 0})], [put("k", {"v": 1})])
    assert conflicts(plan) == [("k", "delete/edit")]


def test_a_move_comes_before_an_id(repo: Repository):
    repo.put("/a/r", {"v": 0, "w": 0})
    repo.create_branch("trial")
    repo.put("/a/r", {"v": 1, "w": 0})
    commit(repo, "trial", [move("/a/r", "/x/q"), put("/c/r", "another")])
    plan = repo.plan_cherry_pick("trial")
    assert result(repo, plan) == {"/x/q": {"v": 1, "w": 0}, "/c/r": "another"}


def test_a_record_that_was_moved_onto_another_and_replaced_by_it_is_gone(repo: Repository):
    repo.put("a", {"v": 0})
    base = repo.put("b", "b")
    repo.create_branch("trial")
    commit(repo, "main", [delete("b"), move("a", "b")])
    repo.restore("b", source=base)
    repo.put("a", {"v": 1}, branch="trial")
    assert conflicts(repo.plan_merge("trial")) == [("a", "delete/edit")]


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_move_onto_a_key_that_the_other_side_has_added(fork, root, mirrored):
    a, b = f"{root}s/a", f"{root}t/b"
    moved, edited = [move(a, b)], [put(a, {"v": 1}), put(b, "another")]
    sides = (edited, moved) if mirrored else (moved, edited)
    plan = fork([put(a, {"v": 0})], *sides)
    kind = "edit/delete" if mirrored else "delete/edit"
    assert conflicts(plan) == [(a, kind), (b, "add/add")]


def test_ids_that_were_held_twice_before_are_no_conflict(repo: Repository, fork):
    base = [put("/a/r", 0), put("/b/r", 0)]
    plan = fork(base, [put("/b/r", 1)], [put("/a/r", 1)])
    assert conflicts(plan) == []
    assert result(repo, plan) == {"/a/r": 1, "/b/r": 1}


def test_what_is_in_conflict_over_an_id_is_not_among_the_changes(fork):
    plan = fork([], [put("/b/r", "ours")], [put("/a/r", "theirs"), put("/a/fits", 1)])
    assert conflicts(plan) == [("/a/r", "same-id")]
    assert [c.key for c in plan.changes] == ["/a/fits"]


def test_a_clash_that_would_bring_an_id_beside_ours_is_one_of_ids(fork):
    plan = fork(
        [put("/a/x", {"v": 0})],
        [put("/a/x", {"v": 1}), put("/c/r", "ours")],
        [move("/a/x", "/b/r"), put("/b/r", {"v": 2})],
    )
    assert conflicts(plan) == [("/b/r", "same-id")]
    (conflict,) = plan.conflicts
    assert conflict.ours.key == "/c/r" and conflict.theirs.content == {"v": 2}


@pytest.mark.parametrize(("here", "there"), [("b", "c"), ("c", "b")])
def test_a_record_that_both_have_moved_elsewhere_is_a_conflict(fork, here, there):
    plan = fork([put("a", 0)], [move("a", here)], [move("a", there)])
    assert conflicts(plan) == [("a", "move/move")]
    (conflict,) = plan.conflicts
    assert (conflict.ours.key, conflict.theirs.key) == (here, there)


def test_a_key_that_both_have_left_brings_no_id(fork):
    plan = fork(
        [put("/a/r", {"v": 0})],
        [move("/a/r", "/b/q"), put("/d/r", "new")],
        [move("/a/r", "/c/s")],
    )
    assert conflicts(plan) == [("/a/r", "move/move")]


def test_an_id_whose_base_is_unknown_is_not_one_of_ours(repo: Repository):
    for branch in ("one", "two", "three"):
        repo.create_branch(branch)
    repo.put("later", 0, branch="three")  # bases are folded in order of generation
    one, two, three = (
        repo.put("/a/r", 1, branch="one"),
        repo.put("/a/r", 2, branch="two"),
        repo.put("/b/r", 3, branch="three"),
    )
    for branch, merged in (("one", (two, three)), ("three", (two, one))):
        for commit in merged:
            repo.merge(commit, into=branch, on_conflict="ours")
    plan = repo.plan_merge("three", into="one")
    assert plan.bases[-1] == three.id and set(plan.bases) == {one.id, two.id, three.id}
    assert {conflict.key for conflict in plan.conflicts} == {"/a/r"}

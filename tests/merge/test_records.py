"""Which record, and which vectors, a merge puts under a key."""

import pytest

from mnemosyne_vcs import Repository, tree


def entries(repo: Repository, branch: str) -> dict[str, bytes]:
    return dict(tree.scan(repo.blocks.node, repo.at(branch).root))


@pytest.mark.parametrize("mover", ["main", "trial"])
def test_a_record_that_follows_a_move_gets_vectors_of_its_own(repo: Repository, mover: str):
    repo.put("old", 1, embedding=[1.0, 2.0])
    repo.create_branch("trial")
    other = {"main": "trial", "trial": "main"}[mover]
    with repo.transaction(mover) as tx:
        tx.move("old", "new")
    edited = repo.put("old", 2, embedding=[3.0, 4.0], branch=other)
    repo.merge("trial")
    record, before = repo.at()["new"], repo.at(edited)["old"]
    assert (record.content, record.embedding.tolist()) == (2, [3.0, 4.0])
    assert record.moved_from == "old"
    assert set(record.vectors.ids.values()).isdisjoint(before.vectors.ids.values())
    assert repo.verify().ok


def test_a_record_of_both_sides_keeps_the_vectors_of_its_key(repo: Repository):
    repo.put("k", {"a": 0, "b": 0}, embedding=[1.0, 2.0])
    repo.create_branch("trial")
    repo.put("k", {"a": 1, "b": 0}, vectors=repo.at()["k"].vectors)
    repo.put("k", {"a": 0, "b": 1}, vectors=repo.at()["k"].vectors, branch="trial")
    ours = repo.at()["k"].vectors.ids
    repo.merge("trial")
    assert repo.at()["k"].content == {"a": 1, "b": 1}
    assert repo.at()["k"].vectors.ids == ours


def test_what_theirs_changed_after_a_move_in_order_is_taken_too(repo: Repository):
    with repo.transaction() as tx:
        for key in "abcd":
            tx.put(key, 0)
    repo.create_branch("trial")
    with repo.transaction() as tx:
        tx.move("b", "m")
    with repo.transaction("trial") as tx:
        for key in "abcd":
            tx.put(key, 1)
        tx.put("z", 1)
    repo.merge("trial")
    assert {r.key: r.content for r in repo.at().scan()} == dict.fromkeys("acdmz", 1)


def test_of_two_equal_records_the_one_with_the_lower_id_is_taken(repo: Repository):
    repo.put("base", 0)
    repo.create_branch("trial")
    keys = [f"k/{number}" for number in range(8)]
    for branch in ("main", "trial"):
        with repo.transaction(branch) as tx:
            for key in keys:
                tx.put(key, "same")
    sides = [entries(repo, branch) for branch in ("main", "trial")]
    repo.merge("trial")
    merged = entries(repo, "main")
    assert {key: merged[key] for key in keys} == {
        key: min(side[key] for side in sides) for key in keys
    }

"""What makes a transaction lose, what its conflicts say, and what it does to a record's origin."""

import pytest

from mnemosyne_vcs import ConflictError, Provenance

READS = {
    "get": lambda tx: tx.get("k"),
    "in": lambda tx: "k" in tx,
    "not in": lambda tx: "new" in tx,
    "keys": lambda tx: list(tx.keys()),
    "keys below": lambda tx: list(tx.keys("k")),
    "iter": lambda tx: list(tx),
    "scan": lambda tx: list(tx.scan("k")),
    "watch": lambda tx: tx.watch("k"),
    "keys that were not looked at": lambda tx: tx.keys("k"),
}


@pytest.fixture(autouse=True)
def held(repo):
    repo.put("k", "before")
    repo.put("other", "before")


@pytest.mark.parametrize("read", READS)
def test_what_was_read_is_checked_at_the_commit(repo, read):
    tx = repo.transaction()
    READS[read](tx)
    tx.put("mine", 1)
    repo.put("new" if read == "not in" else "k", "theirs")

    with pytest.raises(ConflictError) as lost:
        tx.commit()
    assert [each.key for each in lost.value.conflicts] == ["new" if read == "not in" else "k"]
    assert "mine" not in repo.at()


@pytest.mark.parametrize("read", READS)
def test_what_was_not_read_is_not(repo, read):
    tx = repo.transaction()
    if read in ("get", "in", "keys below", "scan", "watch", "keys that were not looked at"):
        READS[read](tx)
    tx.put("mine", 1)
    repo.put("other", "theirs")

    tx.commit()
    assert {"mine", "other"} <= set(repo.at())


def change(repo, value):
    """Put a value under `k` in a commit of its own; None deletes it."""
    if value is None:
        repo.delete("k")
    else:
        repo.put("k", value)


@pytest.mark.parametrize(
    "before, ours, theirs, kind",
    [
        ("before", "ours", "theirs", "edit/edit"),
        ("before", "ours", None, "edit/delete"),
        ("before", None, "theirs", "delete/edit"),
        (None, "ours", "theirs", "add/add"),
    ],
)
def test_a_conflict_says_what_each_side_did(repo, before, ours, theirs, kind):
    if before is None:
        repo.delete("k")
    tx = repo.transaction()
    if ours is None:
        tx.delete("k")
    else:
        tx.put("k", ours)
    change(repo, theirs)

    with pytest.raises(ConflictError) as lost:
        tx.commit()
    [conflict] = lost.value.conflicts
    assert (conflict.key, conflict.kind) == ("k", kind)
    versions = (conflict.base, conflict.ours, conflict.theirs)
    assert [each and each.content for each in versions] == [before, ours, theirs]


@pytest.mark.parametrize("before, value", [("before", None), ("before", "same"), (None, "same")])
def test_both_sides_may_do_the_same(repo, before, value):
    if before is None:
        repo.delete("k")
    tx = repo.transaction()
    if value is None:
        tx.delete("k")
    else:
        tx.put("k", value)
    tx.put("mine", 1)
    change(repo, value)

    tx.commit()
    assert "mine" in repo.at()
    assert ("k" in repo.at()) == (value is not None)


def test_a_record_that_is_moved_twice_comes_from_where_it_was(repo):
    first = repo.blame("k").commit
    with repo.transaction() as tx:
        tx.move("k", "middle")
        tx.move("middle", "end")

    assert repo.at()["end"].moved_from == "k"
    assert [each.commit for each in repo.history("end")] == [tx.result, first]
    assert repo.blame("end").commit == tx.result
    [moved] = repo.diff("main~1", "main")
    assert (moved.kind, moved.key, moved.before.key) == ("moved", "end", "k")


def test_an_edit_follows_a_record_that_is_moved_twice(repo):
    repo.create_branch("side")
    repo.put("k", "edited", branch="side")
    with repo.transaction() as tx:
        tx.move("k", "middle")
        tx.move("middle", "end")

    repo.merge("side")
    assert repo.at()["end"].content == "edited"
    assert "k" not in repo.at() and "middle" not in repo.at()


@pytest.mark.parametrize("known_by", ["ours", "theirs"])
def test_of_two_equal_records_a_merge_takes_the_one_whose_provenance_is_new(repo, known_by):
    keys = [f"same/{number}" for number in range(12)]

    def put_all(branch, value, source):
        with repo.transaction(branch) as tx:
            for key in keys:
                tx.put(key, value, provenance=Provenance(source=source))

    put_all("main", "said", "old")
    repo.create_branch("side")
    new, old = ("main", "side") if known_by == "ours" else ("side", "main")
    put_all(new, "said", "new")
    put_all(old, "something else", "old")
    put_all(old, "said", "old")

    repo.merge("side")
    assert {repo.at()[key].provenance.source for key in keys} == {"new"}

"""What a transaction has read, what it conflicts with, and how it is told."""

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import pytest

from mnemosyne_vcs import ConflictError, RefConflictError, Repository, Transaction
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.model import Record
from mnemosyne_vcs.testing._peers import fresh

Act = Callable[[Transaction], Any]


@pytest.fixture
def store(repo: Repository) -> Repository:
    with repo.transaction() as tx:
        for key in ("a/1", "a/2", "b/1"):
            tx.put(key, 0)
    return repo


def lost(repo: Repository, ours: Act, theirs: Act) -> dict[str, tuple[Any, ...]]:
    """The conflicts of a transaction that others overtake: by key, the kind and the contents."""

    def content(record: Record | None) -> Any:
        return record and record.content

    with pytest.raises(ConflictError) as caught, repo.transaction() as tx:
        ours(tx)
        tx.put("other", "ours")
        with repo.transaction() as other:
            theirs(other)
    assert repo.at().get("other") is None
    return {
        each.key: (each.kind, content(each.base), content(each.ours), content(each.theirs))
        for each in caught.value.conflicts
    }


READS: dict[str, Act] = {
    "get": lambda tx: tx.get("a/1"),
    "index": lambda tx: tx["a/1"],
    "in": lambda tx: "a/1" in tx,
    "scan": lambda tx: list(tx.scan("a/")),
    "scan_keys": lambda tx: list(tx.scan_keys("a/")),
    "keys that nobody looks at": lambda tx: tx.scan_keys("a/"),
    "watch": lambda tx: tx.depends_on("a/"),
}


@pytest.mark.parametrize("read", READS)
def test_what_was_read_must_not_change(store: Repository, read: str):
    found = lost(store, READS[read], lambda tx: tx.put("a/1", 9))
    assert found == {"a/1": ("edit/edit", 0, 0, 9)}


@pytest.mark.parametrize("read", ["scan", "scan_keys"])
def test_nor_may_there_be_more_where_all_was_read(store: Repository, read: str):
    assert lost(store, READS[read], lambda tx: tx.put("a/3", 9)).keys() == {"a/3"}


def test_nor_may_come_what_was_not_there(store: Repository):
    assert lost(store, lambda tx: "a/3" in tx, lambda tx: tx.put("a/3", 9)).keys() == {"a/3"}


@pytest.mark.parametrize("read", READS)
def test_what_was_not_read_may_change(store: Repository, read: str):
    with store.transaction() as tx:
        READS[read](tx)
        tx.put("other", 1)
        store.put("b/1", 9)
    assert {key: store.at()[key].content for key in ("other", "b/1")} == {"other": 1, "b/1": 9}


def test_the_kinds_of_conflicts(store: Repository):
    def ours(tx: Transaction) -> None:
        tx.put("new", "ours")
        tx.delete("a/1")
        tx.put("a/2", "ours")
        tx.put("b/1", "ours")

    def theirs(tx: Transaction) -> None:
        tx.put("new", "theirs")
        tx.put("a/1", "theirs")
        tx.delete("a/2")
        tx.put("b/1", "theirs")

    assert lost(store, ours, theirs) == {
        "new": ("add/add", None, "ours", "theirs"),
        "a/1": ("delete/edit", 0, None, "theirs"),
        "a/2": ("edit/delete", 0, "ours", None),
        "b/1": ("edit/edit", 0, "ours", "theirs"),
    }


def test_what_both_do_alike_is_no_conflict(store: Repository):
    with store.transaction() as tx:
        tx.delete("a/1")
        tx.put("a/2", 5)
        tx.put("new", 1)
        with store.transaction() as other:
            other.delete("a/1")
            other.put("a/2", 5)
            other.put("new", 1)
    assert {r.key: r.content for r in store.at().scan()} == {"a/2": 5, "b/1": 0, "new": 1}


@pytest.mark.parametrize(
    ("clashes", "more"), [(1, ""), (5, ""), (6, " and more"), (9, " and more")]
)
def test_the_message_names_the_first_five_keys(store: Repository, clashes: int, more: str):
    keys = [f"k/{number}" for number in range(clashes)]
    tx, other = store.transaction(), store.transaction()
    for key in keys:
        tx.put(key, "ours")
        other.put(key, "theirs")
    head = other.commit()
    named = ", ".join(map(repr, keys[:5]))
    with pytest.raises(ConflictError) as caught:
        tx.commit()
    assert f"to {head.id}, which changed {named}{more}, used by" in str(caught.value)
    assert [conflict.key for conflict in caught.value.conflicts] == keys


@pytest.mark.parametrize("number", range(8))
def test_what_others_have_deleted_too_is_no_change(store: Repository, number: int):
    tx = store.transaction()
    tx.delete("a/1")
    tx.put("a/2", 0)
    head = store.delete("a/1", message=f"deleted {number}")
    assert tx.commit() == head
    assert store.resolve() == head


@pytest.mark.parametrize("number", range(8))
def test_a_transaction_that_changes_nothing_still_expects_its_commit(
    store: Repository, number: int
):
    expect = store.resolve()
    tx = store.transaction(expect=expect)
    tx.put("a/1", 0)
    assert tx.commit() == expect
    late = store.transaction(expect=expect)
    late.put("a/1", 0)
    store.put("number", number)
    with pytest.raises(RefConflictError, match=expect.id):
        late.commit()


def test_a_transaction_is_true_even_if_the_branch_is_empty(repo: Repository):
    with repo.transaction() as tx:
        assert len(tx) == 0
        assert tx


def test_a_record_that_is_moved_twice_comes_from_where_it_was(store: Repository):
    with store.transaction() as tx:
        tx.move("a/1", "middle")
        tx.move("middle", "end")
    assert store.at()["end"].moved_from == "a/1"
    assert [found.record.key for found in store.history("end")] == ["end", "a/1"]


class Locking(MemoryEngine):
    """Notes whether its write lock is held, and who has taken it."""

    def __init__(self) -> None:
        super().__init__()
        self.locked = 0

    @contextmanager
    def exclusive(self):
        with super().exclusive():
            self.locked += 1
            yield


def test_after_lost_races_a_writer_takes_the_lock():
    engine = Locking()
    repo, races = fresh(engine), []

    def add(tx: Transaction) -> None:
        total = tx.get("total")
        tx.put("total", (total.content if total else 0) + 1)
        if not engine.locked:
            races.append(repo.put("total", 100 + len(races)))

    repo.transact(add)
    assert engine.locked == 1
    assert 1 < len(races) < 20
    assert repo.at()["total"].content == 100 + len(races)

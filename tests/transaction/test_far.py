"""Engines so far away that what a write replaces is asked for late, and all of it at once."""

from contextlib import contextmanager

import pytest

from borrowing import borrowed
from mnemosyne_vcs import ConflictError, CorruptObjectError, EngineError, NotFoundError
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.sqlite.engine import SQLiteEngine
from mnemosyne_vcs.transaction.buffer import MOST_DRAFTS

globals().update(
    borrowed(
        "repository.test_repository",
        "merge.test_merge",
        "merge.test_revert",
        "maintenance.test_gc",
        "repository.test_repository_state",
    )
)


class Wire:
    """What was asked over it, how often an answer was waited for, what it raises or alters."""

    def __init__(self):
        self.asked, self.answers, self.broken = [], 0, None
        self.altered = dict


@pytest.fixture(autouse=True)
def wire(monkeypatch):
    """Every engine is far away, and nothing that was read or written is kept at hand."""
    wire = Wire()

    @contextmanager
    def ask_records(self, records):
        wire.asked.append(len(records))

        def answer():
            wire.answers += 1
            if wire.broken:
                raise wire.broken
            return wire.altered(self.read(records))

        yield answer

    for near in (MemoryEngine, SQLiteEngine):
        far = type(f"Far{near.__name__}", (near,), {"ask_records": ask_records})
        monkeypatch.setattr(f"{near.__module__}.{near.__name__}", far)
    monkeypatch.setattr("mnemosyne_vcs.blocks.KEPT_VALUES", 0)
    return wire


@pytest.fixture
def full(repo):
    """A repository with more records than a transaction keeps as drafts."""
    with repo.transaction() as tx:
        for number in range(MOST_DRAFTS + 8):
            tx.put(f"k/{number}", number, embedding=[number, 1.0])
    return repo


def test_all_that_a_transaction_replaces_is_asked_for_at_once(full, wire):
    with full.transaction() as tx:
        for number in range(20):
            tx.put(f"k/{number}", -number, embedding=[0.5, number])
        tx.put("new", 0)
        assert wire.asked == []
    assert (wire.asked, wire.answers) == ([20], 1)
    assert [full.at()[f"k/{number}"].content for number in range(20)] == [-n for n in range(20)]
    assert full.verify().ok


def test_a_transaction_of_any_size_keeps_few_drafts(full, wire):
    with full.transaction() as tx:
        for number in range(MOST_DRAFTS + 8):
            tx.put(f"k/{number}", "x" if number % 2 else number, embedding=[number, 1.0])
    assert wire.asked == [MOST_DRAFTS, 8]
    assert sum(record.content == "x" for record in full.at().scan("k/")) == MOST_DRAFTS // 2 + 4
    assert len(list(full.diff(tx.base.id, tx.committed.id))) == MOST_DRAFTS // 2 + 4


def test_what_says_the_same_is_not_written(full, wire):
    head = full.resolve().id
    assert full.put("k/1", 1, embedding=[1.0, 1.0]).id == head
    assert wire.asked == [1]
    with full.transaction() as tx:
        tx.put("k/1", 1, embedding=[1.0, 1.0])
        tx.put("k/2", 1, embedding=[2.0, 1.0])
    assert [change.key for change in full.diff(head, tx.committed.id)] == ["k/2"]


def test_a_vector_that_stays_is_not_written_again(full):
    before = full.at()["k/3"].vectors.ids
    full.put("k/3", "other", embedding=[3.0, 1.0], vectors={"more": [1.0]})
    after = full.at()["k/3"].vectors.ids
    assert (after[""], set(after)) == (before[""], {"", "more"})


def test_a_transaction_sees_what_it_has_put(full, wire):
    with full.transaction() as tx:
        tx.put("k/1", "first")
        assert tx["k/1"].content == "first"
        tx.put("k/1", "second")
        tx.put("k/2", "gone")
        tx.delete("k/2")
        tx.put("k/3", "moved")
        tx.move("k/3", "new")
        tx.put("k/4", "listed")
        assert {r.key: r.content for r in tx.scan("k/4")}["k/4"] == "listed"
        assert "k/2" not in tx
        assert wire.asked == [1, 1, 1, 1]
    found = full.at()
    assert (found["k/1"].content, found["new"].content) == ("second", "moved")
    assert found["new"].moved_from == "k/3"
    assert "k/2" not in found


def test_what_is_put_back_takes_the_place_of_a_draft(full):
    with full.transaction() as tx:
        tx.put("k/1", "draft")
        tx._buffer.put_back("k/1", None)
    assert "k/1" not in full.at()
    with full.transaction() as tx:
        tx.put("k/1", "anew")
        tx.put("k/2", "draft")
    full.restore("main~2", "k/")
    assert [full.at()[f"k/{number}"].content for number in (1, 2)] == [1, 2]


def test_an_answer_that_fails_loses_nothing_and_can_be_asked_again(full, wire):
    tx = full.transaction()
    tx.put("k/1", "kept", embedding=[1.0, 1.0])
    for error in (EngineError("away"), NotFoundError("gone")):
        wire.broken = error
        with pytest.raises(type(error), match=str(error)):
            tx.commit()
        assert full.resolve().id == tx.base.id
    wire.broken = None
    full.put("other", 1)
    made = tx.commit()
    assert [change.key for change in full.diff(made.parents[0], made.id)] == ["k/1"]
    assert full.at()["k/1"].vectors.ids == full.at(tx.base.id)["k/1"].vectors.ids


def test_a_damaged_answer_is_not_believed(full, wire):
    head = full.resolve().id
    wire.altered = lambda found: {block: data[:-1] + b"?" for block, data in found.items()}
    with pytest.raises(CorruptObjectError):
        full.put("k/1", "new", embedding=[1.0, 1.0])
    wire.altered = lambda found: {}
    with pytest.raises(NotFoundError, match="missing"):
        full.put("k/1", "new", embedding=[1.0, 1.0])
    assert full.resolve().id == head


def test_a_clash_is_found_with_what_was_drafted(full, wire):
    one, same = full.transaction(), full.transaction()
    one.put("k/1", "mine")
    same.put("k/1", "theirs")
    full.put("k/1", "theirs")
    with pytest.raises(ConflictError) as caught:
        one.commit()
    (conflict,) = caught.value.conflicts
    assert (conflict.base.content, conflict.ours.content) == (1, "mine")
    assert conflict.theirs.content == "theirs"
    assert same.commit().id == full.resolve().id

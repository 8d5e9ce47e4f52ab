"""What a transaction replaces is read all at once, and compared before the commit is made."""

from datetime import timedelta

import pytest

from mnemosyne_vcs import (
    ConflictError,
    CorruptObjectError,
    EngineError,
    NotFoundError,
    Repository,
    tree,
)
from mnemosyne_vcs.transaction.buffer import MOST_DRAFTS
from peers import Watched

RECORDS = MOST_DRAFTS + 8


class Wire:
    """Every question that an engine answers is a round trip; answers can fail or be altered."""

    def __init__(self, engine):
        self.trips, self.read_ids, self.broken, self.altered = [], [], None, dict
        self._read = engine.read
        engine.read = self.read
        for name in ("ref", "refs", "write"):
            setattr(engine, name, self._counted(name, getattr(engine, name)))

    def read(self, ids):
        self.trips.append("read")
        self.read_ids.append(len(ids))
        if self.broken:
            raise self.broken
        return self.altered(self._read(ids))

    def _counted(self, name, act):
        def counted(*arguments):
            self.trips.append(name)
            return act(*arguments)

        return counted


def forget(repo):
    """Leave the nodes of the tree known, and no record."""
    repo.blocks.renew()
    list(repo.at())


@pytest.fixture
def full(repo):
    """A repository with more records than a transaction keeps as drafts, which it has not seen."""
    with repo.transaction() as tx:
        for number in range(RECORDS):
            tx.put(f"k/{number}", number, embedding=[number, 1.0])
    forget(repo)
    return repo


@pytest.fixture
def wire(full):
    return Wire(full.blocks.engine)


@pytest.mark.parametrize("count", [1, 20, MOST_DRAFTS])
def test_round_trips_do_not_grow_with_the_records(full, wire, count):
    def put(prefix, content):
        wire.trips.clear()
        with full.transaction() as tx:
            for number in range(count):
                tx.put(f"{prefix}/{number}", [content], embedding=[number, 0.5])
        return wire.trips

    assert put("new", 0) == ["ref", "write"]
    assert put("k", 0) == ["ref", "read", "write"]
    forget(full)
    assert put("k", 1) == ["ref", "read", "write"]
    assert full.verify().ok


def test_what_was_just_written_is_not_read_again(full, wire):
    for content in ("seen", "new", "newer"):
        wire.trips.clear()
        with full.transaction() as tx:
            for number in range(20):
                tx.put(f"k/{number}", content, embedding=[number, 1.0])
    assert wire.trips == ["ref", "write"]


def test_a_transaction_of_any_size_keeps_few_drafts(full, wire):
    with full.transaction() as tx:
        for number in range(RECORDS):
            tx.put(f"k/{number}", "x" if number % 2 else number, embedding=[number, 1.0])
    records, vectors = (MOST_DRAFTS, 8), (MOST_DRAFTS // 2, 4)
    assert wire.read_ids == [records[0], vectors[0], records[1], vectors[1]]
    assert sum(record.content == "x" for record in full.at().scan("k/")) == RECORDS // 2
    assert len(list(full.diff(tx.base.id, tx.committed.id))) == RECORDS // 2


def test_what_says_the_same_is_not_written(full, wire):
    head = full.resolve().id
    wire.trips.clear()
    assert full.put("k/1", 1, embedding=[1.0, 1.0]).id == head
    assert "write" not in wire.trips
    with full.transaction() as tx:
        tx.put("k/1", 1, embedding=[1.0, 1.0])
        tx.put("k/2", 1, embedding=[2.0, 1.0])
    assert [change.key for change in full.diff(head, tx.committed.id)] == ["k/2"]


def test_what_is_put_again_as_it_was_is_not_written(full):
    with full.transaction() as tx:
        tx.put("k/1", "other")
        tx.put("k/1", 1, embedding=[1.0, 1.0])
    assert tx.committed is tx.base


def test_a_vector_that_stays_is_not_written_again(full):
    before = full.at()["k/3"].vectors.ids
    full.put("k/3", 3, embedding=[3.0, 1.0], vectors={"more": [1.0]})
    more = full.at()["k/3"].vectors.ids
    assert (more[""], set(more)) == (before[""], {"", "more"})
    full.put("k/3", "other", embedding=[3.0, 1.0], vectors={"more": [2.0]})
    after = full.at()["k/3"].vectors.ids
    assert after[""] == before[""]
    assert after["more"] != more["more"]


def test_a_vector_is_not_read_for_a_record_that_says_something_else(full, wire):
    before = full.at()["k/3"]
    forget(full)
    wire.trips.clear()
    full.transact(lambda tx: tx.put("k/3", "other", embedding=[3.0, 1.0]))
    assert wire.trips == ["ref", "read", "write"]
    after = full.at()["k/3"]
    assert after.vectors.ids != before.vectors.ids
    assert after.vectors == before.vectors


def test_a_transaction_sees_what_it_has_put(full, wire):
    with full.transaction() as tx:
        wire.trips.clear()
        tx.put("k/1", "first")
        assert wire.trips == []
        assert tx["k/1"].content == "first"
        tx.put("k/1", "second")
        tx.put("k/2", "gone")
        tx.delete("k/2")
        tx.put("k/3", "moved")
        tx.move("k/3", "new")
        tx.put("k/4", "listed")
        assert {r.key: r.content for r in tx.scan("k/4")}["k/4"] == "listed"
        assert "k/2" not in tx
    found = full.at()
    assert (found["k/1"].content, found["new"].content) == ("second", "moved")
    assert found["new"].moved_from == "k/3"
    assert "k/2" not in found


@pytest.mark.parametrize("look", [lambda tx: None, lambda tx: tx["new"]])
def test_a_record_that_was_moved_and_then_put_was_moved(full, look):
    with full.transaction() as tx:
        tx.move("k/3", "new")
        look(tx)
        tx.put("new", "other")
        tx.put("new", "another")
    found = full.at()["new"]
    assert (found.content, found.moved_from) == ("another", "k/3")


def test_a_record_that_was_moved_before_and_is_put_now_was_not_moved(full):
    for number in range(8):
        full.move(f"k/{number}", f"new/{number}")
    for number in range(8):
        full.put(f"new/{number}", "other")
    assert {record.moved_from for record in full.at().scan("new/")} == {None}


def test_what_was_put_as_it_was_can_be_put_anew(full):
    with full.transaction() as tx:
        tx.put("k/1", 1, embedding=[1.0, 1.0])
        assert tx["k/1"].content == 1
        tx.put("k/1", "anew")
        assert tx["k/1"].content == "anew"
        tx.put("k/1", 1, embedding=[1.0, 1.0])
        tx.delete("k/1")
        tx.put("k/1", "last")
    assert full.at()["k/1"].content == "last"
    assert full.verify().ok


def test_what_is_put_back_is_written_again_and_what_is_merged_is_not(full):
    before = full.at()["k/1"]
    record = tree.get(full.blocks.node, full.resolve().tree_cid, "k/1")
    again = {record, *before.vectors.ids.values()}
    full.put("k/1", "other")
    watched = Watched(full.blocks.engine)
    Repository(watched).undo()
    assert again <= watched.again
    full.create_branch("side")
    full.put("k/1", "side", branch="side", embedding=[0.0, 1.0])
    full.put("k/2", "main")
    watched = Watched(full.blocks.engine)
    Repository(watched).merge("side")
    assert tree.get(full.blocks.node, full.resolve().tree_cid, "k/1") not in watched.again
    assert full.at()["k/1"].content == "side"


def test_what_is_put_back_takes_the_place_of_a_draft(full):
    with full.transaction() as tx:
        tx.put("k/1", "draft")
        tx._buffer.put_back("k/1", None)
    assert "k/1" not in full.at()
    with full.transaction() as tx:
        tx.put("k/1", "anew")
        tx.put("k/2", "draft")
    full.restore("k/", source="main~2")
    assert [full.at()[f"k/{number}"].content for number in (1, 2)] == [1, 2]


def test_a_read_that_fails_loses_nothing_and_can_be_tried_again(full, wire):
    tx = full.transaction()
    tx.put("k/1", "kept")
    for error in (EngineError("away"), NotFoundError("gone")):
        wire.broken = error
        with pytest.raises(type(error), match=str(error)):
            tx.commit()
        wire.broken = None
        assert full.resolve().id == tx.base.id
    full.put("other", 1)
    made = tx.commit()
    assert [change.key for change in full.diff(made.parents[0], made.id)] == ["k/1"]


def test_a_put_that_fails_is_not_part_of_the_transaction(full, wire):
    tx = full.transaction()
    for number in range(MOST_DRAFTS):
        tx.put(f"k/{number}", "x")
    wire.broken = EngineError("away")
    with pytest.raises(EngineError, match="away"):
        tx.put("late", 0)
    wire.broken = None
    tx.commit()
    assert "late" not in full.at()
    assert full.at()["k/0"].content == "x"


def test_a_damaged_answer_is_not_believed(full, wire):
    head = full.resolve().id
    wire.altered = lambda found: {block: data[:-1] + b"?" for block, data in found.items()}
    with pytest.raises(CorruptObjectError):
        full.put("k/1", "new", embedding=[1.0, 1.0])
    wire.altered = lambda found: {}
    with pytest.raises(NotFoundError, match="missing"):
        full.put("k/1", "new", embedding=[1.0, 1.0])
    assert full.resolve().id == head


def test_a_clash_is_found_with_what_was_drafted(full):
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


def test_a_draft_clashes_with_a_branch_that_was_made_again(full):
    full.create_branch("trial")
    full.put("k/1", "there", branch="trial")
    forget(full)
    tx = full.transaction(branch="trial")
    tx.put("k/1", "mine")
    full.delete_branch("trial")
    full.gc(keep_reflog=timedelta(0))
    full.create_branch("trial")
    with pytest.raises(ConflictError, match="deleted and made again"):
        tx.commit()

"""Puts that begin where their process left the branch: fewer questions, the same outcome."""

from datetime import timedelta

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import NotFoundError, RefConflictError
from mnemosyne_vcs.transaction.heads import GUESS_FOR


class Seconds:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def seconds():
    """The time by which the first writer guesses; it stands still until it is moved."""
    return Seconds()


@pytest.fixture
def stores(tmp_path, seconds):
    """One store, opened by two writers who know nothing of each other; the first is at ease."""
    path = tmp_path / "shared.mnem"
    with (
        mnemosyne_vcs.open(path, create=True, author="one") as one,
        mnemosyne_vcs.open(path, author="other") as other,
    ):
        one._writer.heads._clock = seconds
        for number in range(3):
            one.put("mine", number)
        yield one, other


@pytest.fixture
def asked(stores):
    """The refs that the first writer has asked for."""
    engine = stores[0].blocks.engine
    ref, names = engine.ref, []

    def noting(name):
        names.append(name)
        return ref(name)

    engine.ref = noting
    return names


def test_a_writer_alone_asks_only_now_and_then(stores, asked, seconds):
    for number in range(30):
        stores[0].put(f"new/{number}", number)
        seconds.now += GUESS_FOR / 8
    assert asked == ["branch/main"] * 3
    assert stores[1].at().count("new/") == 30


def test_a_writer_who_comes_back_asks(stores, asked, seconds):
    one, other = stores
    seconds.now += 10 * GUESS_FOR
    theirs = other.put("theirs", "kept")
    assert one.put("mine", "new").parents == (theirs.id,)
    assert asked == ["branch/main"]


def test_a_writer_in_company_asks_before_each_put(stores, asked):
    one, other = stores
    for number in range(4):
        other.put(f"theirs/{number}", number)
        one.put(f"mine/{number}", number)
    tried_in_vain = 1
    assert len(asked) <= 4 + 2 * tried_in_vain
    assert [commit.author for commit in one.log()][:8] == ["one", "other"] * 4


def test_a_writer_in_company_does_not_guess(stores):
    one, other = stores
    engine, lost = one.blocks.engine, []
    write = engine.write

    def noting(objects, update=None):
        try:
            write(objects, update)
        except RefConflictError:
            lost.append(update.name)
            raise

    engine.write = noting
    for number in range(4):
        other.put(f"theirs/{number}", number)
        one.put(f"mine/{number}", number)
    assert lost == ["branch/main"], "the guess from when it was alone"


def test_a_put_after_others_lands_upon_their_commit(stores):
    one, other = stores
    theirs = other.put("theirs", "kept")
    assert one.put("mine", "new").parents == (theirs.id,)
    assert {record.key: record.content for record in other.at().scan()} == {
        "mine": "new",
        "theirs": "kept",
    }


def test_a_put_wins_over_what_others_put_under_the_same_key_before(stores):
    one, other = stores
    theirs = other.put("mine", "theirs")
    assert one.put("mine", "ours").parents == (theirs.id,)
    assert other.at()["mine"].content == "ours"


def test_a_put_of_what_was_there_is_written_if_others_have_changed_it(stores):
    one, other = stores
    other.put("mine", "theirs")
    one.put("mine", 2)
    assert other.at()["mine"].content == 2
    head = other.resolve()
    assert one.put("mine", 2) == head == other.resolve()


def test_a_put_to_a_branch_that_is_gone_says_so(stores):
    one, other = stores
    other.create_branch("kept", revision="main~3")
    other.delete_branch("main")
    with pytest.raises(NotFoundError, match="no branch 'main'"):
        one.put("mine", "new")
    other.gc(keep_reflog=timedelta(0))
    with pytest.raises(NotFoundError, match="no branch 'main'"):
        one.put("mine", "new")
    other.create_branch("main", revision="kept")
    assert one.put("mine", "new").parents == (other.resolve("kept").id,)
    assert other.verify().ok


def test_each_branch_has_a_place_of_its_own(stores):
    one, other = stores
    one.create_branch("side")
    for number in range(3):
        one.put("mine", f"side {number}", branch="side")
        one.put("mine", f"main {number}")
    assert one.at("side")["mine"].content == "side 2"
    assert other.at("main")["mine"].content == "main 2"


def test_a_transaction_that_may_read_begins_at_the_newest_commit(stores):
    one, other = stores
    other.put("mine", 10)
    one.transact(lambda tx: tx.put("mine", tx["mine"].content + 1))
    assert other.at()["mine"].content == 11

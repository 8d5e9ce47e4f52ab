"""A clock that is wrong for a while: what it leaves behind does no lasting harm."""

from datetime import timedelta
from itertools import pairwise

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import NotFoundError, Repository
from mnemosyne_vcs.testing.repository._fixtures import Clock

HOUR, DAY, YEAR = 3_600_000, 86_400_000, 31_557_600_000
AHEAD = 80 * YEAR


def put_ahead(repo: Repository, clock: Clock, key: str = "ahead") -> mnemosyne_vcs.Commit:
    """A commit that is made while the clock is 80 years ahead."""
    clock.advance(AHEAD)
    made = repo.put(key, 1)
    clock.advance(-AHEAD)
    return made


def from_a_colleague(repo: Repository, clock: Clock) -> mnemosyne_vcs.Commit:
    """A commit from a machine whose clock is ahead; arrives as a fast-forward."""
    theirs = Repository(mnemosyne_vcs.open("memory://", create=True).blocks.engine, clock=clock)
    theirs.fetch(repo)
    theirs.pull(repo)
    made = put_ahead(theirs, clock)
    repo.pull(theirs)
    return made


@pytest.mark.parametrize("begin", [put_ahead, from_a_colleague])
class TestAhead:
    def test_now_is_the_head(self, timed, clock, begin):
        timed.put("a", 1)
        clock.advance(HOUR)
        wrong = begin(timed, clock)
        assert timed.resolve("main@{now}") == wrong == timed.resolve("main")
        clock.advance(HOUR)
        right = timed.put("b", 1)
        assert timed.resolve("main@{now}") == right
        assert timed.resolve("main@{90 minutes ago}").message == "put a"
        assert timed.resolve("main@{2100-01-01}") == right

    def test_the_reflog_has_the_time_of_this_machine(self, timed, clock, begin):
        begin(timed, clock)
        clock.advance(HOUR)
        timed.put("b", 1)
        timed.create_branch("side", revision="main~1")
        timed.put("c", 1, branch="side")
        timed.merge("side", into="main")
        timed.create_branch("more", revision="main~1")
        timed.merge("main", into="more", fast_forward=True)
        moves = [*timed.reflog("main"), *timed.reflog("more")]
        assert [move.timestamp_ms for move in moves if move.timestamp_ms > clock.now + YEAR] in (
            [],
            [clock.now - HOUR + AHEAD],
        )
        assert moves[0].timestamp_ms == moves[-1].timestamp_ms == clock.now

    def test_the_log_up_to_now_has_all(self, timed, clock, begin):
        timed.put("a", 1)
        begin(timed, clock)
        clock.advance(2 * DAY)
        timed.put("b", 1)
        assert all(a.timestamp_ms >= b.timestamp_ms for a, b in pairwise(timed.log()))
        assert len(list(timed.log(until=clock.now))) == 3
        assert len(list(timed.log(since=clock.now - DAY))) == 2
        assert list(timed.log(until=clock.now - 3 * DAY)) == list(timed.log(limit=2))

    def test_what_is_collected_grows_old_as_ever(self, timed, clock, begin):
        begin(timed, clock)
        clock.advance(HOUR)
        timed.create_branch("trial")
        timed.put("t", 1, branch="trial")
        timed.delete_branch("trial")
        assert timed.gc(dry_run=True).objects == 0
        assert timed.gc(keep_reflog=timedelta(0), dry_run=True).objects == 3
        clock.advance(31 * DAY)
        assert timed.gc().objects == 3
        assert timed.verify().ok


def test_what_was_dropped_while_the_clock_was_ahead_goes_after_its_time(timed, clock):
    timed.create_branch("trial")
    clock.advance(AHEAD)
    timed.put("t", 1, branch="trial")
    timed.delete_branch("trial")
    clock.advance(-AHEAD)
    assert timed.gc(dry_run=True).objects == 0
    assert timed.gc(keep_reflog=timedelta(0), dry_run=True).objects == 3
    clock.advance(DAY)
    timed.put("a", 1)
    clock.advance(29 * DAY)
    assert timed.gc(dry_run=True).objects == 0
    clock.advance(2 * DAY)
    assert timed.gc().objects == 3


def test_a_clock_that_was_behind_takes_nothing_from_the_lines_before(timed, clock):
    timed.create_branch("trial")
    timed.put("t", 1, branch="trial")
    timed.delete_branch("trial")
    clock.advance(-50 * YEAR)
    timed.put("a", 1)
    clock.advance(50 * YEAR + DAY)
    timed.put("b", 1)
    assert timed.gc().objects == 0
    assert timed.resolve("main@{now}").message == "put b"


@pytest.mark.parametrize("now", [0, -1, -YEAR])
def test_a_clock_before_1970(tmp_path, now):
    clock = Clock(now)
    with mnemosyne_vcs.open(tmp_path / "early.mnem", create=True) as opened:
        repo = Repository(opened.blocks.engine, clock=clock)
        first = repo.put("a", 1)
        assert first.timestamp_ms == 0
        assert repo.resolve("main@{now}") == first
        clock.advance(HOUR)
        second = repo.put("b", 1)
        assert repo.resolve("main@{now}") == second
        assert repo.resolve("main@{30 minutes ago}") == first
        assert list(repo.log(until=clock.now)) == [second, first]
        assert [move.timestamp_ms for move in repo.reflog()][:2] == [now + HOUR, now]
        repo.undo()
        assert repo.gc(keep_reflog=timedelta(0)).objects == 0
        assert repo.verify().ok


def test_a_copy_of_an_engine_without_snapshots_is_dated(tmp_path, clock):
    repo = Repository(mnemosyne_vcs.open("memory://", create=True).blocks.engine, clock=clock)
    repo.put("a", 1)
    repo.backup(tmp_path / "copy.mnem")
    with mnemosyne_vcs.open(tmp_path / "copy.mnem") as copy:
        assert [move.timestamp_ms for move in copy.reflog()] == [clock.now]
        with pytest.raises(NotFoundError, match="did not exist"):
            copy.at("main@{2020-01-01}")

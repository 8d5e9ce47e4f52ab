"""History: log, history of a key, blame, diff, undo."""

from mnemosyne_vcs import Repository
from mnemosyne_vcs.testing.repository.history import HistoryContract


class TestHistory(HistoryContract):
    pass


def test_commit_times_never_fall_behind(timed: Repository, clock: object):
    timed.put("a", 1)
    clock.advance(-1_000_000)  # type: ignore[attr-defined]
    timed.put("a", 2)
    newest, older = timed.log()
    assert newest.timestamp_ms == older.timestamp_ms

"""The log and its filters."""

from datetime import UTC, datetime

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import Repository, ValidationError
from mnemosyne_vcs.testing.repository.log import LogContract, Plain, messages


class TestLog(LogContract):
    pass


def test_a_log_between_two_times(timed: Repository, clock):
    for number in range(5):
        timed.put("a", number, message=str(number))
        clock.advance(1000)
    start = clock.now - 5000
    assert messages(timed, since=start + 3000) == ["4", "3"]
    assert messages(timed, until=start + 1500) == ["1", "0"]
    assert messages(timed, since=start + 1000, until=start + 2000, first_parent=True) == ["2", "1"]
    moment = datetime.fromtimestamp((start + 4000) / 1000, UTC)
    assert messages(timed, since=moment) == ["4"]
    assert messages(timed, since=moment.replace(tzinfo=None)) == ["4"]
    assert messages(timed, key="a", since=moment) == ["4"]
    with pytest.raises(ValidationError, match="since"):
        timed.log(since="yesterday")  # type: ignore[arg-type]


def test_a_log_reads_ahead_without_changing_its_order(tmp_path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True, durability="relaxed") as repo:
        repo.create_branch("side")
        for number in range(40):
            repo.put(f"k{number}", number, message=str(number), branch=("main", "side")[number % 2])
        repo.merge("side", message="m")
    with mnemosyne_vcs.open(tmp_path / "a.mnem") as repo:
        ahead = messages(repo)
    with mnemosyne_vcs.open(tmp_path / "a.mnem") as repo:
        assert messages(Repository(Plain(repo.blocks.engine))) == ahead
    assert sorted(ahead) == sorted([*map(str, range(40)), "m"])

"""Moments at and beyond the edges of what a datetime can be."""

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import Repository, ValidationError
from mnemosyne_vcs.format.validation import MAX_MOMENT, MIN_MOMENT
from mnemosyne_vcs.revision import parse_time

BEYOND = MAX_MOMENT + 1

REFUSED = [
    time.time_ns(),
    time.time_ns() // 1000,
    BEYOND,
    MIN_MOMENT - 1,
    -(2**63),
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
]


@pytest.mark.parametrize("moment", REFUSED)
def test_a_moment_that_no_datetime_can_be_is_refused(repo, moment):
    with pytest.raises(ValidationError, match=r"event_time.*years 1 to 9999"):
        repo.put("k", 1, event_time=moment)
    for name in ("since", "until"):
        with pytest.raises(ValidationError, match=name):
            list(repo.log(**{name: moment}))
    assert list(repo.at()) == []


@pytest.mark.parametrize(
    "moment, milliseconds",
    [
        (datetime.max, MAX_MOMENT),
        (datetime.min, MIN_MOMENT),
        (MAX_MOMENT, MAX_MOMENT),
        (datetime(1969, 12, 31, 23, 59, 59, 999_500), -1),
        (datetime(2026, 1, 1, 0, 0, 0, 1_999, UTC), 1_767_225_600_001),
        (datetime(5138, 11, 16, 9, 46, 39, 999_999, UTC), 99_999_999_999_999),
    ],
)
def test_a_moment_is_cut_off_to_milliseconds(repo, moment, milliseconds):
    repo.put("k", 1, event_time=moment)

    assert repo.at()["k"].event_time == milliseconds


def test_times_in_revisions_are_exact():
    assert parse_time("9999-12-31T23:59:59.999999Z", 0) == MAX_MOMENT
    assert parse_time("0001-01-01T00:00", 0) == MIN_MOMENT


@pytest.fixture
def late(tmp_path):
    """A store with one commit of the year 10000 and a record of that time, as a bundle brings."""
    path = tmp_path / "late.mnem"
    with mnemosyne_vcs.open(path, create=True) as opened:
        repo = Repository(opened.blocks.engine, author="late", clock=lambda: BEYOND)
        repo.put("k", "before", event_time=MAX_MOMENT)
        repo.put("k", "now", message="late")
        repo.create_branch("side")
        repo.export_bundle(tmp_path / "late.car")
    return path


def test_a_time_that_no_datetime_can_be_is_a_number(late):
    with mnemosyne_vcs.open(late, read_only=True) as repo:
        commit = repo.resolve()

    assert commit.timestamp_ms == commit.time == BEYOND
    assert mnemosyne_vcs.Commit("", (), "", "", "", "", MAX_MOMENT, 1).time == datetime(
        9999, 12, 31, 23, 59, 59, 999_000, UTC
    )

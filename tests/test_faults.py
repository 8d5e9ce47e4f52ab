"""A store that fails: the outcome is found out, and nothing is half written."""

from collections.abc import Iterable
from pathlib import Path

import pytest

import mnemosyne
from mnemosyne import EngineError, Repository
from mnemosyne.engine import open_engine
from mnemosyne.testing import Fault, FaultyEngine, SlowEngine, random_faults


def opened(tmp_path: Path, faults: Iterable[Fault], *calls: str) -> tuple[Repository, Repository]:
    """A repository whose engine has faults in some calls, and a sound one on the same file."""
    path = tmp_path / "a.mnem"
    sound = mnemosyne.open(path, create=True)
    sound.put("total", 0)
    return Repository(FaultyEngine(open_engine(str(path)), faults, calls=calls)), sound


def test_a_lost_answer_is_no_lost_commit(tmp_path: Path):
    faulty, sound = opened(tmp_path, ["after"], "write")
    commit = faulty.put("a", 1)
    assert sound.resolve().id == commit.id
    assert [c.message for c in sound.log()] == ["put a", "put total"]


def test_a_write_that_never_arrived_raises_and_changes_nothing(tmp_path: Path):
    faulty, sound = opened(tmp_path, ["before"], "write")
    head = sound.resolve().id
    with pytest.raises(EngineError):
        faulty.put("a", 1)
    assert sound.resolve().id == head
    faulty.put("a", 1)
    assert sound.at()["a"].content == 1


@pytest.mark.parametrize("seed", range(5))
def test_every_acknowledged_commit_is_there_once_whatever_fails(tmp_path: Path, seed: int):
    faulty, sound = opened(tmp_path, random_faults(seed, 0.1), "write", "read", "ref")
    acknowledged = 0
    for i in range(120):

        def add(tx: mnemosyne.Transaction, i: int = i) -> None:
            tx.put(f"k/{i}", i)
            tx.put("total", tx["total"].content + 1)

        try:
            faulty.transact(add)
        except EngineError:
            continue
        acknowledged += 1
        assert sound.at()[f"k/{i}"].content == i
    now = sound.at()
    assert now.count("k/") == now["total"].content >= acknowledged > 0
    assert sound.verify().ok


def test_a_failing_read_is_an_error_and_never_an_empty_memory(tmp_path: Path):
    calls = ("read", "ref", "refs")
    for call in calls:
        faulty, _ = opened(tmp_path / call, ["before"], call)
        with pytest.raises(EngineError):
            faulty.branches() if call == "refs" else faulty.at()["total"]
        assert faulty.at()["total"].content == 0


def test_a_view_that_could_not_be_built_is_built_later(tmp_path: Path):
    faulty, sound = opened(tmp_path, ["before"], "read")
    sound.put("a", 1, embedding=[1, 0])
    with pytest.raises(EngineError):
        faulty.at().search([1, 0])
    assert [hit.record.key for hit in faulty.at().search([1, 0])] == ["a"]


def test_a_slow_store_gives_the_same_answers(tmp_path: Path):
    slow = Repository(SlowEngine(open_engine(str(tmp_path / "a.mnem"), create=True), 0.0005))
    mnemosyne.open(tmp_path / "a.mnem", create=True)
    for i in range(5):
        slow.put(f"k/{i}", i, embedding=[1, i])
    assert [hit.record.content for hit in slow.at().search([1, 0])] == [0, 1, 2, 3, 4]
    assert slow.verify().ok

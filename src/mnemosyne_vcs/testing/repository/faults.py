# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: an engine that fails."""

from collections.abc import Callable, Iterable

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import EngineError, Repository
from mnemosyne_vcs.testing import Fault, FaultyEngine, SlowEngine, random_faults
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures

__all__ = ["FaultsContract"]

Opened = Callable[..., Repository]


def failing(
    opened: Opened, url: str, faults: Iterable[Fault], *calls: str
) -> tuple[Repository, Repository]:
    """A repository whose engine has faults in some calls, and a sound one on its store."""
    sound = opened(url, create=True)
    sound.put("total", 0)
    return Repository(FaultyEngine(opened(url).blocks.engine, faults, calls=calls)), sound


class FaultsContract(RepositoryFixtures):
    """What a repository promises of an engine that fails."""

    def test_a_lost_answer_is_no_lost_commit(self, opened: Opened, shared_url: str):
        faulty, sound = failing(opened, shared_url, ["after"], "write")
        commit = faulty.put("a", 1)
        assert sound.resolve().id == commit.id
        assert [c.message for c in sound.log()] == ["put a", "put total"]

    def test_a_write_that_never_arrived_raises_and_changes_nothing(
        self, opened: Opened, shared_url: str
    ):
        faulty, sound = failing(opened, shared_url, ["before"], "write")
        head = sound.resolve().id
        with pytest.raises(EngineError):
            faulty.put("a", 1)
        assert sound.resolve().id == head
        faulty.put("a", 1)
        assert sound.at()["a"].content == 1

    @pytest.mark.parametrize("seed", range(5))
    def test_every_acknowledged_commit_is_there_once_whatever_fails(
        self, opened: Opened, shared_url: str, seed: int
    ):
        faulty, sound = failing(
            opened, shared_url, random_faults(seed, 0.1), "write", "read", "ref"
        )
        acknowledged = 0
        for i in range(120):

            def add(tx: mnemosyne_vcs.Transaction, i: int = i) -> None:
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

    def test_a_failing_read_is_an_error_and_never_an_empty_memory(
        self, opened: Opened, new_url: Callable[[], str]
    ):
        calls = ("read", "ref", "refs")
        for call in calls:
            faulty, _ = failing(opened, new_url(), ["before"], call)
            with pytest.raises(EngineError):
                faulty.branches() if call == "refs" else faulty.at()["total"]
            assert faulty.at()["total"].content == 0

    def test_a_view_that_could_not_be_built_is_built_later(self, opened: Opened, shared_url: str):
        faulty, sound = failing(opened, shared_url, ["before"], "read")
        sound.put("a", 1, embedding=[1, 0])
        with pytest.raises(EngineError):
            faulty.at().search([1, 0])
        assert [hit.record.key for hit in faulty.at().search([1, 0])] == ["a"]

    def test_a_slow_store_gives_the_same_answers(self, repo: Repository):
        slow = Repository(SlowEngine(repo.blocks.engine, 0.0005))
        for i in range(5):
            slow.put(f"k/{i}", i, embedding=[1, i])
        assert [hit.record.content for hit in slow.at().search([1, 0])] == [0, 1, 2, 3, 4]
        assert slow.verify().ok

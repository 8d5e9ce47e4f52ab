"""Many writers and readers, and sudden deaths: nothing acknowledged is lost, nothing is torn."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest

from mnemosyne_vcs import Commit, ConflictError, Repository, Transaction
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.protocol import Engine, RefUpdate
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.testing import FaultyEngine
from mnemosyne_vcs.testing._peers import fresh
from mnemosyne_vcs.testing.repository.concurrency import ConcurrencyContract
from mnemosyne_vcs.transaction.retries import (
    MAX_ATTEMPTS,
    OPTIMISTIC_ATTEMPTS,
    until_it_lands,
)


class TestConcurrency(ConcurrencyContract):
    pass


class Rivalled(FaultyEngine):
    """Lets a rival write before each write that is not under the lock."""

    def __init__(self, engine: Engine, rival: Callable[[], object]) -> None:
        super().__init__(engine)
        self.rival, self.locked = rival, False

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self.engine.exclusive():
            self.locked = True
            try:
                yield
            finally:
                self.locked = False

    def write(self, objects: Mapping[Id, bytes], update: RefUpdate | None = None) -> None:
        if not self.locked:
            self.rival()
        super().write(objects, update)


def test_who_loses_race_after_race_takes_the_lock():
    memory, runs, rivals = MemoryEngine(), [], []
    other = fresh(memory)
    other.put("total", 0)

    def count_up(tx: Transaction, told: list[int]) -> None:
        told.append(tx["total"].content)
        tx.put("total", tx["total"].content + 1)

    rival = partial(other.transact, partial(count_up, told=rivals))
    Repository(Rivalled(memory, rival)).transact(partial(count_up, told=runs))
    assert len(runs) == OPTIMISTIC_ATTEMPTS + 1
    assert other.at()["total"].content == len(rivals) + 1


@pytest.mark.parametrize("lock", [True, False])
def test_attempts_are_bounded_and_the_pauses_between_them_grow_slowly(
    monkeypatch: pytest.MonkeyPatch, lock: bool
):
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    monkeypatch.setattr("random.uniform", lambda least, most: most)
    engine, attempts = MemoryEngine(), list[int]()

    def attempt() -> Commit:
        attempts.append(len(attempts))
        raise ConflictError("lost", [])

    can = Capabilities.of(engine)
    with pytest.raises(ConflictError, match="lost"):
        until_it_lands(can if lock else replace(can, lock=None), attempt, ConflictError)
    assert len(attempts) == (OPTIMISTIC_ATTEMPTS + 1 if lock else MAX_ATTEMPTS)
    assert pauses == [pytest.approx(0.001 * number) for number in range(1, len(attempts))]

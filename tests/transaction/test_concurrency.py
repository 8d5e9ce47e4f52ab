"""Many writers and readers, and sudden deaths: nothing acknowledged is lost, nothing is torn."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from mnemosyne_vcs import Repository, Transaction
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.protocol import Engine, RefUpdate
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.testing import FaultyEngine
from mnemosyne_vcs.testing._peers import fresh
from mnemosyne_vcs.testing.repository.concurrency import ConcurrencyContract
from mnemosyne_vcs.transaction.retries import OPTIMISTIC_ATTEMPTS


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

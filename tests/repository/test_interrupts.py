"""An interrupt at any instant costs nothing: what was taken is given back, the store goes on."""

import gc
import os
import random
from collections.abc import Callable
from datetime import timedelta
from threading import Thread
from time import perf_counter

import pytest

from interrupting import Interrupted, by_a_signal, by_another_thread, instants, interrupt
from mnemosyne_vcs import Repository, initialise
from mnemosyne_vcs.engine.urls import open_engine

EACH = int(os.environ.get("INTERRUPTS_OF_EACH", "25"))
"""Interrupts of each kind of work, at instants that are spread over it."""
ROUNDS = int(os.environ.get("INTERRUPTS", "1000"))
SEED = os.environ.get("SOAK_SEED", "interrupts")
PATIENCE = 30
quiet = pytest.mark.filterwarnings(  # what comes when Python or psycopg closes generators itself
    "ignore:Exception ignored in. <function WeakSet:pytest.PytestUnraisableExceptionWarning",
    "ignore:Exception ignored in. <generator object Base:pytest.PytestUnraisableExceptionWarning",
)


class Memory:
    """A repository whose waits are short, and what is done to it.

    Args:
        url: where to make it.
    """

    def __init__(self, url: str) -> None:
        engine = open_engine(url, create=True, busy_timeout=1)
        initialise(engine)
        self.repo = Repository(engine, author="tester")
        self.number = 0
        self.acknowledged: list[str] = []
        self.kept: list[BaseException] = []
        """What interrupted, with all frames, as a notebook keeps them."""
        with self.repo.transaction() as tx:
            for number in range(30):
                tx.put(f"old/{number}", number, embedding=[number, 1.0])

    def put(self) -> None:
        self.number += 1
        commit = self.repo.put(f"new/{self.number % 7}", self.number, embedding=[1.0, self.number])
        self.acknowledged.append(commit.id)

    def read(self) -> None:
        now = self.repo.at()
        assert now["old/3"].content == 3
        assert len(list(now.scan("old/"))) == 30

    def search(self) -> None:
        assert len(self.repo.at().search([1.0, 1.0], limit=5)) == 5

    def search_anew(self) -> None:
        self.repo._views.clear()
        self.repo.blocks.renew()
        self.search()

    def undo(self) -> None:
        self.put()
        self.acknowledged.append(self.repo.undo().id)

    def branch(self) -> None:
        self.number += 1
        name = f"b{self.number}"
        self.repo.create_branch(name)
        self.acknowledged.append(self.repo.put("side", self.number, branch=name).id)
        self.acknowledged.append(self.repo.merge(name, into="main").id)
        self.repo.delete_branch(name)

    def transaction(self) -> None:
        self.number += 1
        with self.repo.transaction() as tx:
            assert tx["old/3"].content == 3
            if (key := f"new/{self.number % 5}") in tx:
                tx.delete(key)
            tx.put("counted", self.number)
            tx.put(f"new/{self.number % 7}", self.number, embedding=[2.0, self.number])
        assert tx.committed is not None
        self.acknowledged.append(tx.committed.id)

    def gc(self) -> None:
        self.number += 1
        gone = f"gone{self.number}"
        self.repo.create_branch(gone)
        self.repo.put("garbage", self.number, branch=gone)
        self.repo.delete_branch(gone)
        self.repo.gc(keep_reflog=timedelta(0))

    def close(self) -> None:
        self.put()
        self.repo.close()

    def exclusive(self) -> None:
        exclusive = self.repo.blocks.can.exclusive
        made = []
        with exclusive():
            self.number += 1
            made.append(self.repo.put("alone", self.number).id)
            with exclusive():
                made.append(self.repo.put("inner", self.number).id)
        self.acknowledged += made

    def require_alive(self) -> None:
        """In this thread and in another one, everything goes on at once."""
        failed: list[BaseException] = []

        def work() -> None:
            try:
                self.search()
                self.put()
                self.read()
                self.search()
            except BaseException as error:  # noqa: BLE001 - told to the test
                failed.append(error)

        other = Thread(target=work, daemon=True)
        other.start()
        other.join(PATIENCE)
        assert not other.is_alive(), "another thread hangs"
        work()
        assert failed == []

    def require_kept(self) -> None:
        """Nothing acknowledged is lost, nothing is damaged, and another thread can close it."""
        closing = Thread(target=self.repo.close, daemon=True)
        closing.start()
        closing.join(PATIENCE)
        assert not closing.is_alive(), "closing hangs"
        self.kept.clear()
        gc.collect()
        branches = self.repo.branches()
        assert set(self.acknowledged) <= {c.id for name in branches for c in self.repo.log(name)}
        assert self.repo.verify().ok


WORK = [
    Memory.put,
    Memory.read,
    Memory.search,
    Memory.search_anew,
    Memory.undo,
    Memory.branch,
    Memory.transaction,
    Memory.gc,
    Memory.close,
    Memory.exclusive,
]


@quiet
@pytest.mark.parametrize("work", WORK)
def test_work_that_is_interrupted_at_any_instant(url: str, work: Callable[[Memory], None]):
    memory = Memory(url)
    work(memory)
    count = instants(lambda: work(memory))
    chance = random.Random(f"{SEED} {work.__name__}")
    for at in sorted(chance.sample(range(1, count + 1), min(EACH, count))):
        try:
            interrupt(lambda: work(memory), at)
        except Interrupted as interrupted:
            memory.kept.append(interrupted)
        memory.require_alive()
    memory.require_kept()


def interrupt_work(memory: Memory, rounds: int) -> None:
    """Do work that real interrupts end, each after a part of the time that the work takes."""
    chance = random.Random(SEED)
    works = [Memory.put, Memory.read, Memory.search, Memory.search_anew, Memory.undo, Memory.branch]
    took = dict.fromkeys(works, 0.0)
    for work in works:
        began = perf_counter()
        work(memory)
        took[work] = perf_counter() - began
    for number in range(rounds):
        work = chance.choice(works)
        by = by_a_signal if number % 2 else by_another_thread
        (ended,) = by(lambda work=work: work(memory), chance.uniform(0, took[work]))
        if not isinstance(ended, Interrupted):
            raise ended
        memory.kept.append(ended)
        memory.require_alive()


@quiet
def test_signals_and_other_threads_interrupt_at_random(url: str):
    memory = Memory(url)
    interrupt_work(memory, EACH)
    memory.require_kept()


@quiet
@pytest.mark.soak
def test_many_interrupts_at_random(url: str):
    memory = Memory(url)
    began = perf_counter()
    interrupt_work(memory, ROUNDS)
    memory.require_kept()
    print(
        f"{memory.repo.url}: {ROUNDS} interrupts in {perf_counter() - began:.0f} s, "
        f"{len(memory.acknowledged)} commits acknowledged, none lost"
    )

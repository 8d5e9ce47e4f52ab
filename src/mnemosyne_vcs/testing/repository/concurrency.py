"""Many writers and readers, and sudden deaths: nothing acknowledged is lost, nothing is torn."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import mnemosyne_vcs
from acknowledgements import assert_kept, commits_told
from children import Child, go
from mnemosyne_vcs import Repository, Transaction
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.protocol import Engine, RefUpdate
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.testing import FaultyEngine
from mnemosyne_vcs.transaction.retries import OPTIMISTIC_ATTEMPTS
from peers import fresh
from races import race

Start = Callable[..., Child]


def test_four_processes_lose_nothing_while_others_read(counted_url: str, start: Start):
    writers = [start("save", counted_url, f"w{i}", 100) for i in range(4)]
    readers = [start("read", counted_url, f"r{i}", 20) for i in range(2)]
    go([*writers, *readers])
    acknowledged = commits_told([line for child in writers for line in child.finish()])
    assert [child.finish()[0].split()[0] for child in readers] == ["read"] * 2
    assert len(acknowledged) == 400
    with mnemosyne_vcs.open(counted_url) as repo:
        records = list(repo.at().scan("w"))
        assert len(records) == repo.at()["total"].content == 400
        assert all(r.provenance.agent == r.key.split("/")[0] for r in records)
    assert_kept(counted_url, acknowledged)


def test_two_hosts_commit_to_one_branch_two_hundred_times_each(counted_url: str, start: Start):
    """Two processes share no cache, as two hosts do."""
    hosts = [start("save", counted_url, f"h{i}", 200) for i in range(2)]
    go(hosts)
    acknowledged = commits_told([line for host in hosts for line in host.finish()])
    assert len(acknowledged) == 400
    with mnemosyne_vcs.open(counted_url) as repo:
        assert repo.at()["total"].content == 400
    assert_kept(counted_url, acknowledged)


def test_eight_threads_lose_nothing_while_others_read(repo: Repository):
    def write(name: str) -> None:
        for i in range(100):
            repo.put(f"{name}/{i}", i, embedding=[1.0, i], author=name)

    def read() -> None:
        now = repo.at()
        assert len(now.search([1.0, 0.0], limit=len(now) + 1)) == len(now)

    race([partial(write, f"w{i}") for i in range(8)], [read, read])
    assert len(repo.at()) == 800
    for i in range(8):
        for j in range(0, 100, 10):
            assert repo.blame(f"w{i}/{j}").commit.author == f"w{i}"


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


def test_killed_writers_lose_nothing_acknowledged(counted_url: str, start: Start):
    chance = random.Random(20)
    told: list[str] = []
    for round_ in range(6):
        children = [start("save", counted_url, f"k{round_}-{i}", 10_000) for i in range(2)]
        go(children)
        for child in children:
            told += [child.line() for _ in range(chance.randrange(1, 15))]
            told += child.kill()
    acknowledged = commits_told(told)
    assert len(acknowledged) >= 12
    assert_kept(counted_url, acknowledged)

"""What the clients of a soak do until they are killed.

The memory has a count for each writer, and the last values that it wrote in slots. So the counts
say what a whole snapshot has to be.
"""

from collections.abc import Callable
from multiprocessing.connection import Connection
from threading import Event
from time import perf_counter

import mnemosyne_vcs
from mnemosyne_vcs import EngineError, Repository, Snapshot, Transaction

SLOTS = 50
PAUSE_SECONDS = 0.05


def begin(url: str, writers: list[str]) -> None:
    """Make the repository, with a count of nothing for each writer."""
    with mnemosyne_vcs.open(url, create=True) as repo, repo.transaction() as tx:
        tx.put("total", 0)
        for name in writers:
            tx.put(f"count/{name}", 0)


def check(now: Snapshot) -> int:
    """See that a snapshot is what its counts say, by reading and by searching.

    Returns:
        How many commits it has come from.
    """
    counts = {record.key.split("/")[1]: record.content for record in now.scan("count/")}
    slots = {
        f"slot/{name}/{number % SLOTS}": number
        for name, last in counts.items()
        for number in range(max(1, last - SLOTS + 1), last + 1)
    }
    assert now["total"].content == sum(counts.values())
    assert {record.key: record.content for record in now.scan("slot/")} == slots
    hits = now.search([1.0, 0.0], limit=len(now))
    assert {hit.record.key: hit.record.content for hit in hits} == slots
    return sum(counts.values())


def write(repo: Repository, name: str) -> tuple[object, ...]:
    def step(tx: Transaction) -> None:
        number = tx[f"count/{name}"].content + 1
        tx.put(f"count/{name}", number)
        tx.put(f"slot/{name}/{number % SLOTS}", number, embedding=[1.0, number])
        tx.put("total", tx["total"].content + 1)

    began = perf_counter()
    commit = repo.transact(step)
    return "commit", commit.id, perf_counter() - began


class Reader:
    """Sees that memory never goes back."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, repo: Repository, name: str) -> tuple[object, ...]:
        found = check(repo.at())
        assert found >= self.seen
        self.seen = found
        return ("snapshot",)


def go_on(action: str, url: str, name: str, told: Connection) -> None:
    """Act again and again; an engine that is out of reach is told, and tried again."""
    act: Callable[[Repository, str], tuple[object, ...]]
    act = {"write": write, "read": Reader()}[action]
    repo: Repository | None = None
    while True:
        try:
            repo = repo or mnemosyne_vcs.open(url, author=name)
            told.send(act(repo, name))
        except EngineError as error:
            told.send(("error", type(error).__name__))
            Event().wait(PAUSE_SECONDS)

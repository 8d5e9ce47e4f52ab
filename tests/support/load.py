"""Load: threads that write, while things happen to the store."""

from collections.abc import Callable
from threading import Condition, Event, Thread

import mnemosyne_vcs
from mnemosyne_vcs import EngineError
from mnemosyne_vcs.testing._acknowledgements import assert_kept

PATIENCE = 60.0


def assert_keeps(url: str, *disturbances: Callable[[], None], writers: int = 3) -> set[str]:
    """Write from several threads while disturbances happen; then look for all of it.

    Args:
        url: a repository in which `total` counts the other records, of which there are none.
        disturbances: what happens to the store, one after the other.
        writers: how many threads.

    Returns:
        What the writers were told when they failed.
    """
    acknowledged = Acknowledgements()
    told: set[str] = set()
    stop = Event()

    def write(name: str) -> None:
        with mnemosyne_vcs.open(url, author=name) as repo:
            number = 0
            while not stop.is_set():
                key = f"{name}/{number}"

                def add(tx: mnemosyne_vcs.Transaction, key: str = key) -> None:
                    tx.put(key, name)
                    tx.put("total", tx["total"].content + 1)

                try:
                    acknowledged.note(key, repo.transact(add).id)
                except EngineError as error:
                    told.add(error.message)
                number += 1

    threads = [Thread(target=write, args=(f"w{n}",)) for n in range(writers)]
    for thread in threads:
        thread.start()
    try:
        acknowledged.wait_for(10)
        for disturb in disturbances:
            disturb()
            acknowledged.wait_for(10)
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert_kept(url, acknowledged)
    return told


class Acknowledgements(dict[str, str]):
    """The commits that writers were told of, by key; tells who waits of each."""

    def __init__(self) -> None:
        super().__init__()
        self._grown = Condition()

    def note(self, key: str, commit: str) -> None:
        """Add one."""
        with self._grown:
            self[key] = commit
            self._grown.notify_all()

    def wait_for(self, more: int) -> None:
        """Wait until there are so many more."""
        with self._grown:
            wanted = len(self) + more
            come = self._grown.wait_for(lambda: len(self) >= wanted, PATIENCE)
            assert come, f"{len(self)} of {wanted} after {PATIENCE} s"

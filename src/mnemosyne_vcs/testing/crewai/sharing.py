"""Several users of one store: instances, threads and processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

import pytest

from mnemosyne_vcs.testing.crewai.base import (
    BackendContract,
    OpenBackend,
    X,
    hit_ids,
    make,
    must_get,
    stored_ids,
)
from mnemosyne_vcs.testing.crewai.peer import Peers

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend

THREADS, SAVES = 8, 10


class SharingContract(BackendContract):
    """Everyone who has a store open sees the same records, and no save is lost."""

    @pytest.fixture(scope="class")
    @classmethod
    def peers(cls, offline: None) -> Iterator[Peers]:
        """Give other processes to open stores in."""
        peers = Peers(cls.opener)
        yield peers
        peers.end()

    def test_two_instances(self, open_backend: OpenBackend) -> None:
        """Two instances in one process see each other's saves, updates and deletions at once."""
        one, two = open_backend(), open_backend()
        one.save([make("a")])
        assert stored_ids(two) == {"a"}
        two.update(make("a", content="changed"))
        two.save([make("b")])
        assert must_get(one, "a").content == "changed"
        assert set(hit_ids(one.search(X))) == {"a", "b"}
        one.delete(record_ids=["a"])
        assert hit_ids(two.search(X)) == ["b"]

    def test_two_instances_reset(self, open_backend: OpenBackend) -> None:
        """A reset by one instance is seen by the other, which goes on saving and loses nothing."""
        one, two = open_backend(), open_backend()
        one.save([make("a")])
        assert stored_ids(two) == {"a"}
        one.reset()
        assert two.search(X) == []
        two.save([make("b", [1.0] * 8)])
        assert stored_ids(one) == stored_ids(two) == {"b"}

    def test_separate_stores(self, open_backend: OpenBackend) -> None:
        """Stores at different locations share nothing."""
        one, two = open_backend("one"), open_backend("two")
        one.save([make("a")])
        two.save([make("b", [1.0] * 8)])
        assert (stored_ids(one), stored_ids(two)) == ({"a"}, {"b"})

    def test_threads(self, backend: StorageBackend) -> None:
        """Eight threads save through one instance while two read: no error, nothing lost.

        Reported: https://github.com/mem0ai/mem0/issues/7196
        """
        done = Event()

        def write(thread: int) -> None:
            for n in range(SAVES):
                backend.save([make(f"{thread}-{n}", scope=f"/{thread}")])

        def read() -> None:
            while not done.is_set():
                backend.search(X)
                backend.list_scopes()
                backend.get_record("0-0")

        with ThreadPoolExecutor(THREADS + 2) as pool:
            readers = [pool.submit(read) for _ in range(2)]
            writers = [pool.submit(write, thread) for thread in range(THREADS)]
            try:
                for writer in writers:
                    writer.result()
            finally:
                done.set()
            for reader in readers:
                reader.result()
        assert stored_ids(backend) == {f"{t}-{n}" for t in range(THREADS) for n in range(SAVES)}

    def test_threads_with_instances(self, open_backend: OpenBackend) -> None:
        """Threads with an instance each save into one store: no error, nothing lost."""
        backends = [open_backend() for _ in range(4)]

        def write(thread: int) -> None:
            for n in range(SAVES):
                backends[thread].save([make(f"{thread}-{n}")])

        with ThreadPoolExecutor(4) as pool:
            for _ in pool.map(write, range(4)):
                pass
        expected = {f"{t}-{n}" for t in range(4) for n in range(SAVES)}
        assert stored_ids(open_backend()) == expected

    def test_short_lived_threads(self, backend: StorageBackend) -> None:
        """Threads that each live for one call, as CrewAI's flows use, work like one thread."""
        for n in range(30):
            with ThreadPoolExecutor(1) as pool:
                pool.submit(backend.save, [make(str(n))]).result()
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(backend.search, X, limit=100).result()
        assert set(hit_ids(found)) == {str(n) for n in range(30)}

    def test_other_process(
        self, open_backend: OpenBackend, peers: Peers, locate: Callable[[str], str]
    ) -> None:
        """What another live process saves and deletes is seen at once, in both directions.

        Reported: https://github.com/crewAIInc/crewAI/issues/1696
        """
        backend = open_backend()
        backend.save([make("ours-0")])
        [peer] = peers.open(1, locate("store"))
        assert peer.ask("search", X) == ["ours-0"]
        peer.ask("save", "theirs", 1)
        assert set(hit_ids(backend.search(X))) == {"ours-0", "theirs-0"}
        backend.delete(record_ids=["ours-0"])
        assert peer.ask("search", X) == ["theirs-0"]
        peer.ask("reset")
        assert stored_ids(backend) == set()
        backend.save([make("after", [1.0] * 8)])
        assert peer.ask("ids") == ["after"]

    def test_four_processes(
        self, open_backend: OpenBackend, peers: Peers, locate: Callable[[str], str]
    ) -> None:
        """Four processes save 25 records each while another reads: no error, all are there.

        Reported: https://github.com/crewAIInc/crewAI/pull/4804
        and https://github.com/crewAIInc/crewAI/pull/4854
        """
        backend = open_backend()
        backend.save([make("first")])
        group = peers.open(4, locate("store"))
        for number, peer in enumerate(group):
            peer.send("save", f"p{number}", 25)
        for _ in range(20):
            assert "first" in hit_ids(backend.search(X, limit=1000))
        saved = {name for peer in group for name in peer.receive()}
        assert len(saved) == 100
        assert stored_ids(open_backend()) == saved | {"first"}

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
    def test_fork(
        self, open_backend: OpenBackend, peers: Peers, locate: Callable[[str], str]
    ) -> None:
        """A forked child saves through the instance it inherited, and its parent sees that."""
        [peer] = peers.open(1, locate("store"))
        peer.ask("save", "before", 1)
        assert peer.ask("save_in_fork", "inside") == 0
        peer.ask("save", "after", 1)
        assert peer.ask("ids") == ["after-0", "before-0", "inside"]
        assert stored_ids(open_backend()) == {"after-0", "before-0", "inside"}

    def test_killed(
        self, open_backend: OpenBackend, peers: Peers, locate: Callable[[str], str]
    ) -> None:
        """A process killed while it saves has lost no save that had returned."""
        [peer] = peers.open(1, locate("store"))
        peer.send("save_for_ever", "k")
        acknowledged = [peer.receive() for _ in range(20)]
        acknowledged += peer.kill()
        backend = open_backend()
        assert stored_ids(backend) >= set(acknowledged)
        assert must_get(backend, acknowledged[-1]).content == f"content of {acknowledged[-1]}"
        backend.save([make("next")])
        assert must_get(backend, "next").content == "content of next"

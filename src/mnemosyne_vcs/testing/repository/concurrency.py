# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: threads and processes that write at once."""

import random
from collections.abc import Callable
from functools import partial

import mnemosyne_vcs
from mnemosyne_vcs import Repository
from mnemosyne_vcs.testing._acknowledgements import assert_kept, commits_told
from mnemosyne_vcs.testing._children import Child, go
from mnemosyne_vcs.testing._races import race
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures

__all__ = ["ConcurrencyContract"]

Start = Callable[..., Child]


class ConcurrencyContract(RepositoryFixtures):
    """What a repository promises of threads and processes that write at once."""

    def test_four_processes_lose_nothing_while_others_read(self, counted_url: str, start: Start):
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

    def test_two_hosts_commit_to_one_branch_two_hundred_times_each(
        self, counted_url: str, start: Start
    ):
        """Two processes share no cache, as two hosts do."""
        hosts = [start("save", counted_url, f"h{i}", 200) for i in range(2)]
        go(hosts)
        acknowledged = commits_told([line for host in hosts for line in host.finish()])
        assert len(acknowledged) == 400
        with mnemosyne_vcs.open(counted_url) as repo:
            assert repo.at()["total"].content == 400
        assert_kept(counted_url, acknowledged)

    def test_eight_threads_lose_nothing_while_others_read(self, repo: Repository):
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

    def test_killed_writers_lose_nothing_acknowledged(self, counted_url: str, start: Start):
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

"""A soak: writers and readers of one repository, and sudden deaths.

It lasts for `SOAK_SECONDS`; or, if `SOAK_KILLS` is set, until so many processes were killed, each
of which was at work.
"""

import math
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Condition, Event, Thread
from time import monotonic
from typing import Any

import mnemosyne_vcs
from soak_child import begin, check, go_on

WRITERS = READERS = 8
SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
KILLS = int(os.environ.get("SOAK_KILLS", "0"))
SEED = os.environ.get("SOAK_SEED", str(random.SystemRandom().randrange(2**32)))
LONGEST_PEACE = 0.1 if KILLS else 4.0
PART_OF_SERVER = 0.05
PATIENCE = 120


@dataclass
class Report:
    """What a soak found.

    Attributes:
        acknowledged: the commits that writers were told.
        latencies: what each took, in seconds.
        snapshots: how many the readers found consistent.
        errors: how often clients met each type of error.
        kills: how many clients were killed.
        restarts: how often the server was killed and started again.
        faults: what no client may do, such as dying by itself.
    """

    seconds: float = 0
    acknowledged: set[str] = field(default_factory=set[str])
    latencies: list[float] = field(default_factory=list[float])
    snapshots: int = 0
    errors: Counter[str] = field(default_factory=Counter[str])
    kills: int = 0
    restarts: int = 0
    faults: list[str] = field(default_factory=list[str])
    lost: int = 0
    commits: int = 0

    def __str__(self) -> str:
        p50, p99 = (1000 * self.percentile(part) for part in (0.5, 0.99))
        return (
            f"seed {SEED}, {self.seconds:.0f} s, {WRITERS} writers, {READERS} readers: "
            f"{len(self.acknowledged)} commits acknowledged "
            f"({len(self.acknowledged) / self.seconds:.1f}/s), {self.commits} landed, "
            f"{self.lost} lost; commit p50 {p50:.1f} ms, p99 {p99:.1f} ms; "
            f"{self.snapshots} snapshots consistent; {self.kills} clients killed, "
            f"{self.restarts} restarts of the server; errors {dict(self.errors) or 'none'}"
        )

    def percentile(self, part: float) -> float:
        """The latency that this part of the commits did not exceed, in seconds."""
        ordered = sorted(self.latencies) or [math.nan]
        return ordered[int(part * (len(ordered) - 1))]


class Soak:
    """Clients at work, each started again when it was killed.

    Args:
        url: the repository, which does not exist yet.
        restart: kills the server and starts it again, where there is one.
    """

    def __init__(self, url: str, restart: Callable[[], None] | None = None) -> None:
        self._url, self._restart = url, restart
        self._clients: dict[tuple[str, str], tuple[BaseProcess, Thread]] = {}
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload(["mnemosyne_vcs", "numpy"])
        self._changed = Condition()
        self._working = set[tuple[str, str]]()
        self.report = Report()

    def run(self) -> Report:
        """Soak, then look at what is left."""
        writers = [f"w{number}" for number in range(WRITERS)]
        begin(self._url, writers)
        chance, began = random.Random(SEED), monotonic()
        who = [("write", name) for name in writers]
        who += [("read", f"r{number}") for number in range(READERS)]
        for client in who:
            self._start(client)
        try:
            self._disturb(chance, who, began + SECONDS)
        finally:
            for client in who:
                self._kill(client)
        self.report.seconds = monotonic() - began
        self._look()
        return self.report

    def _disturb(self, chance: random.Random, who: Sequence[tuple[str, str]], until: float) -> None:
        peace = Event()
        while self._goes_on(until) and not self.report.faults:
            peace.wait(chance.uniform(0, LONGEST_PEACE))
            if self._restart is not None and chance.random() < PART_OF_SERVER:
                self._restart()
                self.report.restarts += 1
            else:
                client = self._some_working_one(chance) if KILLS else chance.choice(who)
                self._kill(client)
                self._start(client)
                self.report.kills += 1

    def _goes_on(self, until: float) -> bool:
        if KILLS:
            return self.report.kills + self.report.restarts < KILLS
        return monotonic() < until

    def _some_working_one(self, chance: random.Random) -> tuple[str, str]:
        with self._changed:
            assert self._changed.wait_for(lambda: self._working, PATIENCE), "all clients hang"
            return chance.choice(sorted(self._working))

    def _start(self, client: tuple[str, str]) -> None:
        action, name = client
        heard, told = self._context.Pipe(duplex=False)
        child = self._context.Process(target=go_on, args=(action, self._url, name, told))
        child.start()
        told.close()
        listener = Thread(target=self._hear, args=(child, client, heard))
        listener.start()
        self._clients[client] = child, listener

    def _kill(self, client: tuple[str, str]) -> None:
        child, listener = self._clients.pop(client)
        child.kill()
        listener.join()
        self._working.discard(client)

    def _hear(self, child: BaseProcess, client: tuple[str, str], heard: Connection) -> None:
        with suppress(EOFError), heard:
            while True:
                what = heard.recv()
                with self._changed:
                    self._note(*what)
                    self._working.add(client)
                    self._changed.notify()
        child.join()
        if child.exitcode != -signal.SIGKILL:
            self.report.faults.append(f"{client[1]} ended by itself with code {child.exitcode}")

    def _note(self, kind: str, *what: Any) -> None:
        if kind == "commit":
            self.report.acknowledged.add(what[0])
            self.report.latencies.append(what[1])
        elif kind == "snapshot":
            self.report.snapshots += 1
        else:
            self.report.errors[what[0]] += 1

    def _look(self) -> None:
        with mnemosyne_vcs.open(self._url) as repo:
            landed = [commit.id for commit in repo.log()][:-1]
            self.report.commits = len(landed)
            self.report.lost = len(self.report.acknowledged - set(landed))
            if len(landed) != check(repo.at()):
                self.report.faults.append("some commit landed twice, or not whole")
            self.report.faults += map(str, repo.verify().problems)


def assert_sound(report: Report) -> None:
    """Say what a soak found, and fail if it is not as it must be."""
    print(report)
    assert report.faults == []
    assert report.lost == 0
    assert report.commits >= len(report.acknowledged) > 0
    assert report.snapshots > 0

"""Plan a run, execute it job by job in fresh processes, and gather the samples."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import (
    concurrency,
    data,
    history,
    history_actions,
    isolation,
    measure,
    tree,
    workloads,
)
from benchmarks.backends import BACKENDS, OURS, QDRANT, versions, why_missing

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Scale:
    """How much of everything a run does."""

    rounds: dict[int, dict[str, int]]
    repeats: int
    budget_s: float
    fsyncs: int
    processes: int
    threads: int
    saves: int
    kills: int
    updates: int
    commits: int
    logs: int
    lengths: tuple[int, ...]
    memories: tuple[int, ...]
    asks: int


FULL = Scale(
    rounds={
        1_000: {"normal": 3, "unit": 1},
        10_000: {"normal": 3, "unit": 1},
        100_000: {"normal": 2, "unit": 1},
    },
    repeats=100,
    budget_s=2.0,
    fsyncs=100,
    processes=4,
    threads=8,
    saves=100,
    kills=20,
    updates=1_000,
    commits=500,
    logs=15,
    lengths=(100, 1_000, 10_000),
    memories=(1_000, 10_000, 100_000),
    asks=20,
)
QUICK = Scale(
    rounds={1_000: {"normal": 1, "unit": 1}},
    repeats=5,
    budget_s=0.3,
    fsyncs=20,
    processes=2,
    threads=2,
    saves=5,
    kills=2,
    updates=20,
    commits=20,
    logs=2,
    lengths=(50, 100),
    memories=(1_000,),
    asks=3,
)


@dataclass(frozen=True)
class Case:
    """What a measurement was taken of. ``records`` is 0 where the size does not matter."""

    backend: str
    records: int = 0
    vectors: str = "normal"


class Run:
    """One run: the directory it works in, and what it has measured so far."""

    def __init__(self, scale: Scale, directory: Path) -> None:
        self.scale = scale
        self.directory = directory
        self.samples: dict[tuple[str, Case], list[float]] = {}
        self.errors: list[dict[str, Any]] = []
        self.missing: dict[str, str] = {}
        self.fsync: list[float] = []
        self._start = time.monotonic()

    def execute(self) -> dict[str, Any]:
        """Run everything and return the results as JSON data."""
        started = datetime.now(UTC)
        isolation.prepare_environment(self.directory / "home")
        reasons = {name: isolation.call(why_missing, name) for name in BACKENDS}
        self.missing = {name: reason for name, reason in reasons.items() if reason is not None}
        for size, kinds in self.scale.rounds.items():
            for kind, rounds in kinds.items():
                self._compare(size, kind, rounds)
        self._concurrency()
        if OURS not in self.missing:
            self._log_command()
        self._tree_blocks()
        self._history_actions()
        return self._results(started)

    def execute_history(self) -> dict[str, Any]:
        """Run only what asks and acts on history."""
        started = datetime.now(UTC)
        isolation.prepare_environment(self.directory / "home")
        self._probe_disk()
        self._history_actions()
        return self._results(started)

    def _results(self, started: datetime) -> dict[str, Any]:
        return {
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self._start),
            "machine": machine(),
            "versions": versions(),
            "scale": asdict(self.scale),
            "dimensions": data.DIMENSIONS,
            "missing": self.missing,
            "fsync": _rounded(self.fsync),
            "measurements": [
                {"measure": name, **asdict(case), "samples": _rounded(values)}
                for (name, case), values in self.samples.items()
            ],
            "errors": self.errors,
        }

    def _compare(self, size: int, kind: str, rounds: int) -> None:
        """Load, read and save on every backend, stage by stage, so that drift falls on all."""
        dataset = self.directory / "dataset"
        isolation.call(data.prepare, dataset, size, kind)
        for number in range(rounds):
            names = measure.rotated(self._backends(size), number)
            cases = {name: Case(name, size, kind) for name in names}
            stores = {name: self._new_store(name) for name in names}
            for name in names:
                self._job(cases[name], workloads.load, name, stores[name], dataset)
            if number == 0:
                for work in (workloads.memory, workloads.answers):
                    for name in names:
                        self._job(cases[name], work, name, stores[name], dataset)
            for name in names:
                self._probe_disk()
                limits = (self.scale.repeats, self.scale.budget_s)
                job = (name, stores[name], dataset, kind, *limits)
                self._job(cases[name], workloads.read_and_save, *job)
            if number == 0 and kind == "normal" and size <= 10_000:
                for name in names:
                    if name != QDRANT:
                        job = (name, stores[name], self.scale.updates)
                        self._job(cases[name], history.updates, *job)
            self._remove(*stores.values())
        self._remove(dataset)

    def _concurrency(self) -> None:
        scale = self.scale
        for name in self._backends(0):
            for work, *arguments in (
                (concurrency.processes, scale.processes, scale.saves),
                (concurrency.threads, scale.threads, scale.saves),
                (concurrency.kills, scale.kills),
            ):
                store = self._new_store(name)
                self._here(Case(name), work, name, store, *arguments)
                self._remove(store)

    def _log_command(self) -> None:
        store = self._new_store(OURS)
        self._here(Case(OURS), history.log_command, store, self.scale.commits, self.scale.logs)
        self._remove(store)

    def _tree_blocks(self) -> None:
        for size in self.scale.rounds:
            self._job(Case(OURS, size), tree.commit_blocks, size, 20 * self.scale.repeats)

    def _history_actions(self) -> None:
        """Questions at every length of history, then at every size of the memory."""
        scale = self.scale
        for length in scale.lengths:
            store = self._new_store(OURS)
            job = (store, length, _grown(scale), scale.asks)
            self._job(Case(OURS, length), history_actions.by_commits, *job)
            self._remove(store)
        for size in scale.memories:
            store = self._new_store(OURS)
            job = (store, size, min(1_000, max(scale.lengths)), scale.asks)
            self._job(Case(OURS, size), history_actions.by_records, *job)
            self._remove(store)

    def _backends(self, size: int) -> list[str]:
        largest_for_qdrant = 10_000
        return [
            name
            for name in BACKENDS
            if name not in self.missing and (name != QDRANT or size <= largest_for_qdrant)
        ]

    def _job(self, case: Case, work: Callable[..., Any], *arguments: Any) -> None:
        """Run ``work`` in a fresh process and keep its samples, or its error."""
        self._here(case, isolation.call, work, *arguments, title=work.__name__)

    def _here(
        self, case: Case, work: Callable[..., Any], *arguments: Any, title: str | None = None
    ) -> None:
        title = title or work.__name__
        self._say(f"{title} {case.backend} {case.records or ''} {case.vectors}")
        try:
            found = work(*arguments)
        except Exception as error:  # noqa: BLE001 - one job's failure is a result of the run
            self._say(f"failed: {error}")
            text = str(error).strip() or type(error).__name__
            reason = text.splitlines()[-1].replace(str(self.directory), "…")
            self.errors.append({"job": title, **asdict(case), "error": reason})
            return
        for name, values in found.items():
            self.samples.setdefault((name, case), []).extend(values)

    def _probe_disk(self) -> None:
        self.fsync += measure.fsync_seconds(self.directory, self.scale.fsyncs)

    def _new_store(self, name: str) -> Path:
        store = self.directory / f"store-{name}"
        store.mkdir()
        return store

    def _remove(self, *directories: Path) -> None:
        for directory in directories:
            shutil.rmtree(directory)

    def _say(self, text: str) -> None:
        print(f"[{time.monotonic() - self._start:6.0f} s] {text}", file=sys.stderr, flush=True)


def _grown(scale: Scale) -> int:
    """The size of the memory whose history grows."""
    return min(10_000, max(scale.memories))


def merged(before: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Results of a run, with measurements of another one of part of it in place of its own."""
    taken = {entry["measure"] for entry in part["measurements"]}
    kept = [entry for entry in before["measurements"] if entry["measure"] not in taken]
    jobs = {"by_commits", "by_records"}
    errors = [error for error in before["errors"] if error["job"] not in jobs]
    return {
        **before,
        "history_started": part["started"],
        "scale": {**part["scale"], **before["scale"]},
        "measurements": kept + part["measurements"],
        "errors": errors + part["errors"],
    }


def machine() -> dict[str, Any]:
    """The processor, memory and system that the run is on."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _rounded(values: list[float]) -> list[float]:
    return [round(value, 7) for value in values]

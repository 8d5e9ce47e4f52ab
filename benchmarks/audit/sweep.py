"""Many runs through the memories that need nothing but this project."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.audit.memories import DictMemory, LogMemory, Memory
from benchmarks.audit.questions import QUESTIONS, Tally, audit, live
from benchmarks.audit.runs import MAIN, Run, make_run
from benchmarks.audit.versioned import VersionedMemory

Make = Callable[[Path], Memory]
Tallies = dict[str, Tally]

HERE: dict[str, Make] = {"dict": DictMemory, "log": LogMemory, "mnemosyne": VersionedMemory}
COST_SEEDS = range(5)
LENGTHS = (64, 256, 1024)


def audited(make: Make, run: Run) -> tuple[Tallies, float, int]:
    """One memory through one run: the answers, the seconds a step took, and the bytes on disk."""
    with tempfile.TemporaryDirectory(prefix="audit-") as directory:
        memory = make(Path(directory) / "memory")
        try:
            seconds = live(memory, run) / len(run.steps)
            size = memory.size()
            return audit(memory, run), seconds, size
        finally:
            memory.close()


def sweep(seeds: Iterable[int]) -> dict[str, Any]:
    """Every memory through the runs of these seeds; says what was asked and what was exact."""
    totals = {name: {question: Tally() for question in QUESTIONS} for name in HERE}
    inexact: list[int] = []
    runs: list[Run] = []
    for seed in seeds:
        run = make_run(seed)
        for name, make in HERE.items():
            tallies, *_ = audited(make, run)
            add(totals[name], tallies)
            if name == "mnemosyne" and not all(t.exact == t.asked for t in tallies.values()):
                inexact.append(seed)
        runs.append(run)
    return {
        **_described(runs),
        "inexact": inexact,
        "answers": {name: counted(tallies) for name, tallies in totals.items()},
    }


def costs(make: Make, lengths: Iterable[int], **how: bool) -> dict[str, Any]:
    """What a memory takes, by length of the run: bytes, ms a step, ms an answer (medians)."""
    found: dict[str, Any] = {}
    for length in lengths:
        tallies: Tallies = {question: Tally() for question in QUESTIONS}
        seconds: list[float] = []
        sizes: list[int] = []
        for seed in COST_SEEDS:
            answers, step, size = audited(make, make_run(seed, length, **how))
            add(tallies, answers)
            seconds.append(step)
            sizes.append(size)
        found[str(length)] = {
            "bytes": median(sizes),
            "step_ms": round(median(seconds) * 1000, 4),
            "answer_ms": {
                name: round(median(tally.seconds) * 1000, 4)
                for name, tally in tallies.items()
                if tally.seconds
            },
        }
    return found


def run_all(seeds: range) -> dict[str, Any]:
    """The results file of the memories in this project."""
    from benchmarks.run import machine
    from mnemosyne_vcs import __version__

    start = time.perf_counter()
    swept = sweep(seeds)
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine(),
        "versions": {"mnemosyne-vcs": __version__},
        "seeds": [seeds.start, seeds.stop - 1],
        **swept,
        "costs": {name: costs(make, LENGTHS) for name, make in HERE.items()},
        "seconds": round(time.perf_counter() - start),
    }


def add(totals: Tallies, tallies: Tallies) -> None:
    """Add tallies to totals."""
    for name, tally in tallies.items():
        total = totals[name]
        total.asked += tally.asked
        total.answered += tally.answered
        total.exact += tally.exact
        total.seconds += tally.seconds


def counted(tallies: Tallies) -> dict[str, dict[str, int]]:
    """Tallies as plain data, without the times."""
    return {
        name: {"asked": t.asked, "answered": t.answered, "exact": t.exact}
        for name, t in tallies.items()
    }


def _described(runs: list[Run]) -> dict[str, Any]:
    lengths = [len(run.steps) for run in runs]
    return {
        "runs": len(runs),
        "lengths": [min(lengths), max(lengths)],
        "steps": sum(lengths),
        "merges": sum(step.merges is not None for run in runs for step in run.steps),
        "faults_on_branches": sum(run.steps[run.fault.step].branch != MAIN for run in runs),
        "conflicts": sum(len(run.conflicts) for run in runs),
    }

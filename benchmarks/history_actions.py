"""What it costs to ask and to act on history, against its length and the size of the memory.

Each question is asked of a repository that was opened for it, so that nothing is cached but the
files by the system.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Samples, timed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mnemosyne_vcs import Repository, Snapshot

HOT, OLD = "belief", "notes/00000"
RUN, SOURCE = "run-1", "note-118"
BELIEFS = 10
SIDE = 100


def by_commits(directory: Path, commits: int, records: int, repeats: int) -> dict[str, list[float]]:
    """Questions to a memory of ``records`` records, one of them written ``BELIEFS`` times in a
    history of ``commits`` commits."""
    store = directory / "history.mnem"
    _grow(store, commits, records)
    return _questions(store, commits, repeats, "commits")


def by_records(directory: Path, records: int, commits: int, repeats: int) -> dict[str, list[float]]:
    """The same questions, and merges of ``SIDE`` changes on each side, by size of the memory."""
    store = directory / "memory.mnem"
    _grow(store, commits, records)
    found = _questions(store, commits, repeats, "records")
    return {**found, "merge_by_records": _merges(store, records, repeats)}


def _grow(store: Path, commits: int, records: int) -> None:
    import mnemosyne_vcs

    of_run = mnemosyne_vcs.Provenance(run=RUN, source=SOURCE)
    with mnemosyne_vcs.open(store, create=True, durability="relaxed") as repository:
        with repository.transaction(message="load") as transaction:
            for number in range(records - 1):
                transaction.put(f"notes/{number:05d}", {"note": number})
        known: mnemosyne_vcs.Provenance | None = None
        step = max(1, (commits - 1) // BELIEFS)
        for number in range(commits - 1):
            if number % step == 0:
                belief = {"version": number, "plan": {"tier": number // step}}
                believed = repository.put(HOT, belief, provenance=of_run)
                known = mnemosyne_vcs.Provenance(derived_from=((HOT, believed.id),))
            else:
                key = f"notes/{1 + number % min(records - 2, 3_000):05d}"
                repository.put(key, {"note": -number}, provenance=known)
                known = None


def _questions(store: Path, commits: int, repeats: int, by: str) -> dict[str, list[float]]:
    asked: dict[str, Callable[[Repository], object]] = {
        "blame_newest": lambda repository: repository.blame(HOT),
        "blame_oldest": lambda repository: repository.blame(OLD),
        "blame_field": lambda repository: repository.blame(HOT, field="plan.tier"),
        "log_of_run": lambda repository: list(repository.log(run=RUN)),
        "trace": lambda repository: list(repository.trace(source=SOURCE)),
        "runs": lambda repository: repository.runs(),
        "history": lambda repository: list(repository.history(HOT)),
        "bisect": lambda repository: repository.bisect(_since(commits // 2)),
    }
    samples = Samples()
    for name, ask in asked.items():
        _asked(store, ask)
        samples.add(f"{name}_by_{by}", *(_asked(store, ask) for _ in range(repeats)))
    return samples.values


def _asked(store: Path, ask: Callable[[Repository], object]) -> float:
    import mnemosyne_vcs

    with mnemosyne_vcs.open(store) as repository:
        repository.resolve()
        return timed(ask, repository)


def _since(number: int) -> Callable[[Snapshot], bool]:
    def wrong(memory: Snapshot) -> bool:
        record: Any = memory.get(HOT)
        return record is not None and record.content["version"] >= number

    return wrong


def _merges(store: Path, records: int, repeats: int) -> list[float]:
    """Seconds of durable merges of a branch and ``main``, each with ``SIDE`` records changed."""
    import mnemosyne_vcs

    fresh = count()
    seconds: list[float] = []
    with mnemosyne_vcs.open(store) as repository:
        for number in range(repeats + 1):
            branch = f"side-{number}"
            repository.create_branch(branch)
            for name, first in ((branch, 0), ("main", records // 2)):
                with repository.transaction(name, message="change") as transaction:
                    for row in range(first, first + SIDE):
                        transaction.put(f"notes/{row:05d}", {"note": next(fresh), "by": name})
            seconds.append(timed(repository.merge, branch))
    return seconds[1:]

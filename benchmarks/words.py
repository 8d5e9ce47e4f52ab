"""How fast search by words is: ``python -m benchmarks.words [RECORDS…]``.

Each memory has records of 30 words, drawn from 30,000 by Zipf's law, with three more fields. A
fresh process opens it, so that the first search has to read and index everything.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import mnemosyne_vcs
from benchmarks import isolation
from benchmarks.measure import median, percentile

if TYPE_CHECKING:
    from mnemosyne_vcs import Repository, Snapshot

SIZES = (10_000, 100_000)
WORDS = 30_000
LENGTH = 30
BATCH = 10_000
ASKED = 100
SYLLABLES = [first + second for first in "bcdfghklmnprstvz" for second in "aeiou"]


def main(sizes: list[int]) -> None:
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="benchmarks-") as directory:
            path = Path(directory) / "memory.mnem"
            isolation.call(load, path, size)
            results = isolation.call(measured, path)
        print(f"\n| {size:,} records | |\n| --- | --- |")
        for name, value in results.items():
            print(f"| {name} | {value} |")


def vocabulary(rng: random.Random) -> list[str]:
    """Different words, the most frequent first."""
    words: dict[str, None] = {}
    while len(words) < WORDS:
        words["".join(rng.choices(SYLLABLES, k=rng.choice([1, 2, 2, 3, 3, 4])))] = None
    return list(words)


def load(path: Path, size: int) -> None:
    rng = random.Random(4821)
    words = vocabulary(rng)
    weights = [1 / (rank + 2) for rank in range(WORDS)]
    with mnemosyne_vcs.open(path, create=True, durability="relaxed") as repository:
        for start in range(0, size, BATCH):
            with repository.transaction() as tx:
                for number in range(start, min(start + BATCH, size)):
                    said = " ".join(rng.choices(words, weights, k=LENGTH)).capitalize() + "."
                    content = {"content": said, "importance": number % 10 / 10, "categories": ["x"]}
                    tx.put(f"customers/{number % 997}/{number:06}", content)


def measured(path: Path) -> dict[str, str]:
    import numpy as np

    assert np.__version__
    words = vocabulary(random.Random(4821))
    rng = random.Random(1)
    results: dict[str, str] = {}
    with mnemosyne_vcs.open(path) as repository:
        before, snapshot = _resident(), repository.at()
        start = time.perf_counter()
        snapshot.search("first")
        results["the first search, which indexes"] = f"{time.perf_counter() - start:.2f} s"
        results["memory of the index"] = f"{_resident() - before:.0f} MB"
        rare = [" ".join(rng.sample(words, 3)) for _ in range(ASKED)]
        common = [" ".join(rng.sample(words[:100], 3)) for _ in range(ASKED)]
        phrases = [f'"{" ".join(rng.sample(words[:50], 2))}"' for _ in range(ASKED)]
        starts = [f"{rng.choice(words)[:3]}*" for _ in range(ASKED)]
        letters = [f"{rng.choice(SYLLABLES)[:1]}*" for _ in range(ASKED)]
        for name, queries in {
            "three words": rare,
            "three of the 100 most frequent words": common,
            "a phrase of two of the 50 most frequent": phrases,
            "words that start with three letters": starts,
            "words that start with one letter": letters,
        }.items():
            results[name] = _times(snapshot.search, queries)
        results["three words, with `where`"] = _times(
            lambda query: snapshot.search(query, where={"importance": 0.5}), common
        )
        results["three words after a commit of one record"] = _after_commits(repository, common)
        results["`find` of a text that is nowhere"] = _find(snapshot)
    return results


def _times(action: Callable[[str], object], queries: list[str]) -> str:
    """The median and the 99th percentile."""
    spent: list[float] = []
    for query in queries:
        start = time.perf_counter()
        action(query)
        spent.append(time.perf_counter() - start)
    return f"{1e3 * median(spent):.1f} ms, p99 {1e3 * percentile(spent, 99):.1f} ms"


def _after_commits(repository: Repository, queries: list[str]) -> str:
    def search(query: str) -> None:
        repository.at().search(query)

    spent: list[float] = []
    for number, query in enumerate(queries[:20]):
        repository.put(f"customers/1/new-{number}", {"content": query})
        start = time.perf_counter()
        search(query)
        spent.append(time.perf_counter() - start)
    return f"{1e3 * median(spent):.1f} ms"


def _find(snapshot: Snapshot) -> str:
    start = time.perf_counter()
    assert not list(snapshot.find("nowhere to be found"))
    return f"{time.perf_counter() - start:.2f} s"


def _resident() -> float:
    """The most memory that this process has used so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or list(SIZES))

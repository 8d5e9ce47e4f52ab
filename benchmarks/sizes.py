"""How many bytes a record and a commit take: ``python -m benchmarks.sizes URL…``.

Each URL names a store that is not there yet: a path, a postgresql:// or an s3:// URL. The same
records go into each. Of PostgreSQL the tables and indexes of the whole schema count, so the
database should hold nothing else of Mnemosyne's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import mnemosyne_vcs

RECORDS = 10_000
COMMITS = 1_000
BATCH = 1_000
DIMENSIONS = 1536
SENTENCE = "Customer {0} said in call {1} that plan {2} suits them and asked for an offer."
TABLES = (
    "SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class "
    "JOIN pg_namespace ON pg_namespace.oid = relnamespace "
    "WHERE nspname = 'mnemosyne' AND relkind = 'r'"
)


def main(urls: list[str]) -> None:
    print("| store | a record | a record with a vector | a commit of one record |")
    print("| --- | --- | --- | --- |")
    for url in urls:
        cells = " | ".join(f"{size / 1000:.1f} KB" for size in measured(url))
        print(f"| {urlsplit(url).scheme or 'a file'} | {cells} |")


def measured(url: str) -> list[float]:
    """Bytes of a record without and with a vector, and of a commit that replaces a record."""
    vectors = np.random.default_rng(1).normal(size=(RECORDS, DIMENSIONS)).astype(np.float32)
    size = sizes_of(url)
    steps: list[tuple[int, Callable[[mnemosyne_vcs.Repository], None]]] = [
        (RECORDS, lambda repository: load(repository, "said", None)),
        (RECORDS, lambda repository: load(repository, "seen", vectors)),
        (COMMITS, replace),
    ]
    results: list[float] = []
    mnemosyne_vcs.open(url, create=True).close()
    for number, step in steps:
        before = size()
        with mnemosyne_vcs.open(url) as repository:
            step(repository)
        results.append((size() - before) / number)
    return results


def load(repository: mnemosyne_vcs.Repository, prefix: str, vectors: np.ndarray | None) -> None:
    for start in range(0, RECORDS, BATCH):
        with repository.transaction() as tx:
            for n in range(start, start + BATCH):
                tx.put(
                    f"{prefix}/{n % 10}/{n:08d}",
                    {"content": SENTENCE.format(n, n % 30, n % 7), "categories": ["plan"]},
                    embedding=None if vectors is None else vectors[n],
                )


def replace(repository: mnemosyne_vcs.Repository) -> None:
    for n in range(COMMITS):
        repository.put(f"said/{n % 10}/{n:08d}", {"content": f"changed {n}"}, message="change")


def sizes_of(url: str) -> Callable[[], int]:
    """A function that gives the bytes that a store takes now."""
    if url.startswith("postgres"):
        from psycopg import connect

        dsn = url.partition("?")[0]

        def tables() -> int:
            with connect(dsn, autocommit=True) as connection:
                return connection.execute(TABLES).fetchall()[0][0]

        return tables
    if "://" in url:

        def objects() -> int:
            with mnemosyne_vcs.open(url, read_only=True) as repository:
                return repository.stats().bytes or 0

        return objects
    return lambda: sum(path.stat().st_size for path in Path(url).parent.glob(Path(url).name + "*"))


if __name__ == "__main__":
    main(sys.argv[1:])

"""What a child process does with one backend on one dataset; each returns samples by measure."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from benchmarks import data, measure
from benchmarks.backends import close_backend, disk_bytes, import_backend, open_backend
from benchmarks.measure import Samples, timed

if TYPE_CHECKING:
    from pathlib import Path

BATCH = 1_000


def load(name: str, store: Path, dataset_directory: Path) -> dict[str, list[float]]:
    """Save the whole dataset in batches. Building the records is not counted."""
    dataset = data.read(dataset_directory)
    backend = open_backend(name, store)
    spent = sum(timed(backend.save, batch) for batch in dataset.batches(BATCH))
    close_backend(backend)
    return {"bulk_save": [spent], "disk": [disk_bytes(store)]}


def memory(name: str, store: Path, dataset_directory: Path) -> dict[str, list[float]]:
    """How far the process grows at most while it opens the store and asks each kind of question."""
    queries = _queries(dataset_directory)
    before = measure.resident_bytes()
    measure.reset_peak()
    backend = open_backend(name, store)
    backend.search(queries[0], limit=data.TOP)
    backend.search(queries[0], scope_prefix=data.SCOPES[0], limit=data.TOP)
    backend.search(queries[0], categories=[data.CATEGORIES[0]], limit=data.TOP)
    backend.get_record(data.record_id(0))
    backend.count(data.SCOPES[0])
    growth = measure.peak_resident_bytes() - before
    _settle()
    return {"memory": [growth]}


def answers(name: str, store: Path, dataset_directory: Path) -> dict[str, list[float]]:
    """Whether searches find the true nearest rows, and as many rows as they may."""
    dataset = data.read(dataset_directory)
    backend = open_backend(name, store)
    samples = Samples()
    for query, rows in zip(dataset.queries.tolist(), dataset.nearest.tolist(), strict=True):
        truth = {data.record_id(row) for row in rows}
        found = {record.id for record, _ in backend.search(query, limit=data.TOP, min_score=-1.0)}
        samples.add("recall", len(truth & found) / len(truth))
        category = backend.search(query, categories=[data.CATEGORIES[2]], limit=data.TOP)
        samples.add("category_filled", float(len(category) == data.TOP))
    _settle()
    close_backend(backend)
    return samples.values


def read_and_save(
    name: str, store: Path, dataset_directory: Path, kind: str, repeats: int, budget: float
) -> dict[str, list[float]]:
    """Open the store in this fresh process, read in every way, then save single records.

    ``budget`` is the number of seconds that each measure may take.
    """
    queries = _queries(dataset_directory)
    size = data.read(dataset_directory).size
    samples = Samples()
    start = time.perf_counter()
    import_backend(name)
    samples.add("import", time.perf_counter() - start)
    backend = open_backend(name, store)
    backend.search(queries[0], limit=data.TOP)
    samples.add("first_search", time.perf_counter() - start)
    _settle()
    _search(backend, samples, queries, repeats, budget)
    _look_up(backend, samples, size, repeats, budget)
    _save(backend, samples, queries, data.fresh_records(size, 3 * repeats + 2, kind), budget)
    close_backend(backend)
    return samples.values


def _queries(directory: Path) -> list[list[float]]:
    return data.read(directory).queries.tolist()


def _settle() -> None:
    """Wait for the compaction that LanceDB's backend starts in the background when it opens."""
    for thread in threading.enumerate():
        if thread.name == "lancedb-compact":
            thread.join()


def _search(
    backend: Any, samples: Samples, queries: list[list[float]], repeats: int, budget: float
) -> None:
    numbers = range(repeats + 1)

    def whole(number: int) -> None:
        backend.search(queries[number % len(queries)], limit=data.TOP)

    def scoped(number: int) -> None:
        scope = data.SCOPES[number % len(data.SCOPES)]
        backend.search(queries[number % len(queries)], scope_prefix=scope, limit=data.TOP)

    samples.time("search", whole, numbers, budget)
    samples.time("search_scope", scoped, numbers, budget)


def _look_up(backend: Any, samples: Samples, size: int, repeats: int, budget: float) -> None:
    ids = [data.record_id(number * 7919 % size) for number in range(repeats + 1)]
    scopes = [data.SCOPES[number % len(data.SCOPES)] for number in range(repeats + 1)]
    samples.time("get_record", backend.get_record, ids, budget)
    samples.time("count", backend.count, scopes, budget)
    samples.time("list_scopes", backend.list_scopes, ["/crew"] * (repeats + 1), budget)
    samples.time("get_scope_info", backend.get_scope_info, ["/"] * (repeats + 1), budget)
    samples.time(
        "list_records", lambda n: backend.list_records(limit=n), [20] * (repeats + 1), budget
    )


def _save(
    backend: Any, samples: Samples, queries: list[list[float]], records: list[Any], budget: float
) -> None:
    third = len(records) // 3
    samples.time("save", lambda record: backend.save([record]), records[third:], budget)
    spent = 0.0
    for number, record in enumerate(records[:third]):
        if number >= 3 and spent > budget:
            return
        spent += timed(backend.save, [record])
        query = queries[number % len(queries)]
        seconds = timed(lambda query=query: backend.search(query, limit=data.TOP))
        samples.add("search_after_save", seconds)
        spent += seconds

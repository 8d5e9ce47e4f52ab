"""Many writers on one store, and writers that are killed."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any

from benchmarks import data, isolation
from benchmarks.backends import OURS, close_backend, open_backend

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

_ACK_TIMEOUT_S = 60.0


def processes(name: str, store: Path, writers: int, saves: int) -> dict[str, list[float]]:
    """``writers`` processes save ``saves`` records each, one by one, at the same time."""
    isolation.call(_create, name, store)
    barrier = isolation.CONTEXT.Barrier(writers)
    arguments = [(name, store, barrier, 1 + n * saves, saves) for n in range(writers)]
    errors = isolation.call_together(_save_behind_barrier, arguments)
    ids = [data.record_id(1 + row) for row in range(writers * saves)]
    lost, _ = isolation.call(_missing_and_torn, name, store, ids)
    return {"processes_landed": [len(ids) - lost], "processes_errors": [sum(errors)]}


def threads(name: str, store: Path, writers: int, saves: int) -> dict[str, list[float]]:
    """The same with threads that share one backend object."""
    isolation.call(_create, name, store)
    errors = isolation.call(_save_from_threads, name, store, writers, saves)
    ids = [data.record_id(1 + row) for row in range(writers * saves)]
    lost, _ = isolation.call(_missing_and_torn, name, store, ids)
    return {"threads_landed": [len(ids) - lost], "threads_errors": [errors]}


def kills(name: str, store: Path, rounds: int) -> dict[str, list[float]]:
    """Kill a process that saves, ``rounds`` times over on one store; then look for what it said
    was saved. The moment of each kill is drawn at random."""
    chance = random.Random(data.SEED)
    acknowledged: list[int] = []
    for number in range(rounds):
        first_row = number * 10_000
        after = chance.randint(5, 40)
        acknowledged += _kill_one(name, store, first_row, after, chance.uniform(0, 0.01))
    ids = [data.record_id(row) for row in acknowledged]
    lost, torn = isolation.call(_missing_and_torn, name, store, ids)
    result = {"kill_acknowledged": [len(ids)], "kill_lost": [lost], "kill_torn": [torn]}
    if name == OURS:
        result["kill_problems"] = [isolation.call(_verify_problems, store)]
    return {measure: [float(value) for value in values] for measure, values in result.items()}


def _create(name: str, store: Path) -> None:
    backend = open_backend(name, store)
    backend.save(data.fresh_records(0, 1))
    close_backend(backend)


def _save_behind_barrier(name: str, store: Path, barrier: Any, first_row: int, saves: int) -> int:
    records = data.fresh_records(first_row, saves)
    backend = open_backend(name, store)
    barrier.wait(timeout=_ACK_TIMEOUT_S)
    errors = _save_each(backend, records)
    close_backend(backend)
    return errors


def _save_from_threads(name: str, store: Path, writers: int, saves: int) -> int:
    backend = open_backend(name, store)
    batches = [data.fresh_records(1 + n * saves, saves) for n in range(writers)]
    errors = [0] * writers

    def work(number: int) -> None:
        errors[number] = _save_each(backend, batches[number])

    workers = [threading.Thread(target=work, args=(number,)) for number in range(writers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    close_backend(backend)
    return sum(errors)


def _save_each(backend: Any, records: list[Any]) -> int:
    """How many of the saves raise: the count is the measurement, whatever the exception."""
    errors = 0
    for record in records:
        try:
            backend.save([record])
        except Exception:  # noqa: BLE001
            errors += 1
    return errors


def _kill_one(name: str, store: Path, first_row: int, after: int, delay: float) -> list[int]:
    """Rows that a writer acknowledged before it was killed, ``delay`` s after ``after`` of them."""
    receiver, sender = isolation.CONTEXT.Pipe(duplex=False)
    arguments = (sender, name, store, first_row)
    process = isolation.CONTEXT.Process(target=_save_and_tell, args=arguments)
    process.start()
    sender.close()
    rows: list[int] = []
    try:
        while len(rows) < after:
            if not receiver.poll(_ACK_TIMEOUT_S):
                raise isolation.ChildError("the writer stopped acknowledging")
            rows.append(receiver.recv())
        time.sleep(delay)
    finally:
        process.kill()
        process.join()
    return rows + _drain(receiver)


def _drain(receiver: Connection) -> list[int]:
    rows: list[int] = []
    while True:
        try:
            rows.append(receiver.recv())
        except (EOFError, OSError):
            return rows


def _save_and_tell(sender: Connection, name: str, store: Path, first_row: int) -> None:
    records = data.fresh_records(first_row, 400)
    backend = open_backend(name, store)
    for number, record in enumerate(records):
        backend.save([record])
        sender.send(first_row + number)


def _missing_and_torn(name: str, store: Path, ids: list[str]) -> tuple[int, int]:
    """How many of the ids are gone, and how many came back without their vector or content."""
    backend = open_backend(name, store)
    found = [backend.get_record(record_id) for record_id in ids]
    close_backend(backend)
    present = [record for record in found if record is not None]
    torn = [r for r in present if not r.content or len(r.embedding or []) != data.DIMENSIONS]
    return len(ids) - len(present), len(torn)


def _verify_problems(store: Path) -> int:
    backend = open_backend(OURS, store)
    return 0 if backend.repository.verify().ok else 1

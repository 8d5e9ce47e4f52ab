"""What keeping every version costs: disk per update, and reading the log."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks import data, isolation
from benchmarks.backends import OURS, close_backend, disk_bytes, open_backend, store_path
from benchmarks.measure import timed

if TYPE_CHECKING:
    from pathlib import Path


def updates(name: str, store: Path, count: int) -> dict[str, list[float]]:
    """Disk that ``count`` metadata updates of one stored record add."""
    before = disk_bytes(store)
    backend = open_backend(name, store)
    record = backend.get_record(data.record_id(0))
    for number in range(count):
        record.metadata = {**record.metadata, "revision": number}
        backend.update(record)
    close_backend(backend)
    return {"updates_disk": [disk_bytes(store) - before]}


def log_command(store: Path, commits: int, repeats: int) -> dict[str, list[float]]:
    """Wall time of whole ``mnem log`` processes on a store of ``commits`` single saves, and
    whether such a process imports NumPy."""
    isolation.call(_save_one_by_one, store, commits)
    command = ["-m", "mnemosyne_vcs", "-s", str(store_path(OURS, store)), "log"]
    seconds = [timed(_run, command) for _ in range(repeats + 1)]
    traced = _run(["-X", "importtime", *command])
    imported = {line.rpartition("|")[2].strip() for line in traced.splitlines()}
    return {"log": seconds[1:], "log_imports_numpy": [float("numpy" in imported)]}


def _save_one_by_one(store: Path, commits: int) -> None:
    backend = open_backend(OURS, store)
    for record in data.fresh_records(0, commits):
        backend.save([record])
    close_backend(backend)


def _run(arguments: list[str]) -> str:
    """Run Python with these arguments; what it wrote to standard error."""
    done = subprocess.run([sys.executable, *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.replace(sys.executable, "python")
        raise isolation.ChildError(f"exit code {done.returncode}: {reason}")
    return done.stderr

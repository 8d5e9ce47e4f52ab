"""Separate cores for a server and for its client, as on two machines.

On few cores, the scheduler sometimes runs both on the same core, and times vary.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


def can_be_apart() -> bool:
    """Whether there are cores for both, and a process can choose."""
    return hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1


@contextmanager
def apart_from(server: int) -> Iterator[Sequence[int]]:
    """Keep a server, given by its process, to one half of the cores; gives the other half."""
    cores = sorted(os.sched_getaffinity(0))
    middle = len(cores) // 2
    _keep(server, cores[middle:])
    try:
        yield cores[:middle]
    finally:
        _keep(server, cores)


def keep_to(cores: Collection[int]) -> None:
    """Keep this process to some cores; none means all."""
    if cores:
        os.sched_setaffinity(0, cores)


def _keep(server: int, cores: Sequence[int]) -> None:
    """Keep a server with its children, also those to come, to some cores."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    for process in (server, *map(int, children)):
        os.sched_setaffinity(process, cores)

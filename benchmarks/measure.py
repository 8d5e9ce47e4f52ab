"""Taking and keeping samples."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

T = TypeVar("T")


@dataclass
class Samples:
    """Samples by measure name; the name fixes what is counted and in which unit."""

    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, measure: str, *values: float) -> None:
        self.values.setdefault(measure, []).extend(values)

    def time(
        self, measure: str, action: Callable[[Any], object], inputs: Sequence[Any], budget: float
    ) -> None:
        """Time ``action`` on each input until ``budget`` seconds are spent, three times at least.

        The first input warms up and is not kept.
        """
        action(inputs[0])
        spent = 0.0
        for number, value in enumerate(inputs[1:]):
            if number >= 3 and spent > budget:
                return
            seconds = timed(action, value)
            self.add(measure, seconds)
            spent += seconds


def timed(action: Callable[..., object], *arguments: Any) -> float:
    """Seconds of wall time that ``action(*arguments)`` takes."""
    start = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - start


def fsync_seconds(directory: Path, repeats: int) -> list[float]:
    """Seconds of each 4 KiB append followed by fsync in ``directory``."""
    path = directory / "fsync.probe"
    block = b"\0" * 4096
    with path.open("wb", buffering=0) as file:

        def write() -> None:
            file.write(block)
            os.fsync(file.fileno())

        seconds = [timed(write) for _ in range(repeats)]
    path.unlink()
    return seconds


def rotated(things: Sequence[T], by: int) -> list[T]:
    """The same things, beginning with another one each turn."""
    shift = by % len(things)
    return [*things[shift:], *things[:shift]]


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile of a non-empty sequence."""
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(int(rank), 1) - 1]


def median(values: Sequence[float]) -> float:
    return percentile(values, 50)


def resident_bytes() -> int:
    """Physical memory of this process now (Linux only)."""
    return _status_bytes("VmRSS")


def peak_resident_bytes() -> int:
    """The most physical memory since ``reset_peak`` (Linux only)."""
    return _status_bytes("VmHWM")


def reset_peak() -> None:
    with open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123
        file.write("5")


def _status_bytes(name: str) -> int:
    with open("/proc/self/status") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise LookupError(name)

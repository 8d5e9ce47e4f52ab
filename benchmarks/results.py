"""Reading a results file, and writing its numbers for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Results:
    """The measurements of one run by what they are of."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self._samples = {
            (entry["measure"], entry["backend"], entry["records"], entry["vectors"]): entry[
                "samples"
            ]
            for entry in raw["measurements"]
        }

    def samples(
        self, measure: str, backend: str, records: int = 0, vectors: str = "normal"
    ) -> list[float]:
        """The samples taken; empty if there are none."""
        return self._samples.get((measure, backend, records, vectors), [])

    def sizes_of(self, measure: str, backend: str) -> list[int]:
        """The sizes at which a measure was taken, ascending."""
        return sorted(key[2] for key in self._samples if key[:2] == (measure, backend))

    @property
    def sizes(self) -> list[int]:
        return sorted({int(size) for size in self.raw["scale"]["rounds"]})

    @property
    def reference_size(self) -> int:
        """The size that goals are checked at: 10,000 records, or the run's largest below it."""
        return max((size for size in self.sizes if size <= 10_000), default=self.sizes[0])


def shown(value: float, unit: str) -> str:
    """A value in the unit that reads best."""
    match unit:
        case "s":
            return seconds(value)
        case "bytes":
            return f"{_significant(value / 1e6)} MB" if value >= 1e6 else f"{value / 1e3:.1f} KB"
        case "share":
            return f"{round(20 * value)} of 20"
        case "ratio":
            return f"{value:.3f}"
        case _:
            return f"{value:,.0f}"


def seconds(value: float) -> str:
    if value >= 1:
        return f"{_significant(value)} s"
    if value >= 1e-3:
        return f"{_significant(value * 1e3)} ms"
    return f"{_significant(value * 1e6)} µs"


def _significant(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    ruled = [columns, ["---"] * len(columns), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ruled)

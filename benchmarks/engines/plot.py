"""Commit latency of each engine beside plain writes on the same disk or server, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.ticker import MaxNLocator

from benchmarks.engines.page import BASELINES, COMMITS, PLOT
from benchmarks.engines.sites import ENGINES, TITLES
from benchmarks.measure import median
from benchmarks.plots import STYLE, duration, pyplot, save
from benchmarks.results import Results, seconds

if TYPE_CHECKING:
    from pathlib import Path

_OURS, _PLAIN = "#0b5fa5", "#b9b9b9"


def draw(raw: dict[str, Any], directory: Path) -> None:
    """Write the figure into ``directory``."""
    results = Results(raw)
    size = raw["scale"]["records"]
    engines = [engine for engine in ENGINES if results.samples("commit_new", engine, size)]
    with pyplot.rc_context(STYLE):
        figure, panels = pyplot.subplots(
            1, len(engines), figsize=(3.4 * len(engines), 2.3), squeeze=False, layout="constrained"
        )
        for axes, engine in zip(panels.flat, engines, strict=True):
            bars = _bars(results, engine, size)
            names, times, colours = zip(*reversed(bars), strict=True)
            drawn = axes.barh(names, times, color=colours, height=0.62)
            labels = [seconds(time / 1e3) for time in times]
            axes.bar_label(drawn, labels, padding=3, fontsize=9)
            axes.set_xlim(0, 1.45 * max(times))
            axes.xaxis.set_major_locator(MaxNLocator(2))
            axes.xaxis.set_major_formatter(lambda value, _: duration(value, _) if value else "0")
            axes.set_axisbelow(True)
            axes.grid(visible=False, axis="y")
            axes.tick_params(axis="y", length=0)
            axes.set_title(TITLES[engine])
        save(figure, directory / PLOT)


def _bars(results: Results, engine: str, size: int) -> list[tuple[str, float, str]]:
    """Name, milliseconds and colour of each bar."""
    bars = [
        (title, samples, _OURS)
        for kind, title in COMMITS.items()
        if (samples := results.samples(f"commit_{kind}", engine, size))
    ]
    bars += [
        (names[engine], samples, _PLAIN)
        for measure, names in BASELINES.items()
        if (samples := results.samples(f"{measure}_new", engine, size))
    ]
    return [(name, median(samples) * 1e3, colour) for name, samples, colour in bars]

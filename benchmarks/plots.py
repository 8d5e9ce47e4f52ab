"""Latency against the number of records, a line for each backend, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from benchmarks.backends import BACKENDS, OURS, TITLES
from benchmarks.measure import median
from benchmarks.results import Results
from benchmarks.targets import mean, p99

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {"mnemosyne": "#0b5fa5", "lancedb": "#d9822b", "qdrant-edge": "#6b8e4e"}
_MARKERS = {"mnemosyne": "o", "lancedb": "s", "qdrant-edge": "^"}
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "grid.color": "#e3e3e3",
    "svg.fonttype": "path",
    "svg.hashsalt": "benchmarks",
}
_FIGURES = {
    "search.svg": (
        {"search": "Search, top 10", "search_scope": "Search, top 10, in a scope of 10 %"},
        "Median time of a search, unnormalised vectors.",
    ),
    "lookups.svg": (
        {
            "get_record": "get_record",
            "count": "count(scope)",
            "list_scopes": "list_scopes",
            "get_scope_info": 'get_scope_info("/")',
        },
        "Median time of lookups and statistics, unnormalised vectors.",
    ),
    "saves.svg": (
        {"save": "Save 1 record", "bulk_save": "Bulk save, all records"},
        "Median time of saves, unnormalised vectors. Dashed: one 4 KiB append and fsync.",
    ),
}


_HISTORY = {
    "blame_newest": "blame, newest value",
    "blame_oldest": "blame, oldest value",
    "blame_field": "blame of one field",
    "log_of_run": "log of a run, 10 commits",
    "trace": "trace of a source, 10 commits",
    "runs": "all runs",
    "history": "history of a key, 10 values",
    "bisect": "bisect over all commits",
    "merge": "merge of 100 + 100 changes",
}
_COMMITS = {"tree_insert": "new record", "tree_update": "update"}


def draw(raw: dict[str, Any], directory: Path) -> list[tuple[str, str]]:
    """Write the figures into ``directory``; their file names and captions."""
    results = Results(raw)
    drawn: list[tuple[str, str]] = []
    with mpl.rc_context(STYLE):
        for name, (panels, caption) in _FIGURES.items():
            save(_latencies(results, panels), directory / name)
            drawn.append((name, caption))
        if any(results.samples("tree_insert", OURS, size) for size in results.sizes):
            save(_tree(results), directory / "tree.svg")
            drawn.append(("tree.svg", "New tree blocks of a one-record commit."))
        if results.sizes_of("blame_newest_by_commits", OURS):
            save(_history(results), directory / "history.svg")
            drawn.append(("history.svg", "Median time of questions to history, and of a merge."))
    return drawn


def _history(results: Results) -> Figure:
    """Cost against the length of the history, and against the size of the memory."""
    figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.9), sharey=True, layout="constrained")
    for axes, by in zip(panels, ("commits", "records"), strict=True):
        for (name, title), marker in zip(_HISTORY.items(), "osd^vPX*p", strict=True):
            measure = f"{name}_by_{by}"
            sizes = results.sizes_of(measure, OURS)
            if sizes:
                times = [median(results.samples(measure, OURS, size)) * 1e3 for size in sizes]
                axes.plot(sizes, times, label=title, marker=marker, markersize=4, linewidth=1.5)
                axes.xaxis.set_major_locator(FixedLocator(sizes))
        axes.set(xscale="log", yscale="log", xlabel=by)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(duration))
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def _latencies(results: Results, panels: dict[str, str]) -> Figure:
    lines = -(-len(panels) // 2)
    figure, grid = pyplot.subplots(
        lines, 2, figsize=(9, 3.4 * lines + 0.5), squeeze=False, layout="constrained"
    )
    for axes, (measure, title) in zip(grid.flat, panels.items(), strict=True):
        _latency(axes, results, measure)
        axes.set_title(title)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(BACKENDS), frameon=False)
    return figure


def _latency(axes: Axes, results: Results, measure: str) -> None:
    for name in BACKENDS:
        points = [
            (size, median(samples) * 1e3)
            for size in results.sizes
            if (samples := results.samples(measure, name, size))
        ]
        if points:
            sizes, times = zip(*points, strict=True)
            style = {"color": _COLOURS[name], "marker": _MARKERS[name], "markersize": 5}
            axes.plot(sizes, times, label=TITLES[name], linewidth=1.8, **style)
    if measure == "save":
        axes.axhline(
            median(results.raw["fsync"]) * 1e3, color="#777777", linestyle="--", linewidth=1
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_major_formatter(FuncFormatter(duration))
    axes.yaxis.set_minor_formatter(NullFormatter())
    _whole_decades(axes)
    _record_axis(axes, results)


def _whole_decades(axes: Axes) -> None:
    """Widen the limits to powers of ten, so that every panel has labelled ticks."""
    low, high = axes.get_ylim()
    decades = [10.0**power for power in range(-6, 8)]
    bottom = max((edge for edge in decades if edge <= low), default=decades[0])
    top = min((edge for edge in decades if edge >= high), default=decades[-1])
    axes.set_ylim(bottom, top)


def _record_axis(axes: Axes, results: Results) -> None:
    axes.set_xscale("log")
    axes.set_xlim(results.sizes[0] / 1.5, results.sizes[-1] * 1.5)
    axes.xaxis.set_major_locator(FixedLocator(results.sizes))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("records")


def _tree(results: Results) -> Figure:
    figure, axes = pyplot.subplots(figsize=(7, 3.6), layout="constrained")
    sizes = [size for size in results.sizes if results.samples("tree_insert", OURS, size)]
    for statistic in (p99, mean):
        for measure, style in (("tree_insert", "-"), ("tree_update", "--")):
            values = [statistic(results.samples(measure, OURS, size)) / 1e3 for size in sizes]
            label = f"{_COMMITS[measure]}, {statistic.__name__}"
            axes.plot(
                sizes,
                values,
                style,
                color=_COLOURS[OURS],
                alpha=1 if statistic is mean else 0.6,
                marker="o",
                markersize=4,
                label=label,
            )
    axes.set_ylim(bottom=0)
    axes.set_ylabel("KB per commit")
    _record_axis(axes, results)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), handlelength=3)
    return figure


def duration(milliseconds: float, _: object) -> str:
    """The label of a tick."""
    if milliseconds >= 1e3:
        return f"{milliseconds / 1e3:g} s"
    return f"{milliseconds:g} ms" if milliseconds >= 1 else f"{milliseconds * 1e3:g} µs"


def save(figure: Figure, path: Path) -> None:
    """Write a figure, the same bytes for the same figure, and forget it."""
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)

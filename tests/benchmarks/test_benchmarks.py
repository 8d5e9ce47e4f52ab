"""The arithmetic of the benchmarks' report; the measuring itself is `make bench`."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from benchmarks import data
from benchmarks.__main__ import DOCS, FIRST_PAGES, TABLE
from benchmarks.measure import Samples, median, percentile
from benchmarks.report import page, summary
from benchmarks.results import shown
from benchmarks.run import QUICK
from benchmarks.targets import Goal, times_lancedb


@pytest.mark.parametrize(("percent", "expected"), [(1, 1), (50, 50), (99, 99), (100, 100)])
def test_percentile_is_the_nearest_rank(percent: float, expected: float):
    assert percentile(list(range(100, 0, -1)), percent) == expected


def test_a_single_sample_is_every_percentile():
    assert median([7.0]) == percentile([7.0], 99) == 7.0


def test_timing_drops_the_warm_up_and_keeps_three_when_the_budget_is_spent():
    samples, seen = Samples(), []
    samples.time("work", seen.append, range(10), budget=0.0)
    assert seen == [0, 1, 2, 3]
    assert len(samples.values["work"]) == 3


def test_a_goal_relative_to_lancedb_needs_lancedb():
    goal = times_lancedb(0.5)
    assert goal.reached(5.0, 10.0, 0) is True
    assert goal.reached(5.1, 10.0, 0) is False
    assert goal.reached(5.0, None, 0) is None


def test_an_absolute_goal_may_be_a_floor():
    goal = Goal("all", bound=lambda records: records, at_least=True)
    assert goal.reached(99, None, 100) is False
    assert goal.reached(100, None, 100) is True


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.00000123, "s", "1.23 µs"),
        (0.0123, "s", "12.3 ms"),
        (2.5, "s", "2.50 s"),
        (61_440_000, "bytes", "61.4 MB"),
        (6_329, "bytes", "6.3 KB"),
        (0.1, "share", "2 of 20"),
    ],
)
def test_values_are_shown_in_the_unit_that_reads_best(value: float, unit: str, text: str):
    assert shown(value, unit) == text


def test_the_dataset_is_the_same_every_time_and_knows_its_nearest_rows(tmp_path):
    for name in ("first", "second"):
        data.prepare(tmp_path / name, 200, "normal")
    first, second = data.read(tmp_path / "first"), data.read(tmp_path / "second")
    assert np.array_equal(first.vectors, second.vectors)
    rows = first.vectors.astype(np.float64)
    cosines = rows @ first.queries[3] / np.linalg.norm(rows, axis=1)
    assert first.nearest[3].tolist() == sorted(range(200), key=lambda row: -cosines[row])[:10]


def test_the_page_says_what_was_reached_missed_and_not_measured():
    def entry(measure: str, backend: str, *samples: float) -> dict[str, object]:
        return {
            "measure": measure,
            "backend": backend,
            "records": 1_000,
            "vectors": "normal",
            "samples": samples,
        }

    results = {
        "started": "2026-02-03T04:05:06+00:00",
        "seconds": 60,
        "machine": {
            "system": "Linux",
            "python": "3.11",
            "processor": "a processor",
            "cores": 2,
            "memory_gib": 8,
        },
        "versions": {"crewai": "1.15.30"},
        "scale": asdict(QUICK),
        "dimensions": 1536,
        "missing": {"qdrant-edge": "ImportError: no such module"},
        "fsync": [0.001, 0.002],
        "errors": [],
        "measurements": [
            entry("search", "mnemosyne", 0.001, 0.002, 0.003),
            entry("search", "lancedb", 0.02, 0.02, 0.02),
            entry("get_record", "mnemosyne", 0.01),
            entry("get_record", "lancedb", 0.02),
            entry("count", "lancedb", 0.02),
        ],
    }
    lines = page(json.loads(json.dumps(results)), []).splitlines()

    def line(start: str) -> str:
        return next(each for each in lines if each.startswith(f"| {start}"))

    assert line("search, top 10, p50") == (
        "| search, top 10, p50 | 2.00 ms | 20.0 ms | – | 0.1 | ≤ 0.2 × LanceDB | yes |"
    )
    assert line("get_record, p50").endswith("| 0.5 | ≤ 0.05 × LanceDB | **no** |")
    assert line("count(scope), p50").endswith("| not measured |")
    assert "* Qdrant Edge: ImportError: no such module" in lines


@pytest.mark.parametrize("first_page", FIRST_PAGES, ids=lambda page: page.name)
def test_the_tables_of_the_first_pages_are_those_of_the_results(first_page: Path):
    results = DOCS / "benchmarks" / "results.json"
    (found,) = TABLE.finditer(first_page.read_text())
    assert found[0] == found[1] + summary(json.loads(results.read_text())) + "\n" + found[2]


def test_a_part_that_is_measured_alone_replaces_only_itself():
    from benchmarks.run import merged

    def results(*measurements: tuple[str, float], **more: object) -> dict[str, object]:
        entries = [
            {"measure": name, "backend": "mnemosyne", "records": 10_000, "samples": [value]}
            for name, value in measurements
        ]
        return {"measurements": entries, "errors": [], "scale": {}, **more}

    before = results(("search", 1.0), ("merge_by_records", 2.0), started="monday", seconds=5)
    part = results(("merge_by_records", 3.0), started="tuesday", seconds=1)
    both = merged(before, part)
    found = {entry["measure"]: entry["samples"] for entry in both["measurements"]}
    assert found == {"search": [1.0], "merge_by_records": [3.0]}
    assert (both["started"], both["history_started"], both["seconds"]) == ("monday", "tuesday", 5)
    assert before["measurements"][1]["samples"] == [2.0]


def test_the_questions_to_history_are_measured_and_shown():
    from benchmarks.report import history_section
    from benchmarks.results import Results

    def entry(measure: str, size: int, *samples: float) -> dict[str, object]:
        fixed = {"backend": "mnemosyne", "vectors": "normal"}
        return {"measure": measure, "records": size, "samples": samples, **fixed}

    measurements = [
        entry("bisect_by_commits", 100, 0.001),
        entry("bisect_by_commits", 1_000, 0.021),
        entry("blame_newest_by_commits", 10_000, 0.001, 0.001),
        entry("merge_by_records", 1_000, 0.001),
    ]
    (text,) = history_section(Results({"measurements": measurements}))
    assert "| bisect over 1,000 commits | 21.0 ms | 21.0 ms | ≤ 20 ms | **no** | 276 ms" in text
    assert "| blame, newest value, at 10,000 commits | 1.00 ms | 1.00 ms | ≤ 2 ms | yes |" in text
    assert (
        "| merge of 100 + 100 changes, at 1,000 records | 1.00 ms | 1.00 ms | ≤ 10 ms | – |" in text
    )
    assert history_section(Results({"measurements": []})) == []


def test_every_question_to_history_is_answered(tmp_path):
    from benchmarks import history_actions

    (tmp_path / "a").mkdir()
    found = history_actions.by_commits(tmp_path / "a", 30, 50, 2)
    found |= history_actions.by_records(tmp_path, 400, 30, 2)
    names = (
        "blame_newest",
        "blame_oldest",
        "blame_field",
        "log_of_run",
        "trace",
        "runs",
        "history",
        "bisect",
    )
    expected = {f"{name}_by_{by}" for name in names for by in ("commits", "records")}
    assert found.keys() == expected | {"merge_by_records"}
    assert all(len(samples) == 2 and min(samples) > 0 for samples in found.values())


def test_the_engines_are_shown_beside_plain_writes():
    from benchmarks.engines.run import QUICK as ENGINES

    def entry(measure: str, backend: str, *samples: float) -> dict[str, object]:
        size = ENGINES.copied if " to " in backend else ENGINES.records
        fixed = {"backend": backend, "vectors": "normal", "records": size}
        return {"measure": measure, "samples": samples, **fixed}

    results = {
        "started": "2026-02-03T04:05:06+00:00",
        "seconds": 60,
        "machine": {"system": "Linux", "processor": "a processor", "cores": 2},
        "versions": {"psycopg": "3.3"},
        "scale": asdict(ENGINES),
        "dimensions": 1536,
        "missing": {"objectstore": "ImportError: no such module"},
        "fsync": [0.001],
        "errors": [],
        "measurements": [
            entry("commit_new", "postgresql", 0.003, 0.002, 0.004),
            entry("raw_write_new", "postgresql", 0.001),
            entry("raw_insert_commit_new", "postgresql", 0.002),
            entry("commit_replaced", "postgresql", 0.005),
            entry("raw_insert_commit_replaced", "postgresql", 0.002),
            entry("read", "sqlite", 0.0003),
            entry("raw_read", "sqlite", 0.0001),
            entry("pull", "sqlite to postgresql", 0.02),
            entry("pull_given", "sqlite to postgresql", 60_000),
            entry("pull_needed", "sqlite to postgresql", 40_000),
            entry("pull_sent", "sqlite to postgresql", 70_000),
            entry("pull_answered", "sqlite to postgresql", 5_000),
        ],
    }
    lines = _lines_of(results)

    def line(start: str) -> str:
        return next(each for each in lines if each.startswith(f"| {start}"))

    begun = "| PostgreSQL | new record | 3.00 ms, 4.00 ms |"
    assert f"{begun} INSERT | 1.00 ms, 1.00 ms | 3.00 |" in lines
    assert f"{begun} INSERT, COMMIT | 2.00 ms, 2.00 ms | 1.50 |" in lines
    assert line("PostgreSQL | replaced, unknown").endswith("| 2.50 |")
    assert line("SQLite | 300 µs").startswith("| SQLite | 300 µs, 300 µs | 100 µs, 100 µs | 3.0 |")
    assert line("SQLite to PostgreSQL | pull") == (
        "| SQLite to PostgreSQL | pull | 20.0 ms, 20.0 ms | 60.0 KB | 40.0 KB | 1.50 | 75.0 KB |"
    )
    assert "* object store: ImportError: no such module" in lines

    results["measurements"] += [
        entry("commit_new", "postgresql, apart", 0.003),
        entry("raw_insert_commit_new", "postgresql, apart", 0.001),
    ]
    lines = _lines_of(results)
    assert line("PostgreSQL, apart | new").endswith("| 3.00 |")


def _lines_of(results: object) -> list[str]:
    from benchmarks.engines.page import section

    return "\n".join(section(json.loads(json.dumps(results)))).splitlines()


def test_a_server_and_its_client_are_kept_apart():
    from benchmarks.engines.cores import apart_from, can_be_apart

    if not can_be_apart():
        pytest.skip("no cores to choose from")
    here = os.sched_getaffinity(0)
    program = [sys.executable, "-c", "input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE) as server:
        with apart_from(server.pid) as rest:
            theirs = os.sched_getaffinity(server.pid)
            assert theirs and rest
            assert theirs | set(rest) == here
            assert not theirs & set(rest)
        assert os.sched_getaffinity(server.pid) == here
        server.communicate(b"\n")


def test_plain_writes_are_of_the_bytes_that_a_commit_has_made(tmp_path):
    from benchmarks.engines.sites import SQLITE, Site
    from benchmarks.engines.work import content, key, made_by
    from mnemosyne_vcs import open as open_repository

    vectors = data.random_vectors(1, 70)
    with open_repository(Site(SQLITE, str(tmp_path)).url("store"), create=True) as repository:
        given = []
        write = repository.blocks.engine.write

        def noting(objects, update=None):
            given.append(objects)
            write(objects, update)

        repository.blocks.engine.write = noting
        new, same, others = range(60), range(10), range(10, 20)
        puts = [(row, row) for row in (*new, *same)] + [(row, row + 50) for row in others]
        for row, vector in puts:
            commit = repository.put(key(row), content(len(given)), embedding=vectors[vector])
            assert sorted(made_by(repository, commit)) == sorted(b"".join(given[-1].values()))


def test_a_copy_is_given_the_bytes_that_it_needs(tmp_path):
    from benchmarks.engines import transfers
    from benchmarks.engines.sites import SQLITE, Site
    from mnemosyne_vcs import open as open_repository

    site = Site(SQLITE, str(tmp_path))
    transfers.grow(site, "origin", 60, 30)
    with open_repository(site.url("origin")) as repository:
        assert repository.at().count() == 60
        assert len(list(repository.log())) == 30
    cloned = transfers.metered_clone(site, "origin", site, "copy")
    assert cloned["clone_given"] == cloned["clone_needed"] > [60.0 * 4 * data.DIMENSIONS]
    assert transfers.clone(site, "origin", site, "another").keys() == {"clone"}
    transfers.commit(site, "origin", 60, 4)
    assert transfers.count(site, "origin") == 62
    pulled = transfers.metered_pull(site, "origin", site, "copy")
    assert pulled["pull_given"] == pulled["pull_needed"] > [4.0 * 4 * data.DIMENSIONS]
    assert transfers.pull(site, "another").keys() == {"pull"}
    for name in ("copy", "another"):
        assert transfers.count(site, name) == 62

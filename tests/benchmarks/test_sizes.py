"""The measurement behind the sizes in the guide."""

import pytest

from benchmarks import sizes


@pytest.fixture(autouse=True)
def few(monkeypatch):
    for name, number in (("RECORDS", 300), ("BATCH", 100), ("COMMITS", 20)):
        monkeypatch.setattr(sizes, name, number)


def test_a_vector_costs_what_it_is_and_a_commit_its_path(tmp_path):
    plain, with_vector, commit = sizes.measured(str(tmp_path / "a.mnem"))
    raw = sizes.DIMENSIONS * 4
    assert plain < raw < with_vector < 2 * raw
    assert plain < commit < 30_000


def test_it_prints_a_table(tmp_path, capsys):
    sizes.main([str(tmp_path / "a.mnem")])
    head, rule, row = capsys.readouterr().out.splitlines()
    assert head.count("|") == rule.count("|") == row.count("|") == 5
    assert row.startswith("| a file | ")

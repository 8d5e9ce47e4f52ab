import pytest

from mnemosyne_vcs.testing.crewai.outcomes import Outcome, run_to_end
from mnemosyne_vcs.testing.crewai.report import Column, write_page

SOURCE = '''
import os
from threading import Event

import pytest


class FirstContract:
    def test_good(self):
        """Good things | happen.

        Reported: https://example.org/project/issues/41
        """

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_some(self, n):
        """Some do."""
        assert n < 2

    def test_absent(self):
        """Absent."""
        pytest.skip("not here")


class SecondGroupContract:
    def test_hangs(self):
        """Hangs."""
        Event().wait()

    def test_crashes(self):
        """Crashes."""
        os._exit(3)

    @pytest.fixture
    def broken(self):
        yield
        raise RuntimeError

    def test_teardown(self, broken):
        """Fails on the way out."""


class TestBoth(FirstContract, SecondGroupContract):
    pass
'''


@pytest.fixture(scope="module")
def results():
    return run_to_end(SOURCE, seconds_per_test=3.0)


def test_every_test_has_an_outcome_though_some_hang_or_crash(results):
    described, outcomes = results
    assert set(described) == set(outcomes)
    assert {test.rpartition("::")[2]: outcome.result for test, outcome in outcomes.items()} == {
        "test_good": "passed",
        "test_some[1]": "passed",
        "test_some[2]": "failed",
        "test_some[3]": "failed",
        "test_absent": "skipped",
        "test_hangs": "unfinished",
        "test_crashes": "unfinished",
        "test_teardown": "failed",
    }


def test_a_file_that_cannot_be_collected_is_an_error():
    with pytest.raises(RuntimeError, match="could not be run"):
        run_to_end("import no_such_module", seconds_per_test=3.0)


def test_page(results, tmp_path):
    described, outcomes = results
    passing = {test: Outcome(test, "passed") for test in outcomes}
    path = tmp_path / "new" / "page.md"
    write_page(path, [Column("Mine", "pytest", *results), Column("Good", None, described, passing)])
    lines = path.read_text("utf-8").splitlines()
    assert f"| Mine | pytest {pytest.__version__} | 2 | 5 | 1 |" in lines
    assert "| Good | – | 8 | 0 | 0 |" in lines
    headings = [line for line in lines if line.startswith("## ")]
    assert headings == ["## First", "## Second group"]
    assert (
        "| Good things \\| happen. [41](https://example.org/project/issues/41) | pass | pass |"
        in lines
    )
    assert "| Some do. | **FAIL** 2 of 3 | pass |" in lines
    assert "| Absent. | – | pass |" in lines
    assert "| Hangs. | **FAIL**, did not finish | pass |" in lines
    assert "| Fails on the way out. | **FAIL** | pass |" in lines

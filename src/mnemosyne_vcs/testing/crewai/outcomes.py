"""Runs tests to the end even if some hang or crash: a pytest plugin and its driver.

The plugin writes each test's outcome to a file at once, and ends a run that hangs.

A run that ended early (a crash, or a test over its time) is continued by running pytest again with
the same file: tests with an outcome are left out, and the one that was running has failed.
"""

from __future__ import annotations

import faulthandler
import inspect
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Outcome:
    """The outcome of one test.

    Attributes:
        test: Its pytest node id.
        result: ``passed``, ``failed``, ``skipped``, or ``unfinished`` when the run ended in it.
    """

    test: str
    result: str


@dataclass(frozen=True)
class Described:
    """The description of a test.

    Attributes:
        test: Its pytest node id.
        group: The name of the class that defines it.
        function: The name of its function, which parametrised tests share.
        documentation: Its docstring.
    """

    test: str
    group: str
    function: str
    documentation: str


class Journal:
    """The file of descriptions and outcomes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, kind: str, **values: str) -> None:
        """Append one line."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, **values}) + "\n")

    def _lines(self) -> list[dict[str, str]]:
        if not self._path.exists():
            return []
        return [json.loads(line) for line in self._path.read_text("utf-8").splitlines()]

    def outcomes(self) -> dict[str, Outcome]:
        """Return the outcome of every test that was started, by node id."""
        found: dict[str, Outcome] = {}
        for line in self._lines():
            if line["kind"] == "start":
                found[line["test"]] = Outcome(line["test"], "unfinished")
            elif line["kind"] == "outcome" and found[line["test"]].result != "failed":
                found[line["test"]] = Outcome(line["test"], line["result"])
        return found

    def described(self) -> dict[str, Described]:
        """Return the description of every collected test, by node id."""
        return {
            line["test"]: Described(**{k: v for k, v in line.items() if k != "kind"})
            for line in self._lines()
            if line["kind"] == "test"
        }


class OutcomePlugin:
    """Writes the journal of a run."""

    def __init__(self, journal: Journal, timeout: float) -> None:
        self._journal = journal
        self._timeout = timeout

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what was run before, and describe the rest."""
        before = self._journal.outcomes()
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in before])
        items[:] = [item for item in items if item.nodeid not in before]
        for item in items:
            function: Any = getattr(item, "function")  # noqa: B009
            self._journal.write(
                "test",
                test=item.nodeid,
                group=function.__qualname__.split(".")[0],
                function=function.__name__,
                documentation=inspect.getdoc(function) or function.__name__,
            )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note the start, and end the process when the test takes too long."""
        self._journal.write("start", test=nodeid)
        faulthandler.dump_traceback_later(self._timeout, exit=True, file=2)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome: the first failure of a test's phases, or that of its call."""
        if report.when == "call" or report.outcome != "passed":
            self._journal.write("outcome", test=report.nodeid, result=report.outcome)

    def pytest_runtest_logfinish(self) -> None:
        """Stop the clock."""
        faulthandler.cancel_dump_traceback_later()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that name the file and the time."""
    parser.addoption("--outcomes", type=Path, required=True)
    parser.addoption("--seconds-per-test", type=float, required=True)


def pytest_configure(config: pytest.Config) -> None:
    """Start the journal."""
    path: Any = config.getoption("--outcomes")
    timeout: Any = config.getoption("--seconds-per-test")
    config.pluginmanager.register(OutcomePlugin(Journal(path), timeout))


def run_to_end(
    source: str, seconds_per_test: float
) -> tuple[dict[str, Described], dict[str, Outcome]]:
    """Run a file of tests in processes of their own until every test has an outcome.

    Args:
        source: The text of the file.
        seconds_per_test: How long one test may take; one that takes longer is ``unfinished``, as
            is one that ends its process.

    Returns:
        The descriptions and the outcomes of the tests, by node id.

    Raises:
        RuntimeError: pytest cannot collect or run the file.
    """
    with tempfile.TemporaryDirectory(prefix="conformance-") as directory:
        path, settings = Path(directory, "test_backend.py"), Path(directory, "pytest.ini")
        path.write_text(source, encoding="utf-8")
        settings.write_text("[pytest]\n", encoding="utf-8")
        journal = Journal(Path(directory, "outcomes.jsonl"))
        command = [sys.executable, "-m", "pytest", str(path), "-c", str(settings)]
        command += ["-q", "--tb=no", "--no-summary", "-W", "ignore", "-p", "no:cacheprovider"]
        command += ["--rootdir", directory, "--basetemp", str(Path(directory, "stores"))]
        command += ["-p", __name__, "--outcomes", str(Path(directory, "outcomes.jsonl"))]
        command += ["--seconds-per-test", str(seconds_per_test)]
        while True:
            before = len(journal.outcomes())
            subprocess.run(command, check=False, stdout=sys.stderr)
            described, outcomes = journal.described(), journal.outcomes()
            if described and len(outcomes) == len(described):
                return described, outcomes
            if len(outcomes) == before:
                raise RuntimeError("the tests could not be run; see pytest's output")

"""Runs of tests in forked processes: which functions each test enters, and what a mutant fails.

The process that is forked has loaded the large packages, but nothing of Mnemosyne. So a run takes
little more than its tests, and the changed source is loaded in place of the file, which stays as
it is. Processes that tests start load the file.
"""

import importlib.util
import io
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from cProfile import Profile
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType

import pytest

from mutation.mutants import Mutant

_fork = multiprocessing.get_context("fork")
SOURCE = Path("src").resolve()


class Tests:
    """What a run of the unchanged code has told of some tests.

    Args:
        found: for each test, how long it took and the functions that it entered, by file.
    """

    def __init__(self, found: dict[str, tuple[float, list[str]]]) -> None:
        self._found = found

    def of(self, mutant: Mutant, most: float) -> tuple[list[str], float]:
        """The tests that enter the changed function, quickest first, and how long they took.

        Args:
            mutant: the change.
            most: after how many seconds of tests to leave out the rest.
        """
        name = f"{mutant.file}:{mutant.function}"
        tests = [
            (seconds, test)
            for test, (seconds, entered) in self._found.items()
            if not mutant.function or name in entered
        ]
        chosen: list[str] = []
        total = 0.0
        for seconds, test in sorted(tests):
            if total + seconds > most and chosen:
                break
            chosen.append(test)
            total += seconds
        return chosen, total


class _Tracing:
    """A plugin of pytest that notes which functions of the source each test enters."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[float, list[str]]] = {}
        self._entered: set[CodeType] = set()

    def _enter(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self._entered.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        self._entered = set()
        began = time.perf_counter()
        threading.setprofile(self._enter)
        profile = Profile(builtins=False)  # for the main thread, since it is much quicker
        profile.enable()
        try:
            return (yield)
        finally:
            profile.disable()
            threading.setprofile(None)
            self._entered.update(entry.code for entry in profile.getstats())
            root = f"{SOURCE.parent}/"
            names = {
                f"{code.co_filename.removeprefix(root)}:{code.co_name}"
                for code in list(self._entered)
                if not isinstance(code, str) and code.co_filename.startswith(f"{SOURCE}/")
            }
            self.found[item.nodeid] = time.perf_counter() - began, sorted(names)


NOT_TRACED = ("--ignore-glob=*/test_interrupts.py",)
"""Tests that trace by themselves, which only one can do at a time."""


class _Choosing:
    """A plugin of pytest that runs the given tests only, in the given order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._order = {test: number for number, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._order]
        items.sort(key=lambda item: self._order[item.nodeid])


class _Changed(SourceFileLoader):
    """Loads one module from a changed source, and says nothing of any other."""

    def __init__(self, file: str, source: str) -> None:
        path = Path(file).resolve()
        parts = path.relative_to(SOURCE).with_suffix("").parts
        super().__init__(".".join(parts).removesuffix(".__init__"), str(path))
        self._source = source

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name != self.name:
            return None
        below = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=self, submodule_search_locations=below
        )

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec")


def baseline(folders: Sequence[str], limit: float) -> Tests:
    """Run the tests of the unchanged code, which must pass, and note what they enter.

    Raises:
        RuntimeError: they fail.
    """
    with tempfile.NamedTemporaryFile() as notes:

        def run() -> int:
            tracing = _Tracing()
            code = _pytest([*folders, *NOT_TRACED], tracing)
            Path(notes.name).write_text(json.dumps(tracing.found))
            return code

        code = _forked(run, limit)
        if code != 0:
            raise RuntimeError(f"the tests in {' '.join(folders)} fail without a change: {code}")
        return Tests(json.loads(Path(notes.name).read_text()))


def outcome(mutant: Mutant, tests: Sequence[str], limit: float) -> str:
    """What becomes of a mutant: `killed`, `survived`, `timeout`, or `untested` without tests."""
    if not tests:
        return "untested"

    def run() -> int:
        sys.meta_path.insert(0, _Changed(mutant.file, mutant.source()))
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        return _pytest(["-x", *files], _Choosing(tests))

    code = _forked(run, limit)
    return "timeout" if code is None else "killed" if code else "survived"


def _pytest(arguments: list[str], plugin: object) -> int:
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        options = ["-p", "no:cacheprovider", "--no-header", "--tb=short"]
        code = int(pytest.main([*options, *arguments], plugins=[plugin]))
    if os.environ.get("MUTATION_DEBUG") and code:
        sys.stderr.write(said.getvalue())
    return code


def _forked(run: Callable[[], int], limit: float) -> int | None:
    """What a function gives in a process of its own; None if it takes too long."""
    home = tempfile.mkdtemp(prefix="mutant-")

    def begin() -> None:
        os.setsid()
        os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TMPDIR"] = home
        tempfile.tempdir = None
        code = 70
        try:
            code = run()
        finally:
            os._exit(code)

    process = _fork.Process(target=begin)
    process.start()
    process.join(limit)
    late = process.exitcode is None
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)  # what it has started ends with it
    process.join()
    shutil.rmtree(home, ignore_errors=True)
    return None if late else process.exitcode

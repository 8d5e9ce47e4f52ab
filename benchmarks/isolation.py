"""Run functions in fresh processes that have imported crewai and nothing of a backend.

A fork server imports crewai once; every call is a new fork of it. So each measurement starts
from the same state, and the seconds that crewai takes to import are paid once and never counted.
Where crewai is not what is measured, the fork server imports nothing.
"""

from __future__ import annotations

import compileall
import importlib.util
import multiprocessing
import os
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
TIMEOUT_S = 900.0

_OFFLINE = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "OTEL_SDK_DISABLED": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
}


class ChildError(Exception):
    """A child process raised, died, or gave no answer in time."""


def prepare_environment(home: Path, preload: Sequence[str] = ("crewai.memory.types",)) -> None:
    """Keep children offline and out of the user's directories. Call before the first child.

    ``preload`` is what every child has imported when it begins.
    """
    home.mkdir(parents=True, exist_ok=True)
    os.environ.update(_OFFLINE, HOME=str(home), CREWAI_STORAGE_DIR=str(home))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    package = importlib.util.find_spec("mnemosyne")
    if package is not None and package.submodule_search_locations:  # as installed packages are
        compileall.compile_dir(package.submodule_search_locations[0], quiet=1)
    CONTEXT.set_forkserver_preload([*preload, "benchmarks.settled"])


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """The value of ``function(*arguments)``, computed in a fresh process."""
    return call_together(function, [arguments])[0]


def call_together(function: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Any]:
    """One fresh process per entry of ``arguments``, all at once; their values in order."""
    children = [_start(function, entry) for entry in arguments]
    try:
        return [_answer(process, answers) for process, answers in children]
    finally:
        for process, answers in children:
            if process.is_alive():
                process.kill()
            process.join()
            answers.close()


def _start(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, Connection]:
    answers, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_run, args=(sender, function, tuple(arguments)))
    process.start()
    sender.close()
    return process, answers


def _answer(process: Any, answers: Connection) -> Any:
    if not answers.poll(TIMEOUT_S):
        raise ChildError(f"no answer within {TIMEOUT_S:.0f} s")
    try:
        failure, value = answers.recv()
    except EOFError:
        process.join()
        raise ChildError(f"process ended with exit code {process.exitcode}") from None
    process.join(10)
    if failure:
        raise ChildError(failure)
    return value


def _run(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        value = function(*arguments)
    except Exception:
        sender.send((traceback.format_exc(), None))
        raise
    sender.send((None, value))

"""Another process with its own backend, which executes requests.

`Peer` is the side of the tests and `Child` the other side. The two speak JSON lines over the
child's standard input and output: one request, one or more answers. A child ends when its input
ends, so none outlives its parent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

from mnemosyne_vcs.testing.crewai.base import load_opener, make

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend

PATIENCE_SECONDS = 150.0


class Peer:
    """A child process that opens stores with one opener."""

    def __init__(self, opener: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import main; main()", opener],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment,
        )

    @property
    def alive(self) -> bool:
        """Whether the child still runs."""
        return self._process.poll() is None

    def send(self, action: str, *arguments: Any) -> None:
        """Ask for something without waiting for the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([action, *arguments]) + "\n")
        self._process.stdin.flush()

    def receive(self) -> Any:
        """Wait for the next answer.

        Raises:
            EOFError: The child failed (its traceback is on standard error) or did not answer
                in time, in which case it is ended.
        """
        assert self._process.stdout is not None
        watchdog = threading.Timer(PATIENCE_SECONDS, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            raise EOFError(f"the other process ended with code {self._process.wait()}")
        return json.loads(line)

    def ask(self, action: str, *arguments: Any) -> Any:
        """Ask for something and wait for the answer."""
        self.send(action, *arguments)
        return self.receive()

    def kill(self) -> list[Any]:
        """End the child at once, as ``kill -9`` does, and return the answers not yet read."""
        assert self._process.stdout is not None
        self._process.kill()
        rest = [json.loads(line) for line in self._process.stdout if line.endswith("\n")]
        self._process.wait()
        return rest

    def end(self) -> None:
        """Let the child end, or end it when it does not."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(PATIENCE_SECONDS)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class Peers:
    """Children that tests share, since each takes seconds to import crewai."""

    def __init__(self, opener: str) -> None:
        self._opener = opener
        self._started: list[Peer] = []

    def open(self, count: int, location: str) -> list[Peer]:
        """Return this many children with the store at `location` open."""
        self._started = [peer for peer in self._started if peer.alive]
        while len(self._started) < count:
            self._started.append(Peer(self._opener))
        chosen = self._started[:count]
        for peer in chosen:
            peer.send("open", location)
        assert [peer.receive() for peer in chosen] == ["opened"] * count
        return chosen

    def end(self) -> None:
        """End every child."""
        for peer in self._started:
            peer.end()


class Child:
    """The other side: holds one open backend and acts on it."""

    def __init__(self, opener: str) -> None:
        self._open = load_opener(opener)
        self._backend: StorageBackend

    def open(self, location: str) -> Iterator[str]:
        """Open the store, leaving the one before."""
        self._backend = self._open(location)
        yield "opened"

    def save(self, prefix: str, count: int) -> Iterator[list[str]]:
        """Save records one call each, and then name them."""
        names = [f"{prefix}-{n}" for n in range(count)]
        for name in names:
            self._backend.save([make(name, scope=f"/{prefix}")])
        yield names

    def save_for_ever(self, prefix: str) -> Iterator[str]:
        """Save record after record, naming each once it is saved."""
        number = 0
        while True:
            self._backend.save([make(f"{prefix}-{number}")])
            yield f"{prefix}-{number}"
            number += 1

    def save_in_fork(self, name: str) -> Iterator[int]:
        """Save a record in a forked child, and give its exit code."""
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                self._backend.save([make(name)])
                code = 0
            finally:
                os._exit(code)
        yield os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def ids(self) -> Iterator[list[str]]:
        """Name every record."""
        yield sorted(record.id for record in self._backend.list_records(limit=10_000))

    def search(self, vector: list[float]) -> Iterator[list[str]]:
        """Name the records that a search finds."""
        yield [record.id for record, _ in self._backend.search(vector, limit=100)]

    def reset(self) -> Iterator[str]:
        """Empty the store."""
        self._backend.reset()
        yield "reset"


def serve(child: Child, requests: TextIO, answers: TextIO) -> None:
    """Answer requests until there are no more."""
    for line in requests:
        action, *arguments = json.loads(line)
        perform: Callable[..., Iterator[Any]] = getattr(child, action)
        for answer in perform(*arguments):
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def main() -> None:
    """Serve as the child, with the opener named by the first argument."""
    # What libraries print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(Child(sys.argv[1]), sys.stdin, answers)

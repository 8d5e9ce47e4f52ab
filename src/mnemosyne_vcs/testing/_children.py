"""Child processes: started, told to go, heard line by line, and ended with their context."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

BACKUP_CHILD = Path(__file__).with_name("backup_child.py")
ENGINE_CHILD = Path(__file__).with_name("engine_child.py")
FUSE_CHILD = Path(__file__).with_name("fuse_child.py")
STORE_CHILD = Path(__file__).with_name("store_child.py")


class Child:
    """A Python program that says lines on its output and reads lines from its input.

    Args:
        program: the file to run.
        arguments: what it is given, as text.
        within: the command to run it by, such as one that puts it on another network.
    """

    def __init__(self, program: Path, *arguments: object, within: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen(
            [*within, sys.executable, str(program), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        """Wait for the next line; empty if there is none to come."""
        return self._process.stdout.readline().rstrip("\n")

    def lines(self) -> Iterable[str]:
        """Every whole line until the end; what a death cut off is left out."""
        return (line.rstrip("\n") for line in self._process.stdout if line.endswith("\n"))

    def go(self) -> None:
        """Let it go on with what it waits to begin."""
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def finish(self) -> list[str]:
        """The rest of what it says, once it has ended by itself and well."""
        said = list(self.lines())
        assert self._process.wait() == 0
        return said

    def kill(self) -> list[str]:
        """End it as `kill -9` does; returns what it had said and nobody had heard."""
        self._process.kill()
        said = list(self.lines())
        self._process.wait()
        return said

    def wait(self) -> int:
        """Wait for its end; returns its exit code."""
        return self._process.wait()

    def send_kill(self) -> None:
        """Send what `kill -9` sends, and leave the rest to who listens."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def go(children: Sequence[Child]) -> None:
    """Let children begin together, once all are ready."""
    assert [child.line() for child in children] == ["ready"] * len(children)
    for child in children:
        child.go()

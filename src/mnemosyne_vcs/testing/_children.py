"""Child processes: started, told to go, heard line by line, and ended with their context."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

__all__ = ["STORE_CHILD", "Child", "go"]

STORE_CHILD = "mnemosyne_vcs.testing._store_child"


class Child:
    """A Python program that says lines on its output and reads lines from its input.

    Args:
        program: the file or the name of the module to run.
        arguments: what it is given, as text.
        within: the command to run it by, such as one that puts it on another network.
    """

    def __init__(self, program: Path | str, *arguments: object, within: Sequence[str] = ()) -> None:
        what = ["-m", program] if isinstance(program, str) else [str(program)]
        self._process = subprocess.Popen(
            [*within, sys.executable, *what, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin and self._process.stdout
        self._in, self._out = self._process.stdin, self._process.stdout

    def line(self) -> str:
        """Wait for the next line; empty at the end of the output."""
        return self._out.readline().rstrip("\n")

    def lines(self) -> Iterable[str]:
        """Every whole line until the end; what a death cut off is left out."""
        return (line.rstrip("\n") for line in self._out if line.endswith("\n"))

    def go(self) -> None:
        """Let it go on with what it waits to begin."""
        self._in.write("go\n")
        self._in.flush()

    def finish(self) -> list[str]:
        """The rest of what it says, once it has ended by itself and well."""
        said = list(self.lines())
        assert self._process.wait() == 0
        return said

    def kill(self) -> list[str]:
        """End it as `kill -9` does; returns the output that was not read yet."""
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

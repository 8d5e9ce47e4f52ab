"""Long results go through a pager on a terminal."""

import io
import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from mnemosyne_vcs.cli.output import is_terminal

if TYPE_CHECKING:
    from subprocess import Popen

__all__ = ["pager_command", "paging"]

_LESS = "FRX"
"""Options of `less`: exit if all fits, show colours, leave the text on the screen."""


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """The pager to start and its arguments; empty for no pager.

    Args:
        environment: the variables of the process: `MNEM_PAGER`, else `PAGER`, where an empty
            value and `cat` mean no pager; else `less`, if that is installed.
    """
    import shlex
    import shutil

    if environment.get("TERM") == "dumb":
        return []
    wanted = shlex.split(environment.get("MNEM_PAGER", environment.get("PAGER", "less")))
    if wanted == ["cat"] or not wanted or shutil.which(wanted[0]) is None:
        return []
    return wanted


@contextmanager
def paging(*, wanted: bool = True) -> Generator[None]:
    """Send what is printed inside through the pager, if it does not fit on the terminal.

    Leaving the pager early ends the work inside.

    Args:
        wanted: whether a pager may be used.
    """
    command = pager_command(os.environ) if wanted and is_terminal(sys.stdout) else []
    if not command:
        yield
        return
    from shutil import get_terminal_size

    terminal = sys.stdout
    pages = _Pages(terminal, command, get_terminal_size().lines - 1)
    sys.stdout = pages
    try:
        yield
    except _LeftError:
        return
    finally:
        sys.stdout = terminal
        pages.finish()


class _LeftError(Exception):
    """The pager was closed."""


class _Pages(io.TextIOBase):
    """Keeps text until it is longer than a screen, and then hands it to a pager."""

    def __init__(self, terminal: TextIO, command: list[str], height: int) -> None:
        self._terminal = terminal
        self._command = command
        self._room = height
        self._kept: list[str] = []
        self._pager: Popen[str] | None = None

    def isatty(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if self._pager is not None:
            self._hand_over(text)
        else:
            self._kept.append(text)
            self._room -= text.count("\n")
            if self._room < 0:
                self._start()
        return len(text)

    def finish(self) -> None:
        """Show what is kept, or wait until the pager is closed."""
        if self._pager is None:
            self._terminal.write("".join(self._kept))
            self._terminal.flush()
            return
        assert self._pager.stdin is not None
        with suppress(BrokenPipeError):  # the pager was closed early
            self._pager.stdin.close()
        _wait(self._pager)

    def _start(self) -> None:
        from subprocess import PIPE, Popen

        self._pager = Popen(
            self._command,
            stdin=PIPE,
            env={"LESS": _LESS, **os.environ},
            encoding=self._terminal.encoding,
            errors="backslashreplace",
        )
        self._hand_over("".join(self._kept))

    def _hand_over(self, text: str) -> None:
        assert self._pager is not None and self._pager.stdin is not None
        try:
            self._pager.stdin.write(text)
        except BrokenPipeError:
            raise _LeftError from None


def _wait(pager: "Popen[str]") -> None:
    """Wait for the pager, which handles Ctrl-C."""
    while True:
        try:
            pager.wait()
        except KeyboardInterrupt:
            continue
        return

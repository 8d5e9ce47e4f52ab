"""The `mnem` command: the only part that reads the environment and prints."""

import io
import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run `mnem` with the arguments of the process, and exit with its code."""
    _occupy_closed_descriptors()
    from mnemosyne_vcs.cli.app import mnem

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        mnem.main(prog_name="mnem")
    finally:
        _drop_what_cannot_be_written()


def _occupy_closed_descriptors() -> None:
    """Keep the files that are opened later from being taken for stdin, stdout or stderr."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _drop_what_cannot_be_written() -> None:
    """Leave nothing that would fail again, with a traceback, when Python ends."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # pyright: ignore[reportUnnecessaryComparison]
            continue
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

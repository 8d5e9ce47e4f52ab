"""The `mnem` command: the only part that reads the environment and prints."""

import io
import sys

__all__ = ["main"]


def main() -> None:
    """Run `mnem` with the arguments of the process, and exit with its code."""
    from mnemosyne.cli.app import mnem

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    mnem.main(prog_name="mnem")

"""Standard input and output as bytes, named by `-`."""

import sys
from typing import BinaryIO, cast

from mnemosyne_vcs.errors import EngineError, ValidationError

__all__ = ["STREAM", "read_text", "stdin_bytes", "stdout_bytes"]

STREAM = "-"
"""The path that means standard input or output."""


def read_text() -> str:
    """All of standard input.

    Raises:
        EngineError: it is closed or cannot be read.
        ValidationError: it is not UTF-8.
    """
    try:
        data = stdin_bytes().read()
    except OSError as error:
        if isinstance(error, EngineError):
            raise
        raise EngineError(f"standard input cannot be read: {error.strerror}") from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ValidationError(f"standard input is not UTF-8: {error}") from None


def stdin_bytes() -> BinaryIO:
    """Standard input as bytes.

    Raises:
        EngineError: it is closed.
    """
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise EngineError("standard input is closed, so nothing can be read from it")
    return cast("BinaryIO", sys.stdin.buffer)


def stdout_bytes() -> BinaryIO:
    """Standard output as bytes.

    Raises:
        EngineError: it is closed.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise EngineError("standard output cannot be written: it is closed")
    sys.stdout.flush()
    return cast("BinaryIO", sys.stdout.buffer)

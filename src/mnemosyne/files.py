"""Files that are exported to and imported from, with the errors that say what to do."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mnemosyne.errors import AlreadyExistsError, EngineError, NotFoundError

__all__ = ["existing_file", "new_file"]


@contextmanager
def new_file(path: str) -> Generator[BinaryIO]:
    """A file to write, which is on the disk when the context is left, and gone if that fails.

    Raises:
        AlreadyExistsError: something is at that path.
        EngineError: it cannot be written.
    """
    try:
        file = Path(path).open("xb")  # noqa: SIM115
    except FileExistsError:
        raise AlreadyExistsError(f"{path} exists; an export overwrites nothing") from None
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        Path(path).unlink()
        if isinstance(error, OSError) and not isinstance(error, EngineError):
            raise _unwritable(path, error) from error
        raise


@contextmanager
def existing_file(path: str) -> Generator[BinaryIO]:
    """A file to read.

    Raises:
        NotFoundError: there is none at that path.
        EngineError: it cannot be read.
    """
    try:
        file = Path(path).open("rb")  # noqa: SIM115
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}") from None
    except OSError as error:
        raise EngineError(f"{path} cannot be read: {error.strerror}; check the path") from error
    with file:
        yield file


def _unwritable(path: str, error: OSError) -> EngineError:
    return EngineError(
        f"{path} cannot be written: {error.strerror}; check that directory and its space"
    )

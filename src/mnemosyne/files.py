"""Files that are exported to and imported from, with the errors that say what to do."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mnemosyne.errors import AlreadyExistsError, EngineError, NotFoundError, ValidationError
from mnemosyne.paths import absolute, path_text, require_meant, require_trimmed

__all__ = ["existing_file", "file_path", "new_file"]


def file_path(path: str | os.PathLike[str]) -> str:
    """The absolute path of a file to write or read.

    Raises:
        ValidationError: it was surely meant otherwise, as with `~`, or is not a path.
        NotFoundError: it is relative, and the current directory is gone.
    """
    text = path_text(path)
    if not text:
        raise ValidationError("the path of a file cannot be empty")
    require_trimmed(text, text)
    require_meant(text, text)
    return absolute(text)


@contextmanager
def new_file(path: str) -> Generator[BinaryIO]:
    """A file to write, which is on the disk when the context is left, and gone if that fails.

    Raises:
        AlreadyExistsError: something is at that path.
        EngineError: it cannot be written.
        MnemosyneError: as `file_path` raises.
    """
    target = Path(file_path(path))
    try:
        file = target.open("xb")
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
        target.unlink()
        if isinstance(error, OSError) and not isinstance(error, EngineError):
            raise _unwritable(path, error) from error
        raise


@contextmanager
def existing_file(path: str) -> Generator[BinaryIO]:
    """A file to read.

    Raises:
        NotFoundError: there is none at that path.
        EngineError: it cannot be read.
        MnemosyneError: as `file_path` raises.
    """
    try:
        file = Path(file_path(path)).open("rb")  # noqa: SIM115
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

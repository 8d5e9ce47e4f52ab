"""Files that are exported to and imported from, with the errors that say what to do."""

import errno
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mnemosyne_vcs.errors import (
    AlreadyExistsError,
    EngineError,
    MnemosyneError,
    NotFoundError,
    ValidationError,
)
from mnemosyne_vcs.paths import absolute, path_text, require_meant, require_trimmed

__all__ = [
    "existing_file",
    "file_path",
    "new_file",
    "put_in_place",
    "sync_file",
    "temporary_beside",
]

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
_LONGEST_PART = 200


def file_path(path: str | os.PathLike[str]) -> str:
    """The absolute path of a file to write or read.

    Raises:
        ValidationError: it was surely meant otherwise, as with `~`, or is not a path.
        NotFoundError: it is relative, and the current directory is gone.
    """
    text = path_text(path)
    if not text:
        raise ValidationError("the path of a file cannot be empty")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValidationError(f"{text!r:.80} is not a path: it cannot be encoded") from None
    require_trimmed(text, text)
    require_meant(text, text)
    return absolute(text)


@contextmanager
def new_file(path: str) -> Generator[BinaryIO]:
    """A file to write, which appears at the path once it is complete and on the disk.

    Until then it has another name in the same directory; if the context is left by an exception,
    it is removed.

    Raises:
        AlreadyExistsError: something is at that path.
        EngineError: it cannot be written.
        MnemosyneError: as `file_path` raises.
    """
    target = Path(file_path(path))
    if os.path.lexists(target):
        raise _exists(path)
    partial = temporary_beside(target)
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        put_in_place(partial, target)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        if isinstance(error, MnemosyneError):
            raise
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):  # renamed, or never made
            partial.unlink()


def temporary_beside(path: Path) -> Path:
    """A name in the same directory that nothing has, for a file that shall become another one."""
    name = path.name.encode()[:_LONGEST_PART].decode(errors="ignore")
    return path.parent / f".{name}.{secrets.token_hex(4)}.part"


def put_in_place(partial: Path, path: Path) -> None:
    """Give a complete file its name, durably, and leave alone what may have that name.

    Raises:
        FileExistsError: something is at that path.
        OSError: it cannot be renamed.
    """
    try:
        os.link(partial, path, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        partial.rename(path)
    else:
        partial.unlink()
    sync_file(path.parent)


def sync_file(path: Path) -> None:
    """Have a file, or the names in a directory, on the disk.

    Raises:
        OSError: it cannot be written.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


def _exists(path: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"{path} exists; an export overwrites nothing")


def _unwritable(path: str, error: OSError) -> EngineError:
    return EngineError(
        f"{path} cannot be written: {error.strerror}; check that directory and its space"
    )

"""Files to export to and import from."""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import IOBase
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, TypeAlias, cast

from mnemosyne_vcs.errors import (
    AlreadyExistsError,
    EngineError,
    MnemosyneError,
    NotFoundError,
    ValidationError,
)
from mnemosyne_vcs.paths import absolute, path_text, require_meant, require_trimmed

__all__ = [
    "File",
    "as_given",
    "existing_file",
    "file_path",
    "name_of",
    "new_file",
    "put_in_place",
    "sync_file",
    "temporary_beside",
]

File: TypeAlias = str | os.PathLike[str] | BinaryIO
"""A path, or an open binary stream."""

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
_LONGEST_PART = 200


def file_path(path: str | os.PathLike[str]) -> str:
    """The absolute path of a file to write or read.

    Raises:
        ValidationError: it is not a path, or surely means something else, as with `~`.
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


def as_given(file: File) -> str | BinaryIO:
    """A path as text, or a stream as it is.

    Raises:
        ValidationError: it is neither.
    """
    return cast("BinaryIO", file) if isinstance(file, IOBase) else path_text(file)


def name_of(file: str | BinaryIO) -> str:
    """The name of a file in messages."""
    return file if isinstance(file, str) else str(getattr(file, "name", "a stream"))


@contextmanager
def new_file(path: str | BinaryIO) -> Generator[BinaryIO]:
    """A file to write, which appears at the path when it is complete and on the disk.

    Until then it has another name in the same directory; if the context is left by an exception,
    it is removed. A stream, a pipe or a device gets everything at the end, or nothing.

    Raises:
        AlreadyExistsError: the path exists already.
        BrokenPipeError: nobody reads the pipe any more.
        EngineError: it cannot be written.
        MnemosyneError: as `file_path` raises.
    """
    if not isinstance(path, str):
        with _poured_into(path, name_of(path)) as file:
            yield file
        return
    target = Path(file_path(path))
    if _is_stream(target):
        with _opened_stream(target) as stream, _poured_into(stream, path) as file:
            yield file
        return
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
        with suppress(OSError):  # renamed, or never created
            partial.unlink()


def temporary_beside(path: Path) -> Path:
    """An unused name in the same directory, for a file that will be renamed."""
    name = os.fsdecode(os.fsencode(path.name)[:_LONGEST_PART])
    return path.parent / f".{name}.{secrets.token_hex(4)}.part"


def put_in_place(partial: Path, path: Path) -> None:
    """Rename a complete file, durably, without replacing an existing one.

    Raises:
        FileExistsError: the path exists already.
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
    """Flush a file, or the names in a directory, to the disk.

    Raises:
        OSError: it cannot be written.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def existing_file(path: str | BinaryIO) -> Generator[BinaryIO]:
    """A file to read from its start; a stream or a pipe is read to its end first.

    Raises:
        NotFoundError: it does not exist.
        EngineError: it cannot be read.
        MnemosyneError: as `file_path` raises.
    """
    if not isinstance(path, str):
        with _held(path, name_of(path)) as file:
            yield file
        return
    try:
        file = Path(file_path(path)).open("rb")  # noqa: SIM115
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}") from None
    except OSError as error:
        if isinstance(error, MnemosyneError):
            raise
        raise _unreadable(path, error) from error
    with file:
        if file.seekable():
            yield file
            return
        with _held(file, path) as held:
            yield held


@contextmanager
def _poured_into(stream: BinaryIO, name: str) -> Generator[BinaryIO]:
    """A temporary file that is written to a stream when the context ends without an exception."""
    with TemporaryFile() as file:
        yield cast("BinaryIO", file)
        file.seek(0)
        try:
            shutil.copyfileobj(file, stream)
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritable(name, error) from error


@contextmanager
def _held(stream: BinaryIO, name: str) -> Generator[BinaryIO]:
    """A temporary file with the contents of a stream."""
    with TemporaryFile() as file:
        try:
            shutil.copyfileobj(stream, file)
        except OSError as error:
            raise _unreadable(name, error) from error
        file.seek(0)
        yield cast("BinaryIO", file)


def _is_stream(path: Path) -> bool:
    """Whether a path is neither a file nor a directory, but exists."""
    try:
        mode = path.stat().st_mode
    except OSError:  # opening it raises the error
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _opened_stream(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise _unwritable(str(path), error) from error


def _unreadable(path: str, error: OSError) -> EngineError:
    return EngineError(f"{path} cannot be read: {error.strerror}; check the path")


def _exists(path: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"{path} exists; an export overwrites nothing")


def _unwritable(path: str, error: OSError) -> EngineError:
    return EngineError(
        f"{path} cannot be written: {error.strerror}; check that directory and its space"
    )

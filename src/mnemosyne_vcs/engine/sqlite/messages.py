"""Errors of SQLite, as errors of a store that say what to do."""

import os
from pathlib import Path

import apsw

from mnemosyne_vcs.errors import (
    BusyError,
    CorruptObjectError,
    EngineError,
    MnemosyneError,
    ReadOnlyError,
)

__all__ = ["explain"]

DESCRIPTORS_OF_A_CONNECTION = 4
"""A connection opens the file, its log and the log's index, and one more for a moment."""


def explain(error: apsw.Error, path: str, busy_timeout: float) -> MnemosyneError:
    """The error to raise in place of one that SQLite raised.

    Args:
        error: what SQLite raised.
        path: the file of the store, with links followed.
        busy_timeout: seconds that SQLite waited for other processes.
    """
    said = f"{path}: {error}"
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return BusyError(
                f"{path} was kept locked by other writers for {busy_timeout:g} s; try again"
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            what = _in_the_way(path) or "give this user write access to the file and its directory"
            return ReadOnlyError(
                f"{said}; it cannot be written there: open it with read_only=True, or {what}"
            )
        case apsw.CorruptError() | apsw.NotADBError() | apsw.FormatError():
            return CorruptObjectError(
                f"{said}; the file is damaged: restore it from a backup or a clone"
            )
        case _:
            return EngineError(f"{said}; {_advice(error, path)}")


def _advice(error: apsw.Error, path: str) -> str:
    """What to do about an error of the disk or the system."""
    match error:
        case apsw.FullError():
            return "free space on that disk and try again"
        case apsw.CantOpenError() if _out_of_descriptors():
            return (
                "this process has as many files open as it may: close stores or files that it "
                "does not need, or raise the limit (ulimit -n)"
            )
        case apsw.CantOpenError():
            return _in_the_way(path) or (
                "check that this user can read and write the file and its directory, and that the "
                "disk is not full"
            )
        case _:
            return f"check the disk and its free space{_limit_of_size()}"


def _in_the_way(path: str) -> str:
    """What to do about files of the log that this user cannot write; empty if there are none."""
    files = [Path(path + suffix) for suffix in ("-wal", "-shm")]
    barred = [file for file in files if file.exists() and not os.access(file, os.R_OK | os.W_OK)]
    if not barred:
        return ""
    names = " and ".join(f"{file}, which belongs to {_owner(file)}" for file in barred)
    return (
        f"give {names} and cannot be written by this user, to the owner of the store (chown); once "
        "no program uses the store, a -shm file and an empty -wal file can be deleted instead"
    )


def _owner(file: Path) -> str:
    try:
        return f"user {file.owner()}"
    except KeyError:
        return f"user {file.stat().st_uid}"
    except (OSError, NotImplementedError):
        return "another user"


def _out_of_descriptors() -> bool:
    """Whether no more files can be opened, which SQLite's errors do not show."""
    opened: list[int] = []
    try:
        while len(opened) < DESCRIPTORS_OF_A_CONNECTION:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return True
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return False


def _limit_of_size() -> str:
    """The limit on the size of files, which fails like a broken disk."""
    try:
        import resource
    except ImportError:
        return ""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit == resource.RLIM_INFINITY:
        return ""
    return f", and the limit on the size of files, which is {limit:,} bytes here (ulimit -f)"

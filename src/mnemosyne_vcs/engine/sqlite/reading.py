"""Opening a SQLite store for reading, without leaving files behind or blocking writers.

A connection that may only read makes the log's files if they are missing, and does not remove them:
if they belong to another user then, the store's owner cannot write any more. So where there is no
log, the file is opened as one that does not change. A lock that all readers of SQLite take keeps
the promise: a writer can come and begin a log, but cannot remove it again, so that the log tells
that the connection is of no use any more.
"""

# pyright: reportUnknownMemberType=false
# (apsw describes its arguments with collections.abc.Buffer, which Python 3.11 does not have)

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar, TypeVarTuple
from urllib.parse import quote

import apsw

from mnemosyne_vcs.engine.sqlite.statements import rows
from mnemosyne_vcs.errors import EngineError

__all__ = ["Outdated", "Still", "ask", "has_frames", "open_file", "open_for_reading"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

WAL_MODE = b"\2\2"
WAL_MODE_AT = 18
POLL_SECONDS = 0.005
_Log = tuple[int, int, int]


class Still(apsw.Connection):
    """A connection to a file that does not change, as long as no log is begun beside it.

    Args:
        path: the file, with links followed.
        lock: the same file, with the lock of a reader.
        log: what there was of a log when that lock was taken.
    """

    def __init__(self, path: str, lock: apsw.VFSFile, log: _Log | None) -> None:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        super().__init__(f"file:{quote(path.replace(os.sep, '/'), safe='/:')}?immutable=1", flags)
        self._lock = lock
        self._path = path
        self._seen = log

    @property
    def outdated(self) -> bool:
        """Whether the file may have changed since this was opened."""
        return _log_of(self._path) != self._seen

    def close(self, force: bool = False) -> None:
        """Close the connection, and give back the lock."""
        super().close(force)
        self._lock.xClose()


class Outdated(Exception):  # noqa: N818 - a reason to ask again, and no error of anybody's
    """A file that was taken not to change has changed, so that the answer may be wrong."""


def ask(
    connection: apsw.Connection, question: Callable[[apsw.Connection, *Ts], T], *values: *Ts
) -> T:
    """The result of a function of a connection for reading.

    Raises:
        Outdated: the file may have changed meanwhile; ask with another connection.
    """
    if not isinstance(connection, Still):
        return question(connection, *values)
    try:
        answer = question(connection, *values)
    except apsw.Error:
        if connection.outdated:
            raise Outdated from None
        raise
    if connection.outdated:
        raise Outdated
    return answer


def open_file(path: str) -> apsw.VFSFile:
    """A file by SQLite's own layer.

    Opened in another way beside it, closing it would drop the locks that the process holds on it.
    """
    return apsw.VFSFile("", path, [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])


def has_frames(path: str) -> bool:
    """Whether there is a log beside a file, with anything in it."""
    try:
        return Path(path + "-wal").stat().st_size > 0
    except OSError:
        return False


def open_for_reading(path: str, busy_timeout: float) -> apsw.Connection:
    """Open a connection for reading; a `Still` one where that is possible.

    Args:
        path: the file, with links followed.
        busy_timeout: seconds to wait for other processes.

    Raises:
        apsw.Error: SQLite cannot open it.
        EngineError: it has a log that this user cannot read.
    """
    with ExitStack() as on_failure:
        lock = open_file(path)
        on_failure.callback(lock.xClose)
        _lock_for_reading(lock, busy_timeout)
        log = _log_of(path)
        if log is None and lock.xRead(2, WAL_MODE_AT) == WAL_MODE:
            connection = None
        else:
            connection = _open_with_log(path, busy_timeout)
        if connection is None:
            connection = Still(path, lock, log)
            on_failure.pop_all()
    return connection


def _lock_for_reading(file: apsw.VFSFile, busy_timeout: float) -> None:
    deadline = time.monotonic() + busy_timeout
    while True:
        try:
            file.xLock(apsw.SQLITE_LOCK_SHARED)
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)
        else:
            return


def _open_with_log(path: str, busy_timeout: float) -> apsw.Connection | None:
    """Open a file through its log; None if the log is empty and cannot be opened."""
    unread = EngineError(
        f"{path} has writes in {path}-wal that cannot be read without write access to the file and "
        "its directory; open it once where it can be written"
    )
    if has_frames(path) and not Path(path + "-shm").exists() and not os.access(path, os.W_OK):
        raise unread
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(int(busy_timeout * 1000))
        rows(connection, "SELECT 1 FROM refs LIMIT 1")
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        connection.close()
        if has_frames(path):
            raise unread from error
        return None
    except BaseException:
        connection.close()
        raise
    return connection


def _log_of(path: str) -> _Log | None:
    """The state of a log, which changes when it is begun or written to; None without a log."""
    try:
        found = Path(path + "-wal").stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns

"""The file of a SQLite store: making it, recognising it, opening it, naming what is wrong with it.

The format of the file is told by its `application_id` and `user_version`, which SQLite keeps in the
header. That is read through SQLite's file layer and never by opening the file beside it, because
closing any descriptor of a file drops the locks that the process holds on it.
"""

# pyright: reportUnknownMemberType=false
# (apsw describes its arguments with collections.abc.Buffer, which Python 3.11 does not have)

import os
import stat
import time
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import apsw

from mnemosyne.engine.sqlite_schema import SCHEMA, rows
from mnemosyne.errors import (
    BusyError,
    CorruptObjectError,
    EngineError,
    FormatVersionError,
    MnemosyneError,
    NotFoundError,
    ReadOnlyError,
)

__all__ = ["StoreFile"]

APPLICATION = b"Mnem"
HEADER_BYTES = 100
FORMAT = 1
PAGE_BYTES = 2048
CACHE_KIB = 16384
WAL_PAGES = 4096
"""Pages in the write-ahead log at which they are moved to the file: one commit in some hundreds."""
WAL_BYTES_KEPT = 10 << 20
"""More than those pages take, so that the log is written over and over and does not grow anew."""
POLL_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class StoreFile:
    """One file that is, or shall become, a store.

    Attributes:
        path: where it is, absolute.
        url: the URL that names it.
        read_only: open it for reading only.
        synchronous: SQLite's `synchronous` level, "FULL" or "NORMAL".
        busy_timeout: seconds to wait for other processes.
    """

    path: str
    url: str
    read_only: bool
    synchronous: str
    busy_timeout: float

    def require(self, *, create: bool) -> None:
        """Check that a file is there, or make the store.

        Raises:
            NotFoundError: it is not there and shall not, or cannot, be made.
            CorruptObjectError: a file without a byte is there, and no store shall be made of it.
            ReadOnlyError: it cannot be made where it is.
            BusyError: another process kept it locked.
            EngineError: it cannot be made, or its directory cannot be read.
        """
        if not self._is_empty():
            return
        if self.read_only or not create:
            if Path(self.path).exists():
                raise CorruptObjectError(
                    f"{self.path} is an empty file and not a store, as after a clone or a backup "
                    "that broke off: run that again, or make a store of it with `mnem init`"
                )
            raise NotFoundError(
                f"there is no store at {self.url}; make it with create=True or `mnem init`"
            )
        self._create()

    def stamp(self) -> Hashable:
        """Which file is there now, as something that changes when it is replaced.

        A file for reading only may have been opened as one that never changes, so that every
        change of it counts.

        Raises:
            NotFoundError: none is.
            EngineError: its directory cannot be read.
        """
        try:
            found = os.stat(self.path)  # noqa: PTH116 - on the path of every call
        except FileNotFoundError:
            raise NotFoundError(f"there is no store at {self.url}; was it moved?") from None
        except OSError as error:
            raise self._unreachable(error) from error
        if self.read_only:
            written = found.st_size, found.st_mtime_ns, self._has_wal()
            return found.st_dev, found.st_ino, written
        return found.st_dev, found.st_ino

    def connect(self) -> apsw.Connection:
        """Open a connection to the store as it is.

        Raises:
            EngineError: the file is no store or cannot be opened.
            FormatVersionError: a newer version wrote it.
            ReadOnlyError: it cannot be written and shall be.
            CorruptObjectError: it is damaged.
            BusyError: another process kept it locked.
        """
        self._refuse_special_files()
        try:
            self._refuse_foreign_files()
            connection = self._open_for_reading() if self.read_only else self._open_for_writing()
        except apsw.Error as error:
            raise self.error(error) from error
        connection.pragma("cache_size", -CACHE_KIB)
        return connection

    def error(self, error: apsw.Error) -> MnemosyneError:
        """What an error of SQLite means here, and what to do about it."""
        said = f"{self.path}: {error}"
        match error:
            case apsw.BusyError() | apsw.LockedError():
                return BusyError(
                    f"{self.path} was kept locked by other writers for {self.busy_timeout:g} s; "
                    "try again"
                )
            case apsw.ReadOnlyError() | apsw.PermissionsError():
                return ReadOnlyError(
                    f"{said}; it cannot be written there: open it with read_only=True, "
                    "or give this user write access to the file and its directory"
                )
            case apsw.CorruptError() | apsw.NotADBError() | apsw.FormatError():
                return CorruptObjectError(
                    f"{said}; the file is damaged: restore it from a backup or a clone"
                )
            case apsw.FullError():
                return EngineError(f"{said}; free space on that disk and try again")
            case apsw.CantOpenError():
                return EngineError(
                    f"{said}; check that this user can read and write the file and its directory"
                )
            case _:
                return EngineError(f"{said}; check the disk and its free space")

    def _is_empty(self) -> bool:
        """Whether nothing is there, or a file without a byte."""
        try:
            found = Path(self.path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError as error:
            raise self._unreachable(error) from error
        return stat.S_ISREG(found.st_mode) and found.st_size == 0 and not self._has_wal()

    def _create(self) -> None:
        """Make an empty store, unless another process just did."""
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._cannot_make(error) from error
        try:
            connection = apsw.Connection(self.path)
            try:
                self._refuse_read_only(connection)
                self._initialise(connection)
            finally:
                connection.close()
        except apsw.CantOpenError as error:
            raise self._cannot_make(error) from error
        except apsw.Error as error:
            raise self.error(error) from error

    def _initialise(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(int(self.busy_timeout * 1000))
        connection.pragma("page_size", PAGE_BYTES)
        connection.execute("BEGIN EXCLUSIVE")
        try:
            if not rows(connection, "SELECT 1 FROM sqlite_schema LIMIT 1"):
                connection.pragma("application_id", int.from_bytes(APPLICATION, "big"))
                connection.pragma("user_version", FORMAT)
                connection.execute(SCHEMA)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _refuse_special_files(self) -> None:
        try:
            mode = Path(self.path).stat().st_mode
        except OSError as error:
            raise self._unreachable(error) from error
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "no regular file"
            raise EngineError(f"{self.path} is {kind}; a store is one file: name a file in it")

    def _refuse_foreign_files(self) -> None:
        """Look at the header without locking, recovering or changing anything."""
        flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
        file = apsw.VFSFile("", os.path.realpath(self.path), [flags, 0])
        try:
            header = file.xRead(min(file.xFileSize(), HEADER_BYTES), 0)
        finally:
            file.xClose()
        version = int.from_bytes(header[60:64], "big")
        if not header.startswith(b"SQLite format 3\0") or header[68:72] != APPLICATION:
            raise EngineError(
                f"{self.path} is no Mnemosyne store; name another file (this one is unchanged)"
            )
        if version != FORMAT:
            raise FormatVersionError(
                f"{self.url} has format {version}, and this version of Mnemosyne knows "
                f"{FORMAT}: upgrade Mnemosyne"
            )

    def _open_for_writing(self) -> apsw.Connection:
        connection = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            self._refuse_read_only(connection)
            connection.set_busy_timeout(int(self.busy_timeout * 1000))
            self._use_wal(connection)
            connection.pragma("synchronous", self.synchronous)
            connection.wal_autocheckpoint(WAL_PAGES)
            connection.pragma("journal_size_limit", WAL_BYTES_KEPT)
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_wal(self, connection: apsw.Connection) -> None:
        """Switch to write-ahead logging, for which SQLite does not wait by itself."""
        deadline = time.monotonic() + self.busy_timeout
        while True:
            try:
                mode = connection.pragma("journal_mode", "wal")
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_SECONDS)
                continue
            if mode != "wal":
                raise EngineError(
                    f"{self.path} lies on a file system without shared memory, which SQLite's "
                    "write-ahead log needs; put the store on a local disk"
                )
            return

    def _open_for_reading(self) -> apsw.Connection:
        connection = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(int(self.busy_timeout * 1000))
            rows(connection, "SELECT 1 FROM refs LIMIT 1")
        except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
            connection.close()
            if self._has_wal():
                raise EngineError(
                    f"{self.path} has writes in {self.path}-wal that cannot be read without write "
                    "access to the directory; open it once where it can be written"
                ) from error
            return self._open_unchanging()
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_unchanging(self) -> apsw.Connection:
        """Open a file in a directory where nothing can be written, hence no log can be made."""
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return apsw.Connection(f"{self._file_uri()}?immutable=1", flags=flags)

    def _refuse_read_only(self, connection: apsw.Connection) -> None:
        if connection.readonly("main"):
            raise ReadOnlyError(
                f"{self.path} cannot be written; open it with read_only=True, "
                "or give this user write access to the file and its directory"
            )

    def _has_wal(self) -> bool:
        try:
            return Path(self.path + "-wal").stat().st_size > 0
        except OSError:
            return False

    def _file_uri(self) -> str:
        return "file:" + quote(self.path.replace(os.sep, "/"), safe="/:")

    def _unreachable(self, error: OSError) -> MnemosyneError:
        if isinstance(error, FileNotFoundError):
            return NotFoundError(f"there is no store at {self.url}")
        return EngineError(f"{self.path} cannot be reached: {error.strerror}; check the path")

    def _cannot_make(self, error: OSError | apsw.Error) -> MnemosyneError:
        directory = Path(self.path).parent
        existing = next(above for above in (directory, *directory.parents) if above.exists())
        if not existing.is_dir():
            return EngineError(f"{self.path} cannot be made: {existing} is no directory")
        if not os.access(existing, os.W_OK):
            return ReadOnlyError(f"{self.path} cannot be made: {existing} cannot be written")
        return self.error(error) if isinstance(error, apsw.Error) else self._unreachable(error)

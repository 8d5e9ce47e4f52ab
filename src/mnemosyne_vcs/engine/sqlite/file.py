"""The file of a SQLite store: creating, recognising and opening it, and its errors.

The format of the file is told by its `application_id` and `user_version`, which SQLite keeps in the
header. That is read through SQLite's file layer and never by opening the file beside it, because
closing any descriptor of a file drops the locks that the process holds on it.
"""

# pyright: reportUnknownMemberType=false
# (apsw describes its arguments with collections.abc.Buffer, which Python 3.11 does not have)

import os
import secrets
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from mnemosyne_vcs.engine.sqlite.log import (
    HEADER_BYTES,
    Log,
    Stamp,
    is_log_of,
    log_there,
    new_cookie,
    read_beginning,
)
from mnemosyne_vcs.engine.sqlite.messages import explain
from mnemosyne_vcs.engine.sqlite.reading import Still, has_frames, open_file, open_for_reading
from mnemosyne_vcs.engine.sqlite.statements import (
    FIRST_FORMAT,
    FORMAT,
    SCHEMA,
    allow_deletion,
    copy_into,
    is_moved,
    make_distinct,
    rows,
)
from mnemosyne_vcs.errors import (
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
PAGE_BYTES = 2048
CACHE_KIB = 16384
WAL_PAGES = 4096
"""Pages in the write-ahead log at which they are moved to the file: one commit in some hundreds."""
WAL_BYTES_KEPT = 10 << 20
"""More than those pages take, so that the log is written over and over and does not grow anew."""
POLL_SECONDS = 0.005
LOOKS_AT_LOG = 10


@dataclass(slots=True)
class StoreFile:
    """One file that is, or will become, a store.

    Attributes:
        path: its absolute path.
        url: the URL that names it.
        read_only: open it for reading only.
        synchronous: SQLite's `synchronous` level, "FULL" or "NORMAL".
        busy_timeout: seconds to wait for other processes.
        real: the path with links followed, which is where SQLite keeps the log.
    """

    path: str
    url: str
    read_only: bool
    synchronous: str
    busy_timeout: float
    real: str = field(init=False)
    _found: tuple[int, int] = field(init=False, default=(0, 0))

    def __post_init__(self) -> None:
        self.real = os.path.realpath(self.path)

    def require(self, *, create: bool) -> None:
        """Check that the file exists, or create the store.

        Raises:
            NotFoundError: it does not exist, and must not or cannot be created.
            CorruptObjectError: the file is empty, and must not be made a store.
            ReadOnlyError: it cannot be created in its directory.
            BusyError: another process kept it locked.
            EngineError: it cannot be created, or its directory cannot be read.
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

    def stamp(self) -> Stamp:
        """Which file is there now, and which log, as something that changes when one is replaced.

        A file for reading only may have been opened as one that never changes, so that every
        change of it counts.

        Raises:
            NotFoundError: it does not exist.
            EngineError: its directory cannot be read.
        """
        try:
            found = os.stat(self.path)  # noqa: PTH116 - on the path of every call
        except FileNotFoundError:
            raise NotFoundError(f"there is no store at {self.url}; was it moved?") from None
        except OSError as error:
            raise self._unreachable(error) from error
        file = found.st_dev, found.st_ino
        if file != self._found:
            self.real = os.path.realpath(self.path)
            self._found = file
        if not self.read_only:
            return Stamp(file, log_there(self.real))
        return Stamp(
            file, log_there(self.real), (found.st_size, found.st_mtime_ns, has_frames(self.real))
        )

    def connect(self) -> tuple[apsw.Connection, Stamp]:
        """Open a connection to the store as it is.

        Returns:
            The connection, and the file and log that it has open.

        Raises:
            EngineError: the file is not a store or cannot be opened, or the log is another file's.
            FormatVersionError: a newer version wrote it.
            ReadOnlyError: it cannot be written, and must be.
            CorruptObjectError: it is damaged.
            BusyError: another process kept it locked.
        """
        deadline = time.monotonic() + self.busy_timeout
        while True:
            self._found = (0, 0)
            before = self.stamp()
            self._refuse_special_files()
            try:
                self._refuse_foreign_files()
                connection = self._open()
            except apsw.Error as error:
                raise self.error(error) from error
            log = None if isinstance(connection, Still) else log_there(self.real)
            if self.stamp().file == before.file and self._was_open(before.log, log, connection):
                connection.pragma("cache_size", -CACHE_KIB)
                return connection, before._replace(log=log)
            self.close(connection, None)
            if time.monotonic() > deadline:
                raise BusyError(f"{self.path} was replaced over and over; try again")

    def _open(self) -> apsw.Connection:
        if self.read_only:
            return open_for_reading(self.real, self.busy_timeout)
        return self._open_for_writing()

    def _was_open(self, before: Log | None, after: Log | None, connection: apsw.Connection) -> bool:
        """Whether the log that is there after a connection was opened is the one that it opened."""
        if isinstance(connection, Still):
            return True
        if after is None:
            return self.read_only and before is None
        return before is None or before[0] == after[0]

    def close(self, connection: apsw.Connection, stamp: Stamp | None) -> None:
        """Close a connection, and leave the file alone unless it is the one that was opened.

        Without that, the last one to close would move a log that was replaced to the file, and
        delete the log that is there now.

        Args:
            connection: what `connect` gave.
            stamp: the file and log that it has open.
        """
        if stamp is None or stamp.log != log_there(self.real):
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close()

    def keep_lost(self, connection: apsw.Connection) -> None:
        """Copy the store as a connection has it whose log was removed, if that held more.

        Args:
            connection: what has the log open that is not there any more.

        Raises:
            EngineError: commits in that log are not in the file; it says where the copy is.
        """
        if self.read_only:
            return
        if is_moved(connection):
            return
        copy = f"{self.real}.{secrets.token_hex(4)}.kept"
        said = (
            f"another program removed {self.real}-wal while it was in use, and with it commits "
            f"that are not in {self.path} now"
        )
        try:
            mode = stat.S_IMODE(Path(self.real).stat().st_mode)
            os.close(os.open(copy, os.O_CREAT | os.O_EXCL, mode))
            copy_into(connection, copy)
            make_distinct(copy)
        except (apsw.Error, OSError) as error:
            Path(copy).unlink(missing_ok=True)
            raise EngineError(f"{said}; they could not be kept: {error}") from error
        raise EngineError(
            f"{said}; {copy} has them: check it with `mnem -s {copy} verify`, then bring them back "
            f"with `mnem -s {self.path} pull {copy}`"
        )

    def error(self, error: apsw.Error) -> MnemosyneError:
        """The error to raise in place of one of SQLite's."""
        return explain(error, self.real, self.busy_timeout)

    def _is_empty(self) -> bool:
        """Whether the file does not exist, or is empty.

        Raises:
            EngineError: that cannot be read, or there is a log without its file.
        """
        left = has_frames(self.real)
        try:
            found = Path(self.path).stat()
        except (FileNotFoundError, NotADirectoryError):
            empty = True
        except OSError as error:
            raise self._unreachable(error) from error
        else:
            empty = stat.S_ISREG(found.st_mode) and found.st_size == 0
        if empty and left:
            raise EngineError(
                f"{self.real}-wal is there without its store, which may need it: move it to where "
                f"{self.path} is now, or delete it if that is gone for good"
            )
        return empty

    def _create(self) -> None:
        """Create an empty store, unless another process just did."""
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._cannot_make(error) from error
        is_new = not os.path.lexists(self.path)
        try:
            connection = apsw.Connection(self.path)
            try:
                self._refuse_read_only(connection)
                self._initialise(connection)
            finally:
                connection.close()
        except apsw.CantOpenError as error:
            raise self._cannot_make(error) from error
        except (apsw.FullError, apsw.IOError) as error:
            if is_new and Path(self.path).stat().st_size == 0:
                Path(self.path).unlink()
            raise self.error(error) from error
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
                connection.pragma("schema_version", new_cookie())
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
        """Check the header without locking, recovering or changing anything."""
        header = self._header()
        version = int.from_bytes(header[60:64], "big")
        if not header.startswith(b"SQLite format 3\0") or header[68:72] != APPLICATION:
            raise EngineError(
                f"{self.path} is not a Mnemosyne store; name another file (this one is unchanged)"
            )
        if not FIRST_FORMAT <= version <= FORMAT:
            raise FormatVersionError(
                f"{self.url} has format {version}, and this version of Mnemosyne knows "
                f"{FORMAT}: upgrade Mnemosyne"
            )
        if not self._has_own_log():
            raise EngineError(
                f"{self.real}-wal is not the log of {self.path}, which was put in the place of "
                "another file, as if a backup had been copied over a store without deleting its "
                f"log. If so, and no program uses the store, delete {self.real}-wal and "
                f"{self.real}-shm; if not, keep all three files: the log may hold commits"
            )

    def _has_own_log(self) -> bool:
        """Whether the log belongs to the file; one that is begun anew meanwhile is in use."""
        for _ in range(LOOKS_AT_LOG):
            try:
                began = read_beginning(self.real)
                header = self._header()
                if is_log_of(self.real, header):
                    return True
                if began == read_beginning(self.real):
                    return False
            except OSError as error:
                raise EngineError(
                    f"{self.real}-wal cannot be read: {error.strerror}; check that this user may"
                ) from error
        return True

    def _header(self) -> bytes:
        file = open_file(self.real)
        try:
            return file.xRead(min(file.xFileSize(), HEADER_BYTES), 0)
        finally:
            file.xClose()

    def _open_for_writing(self) -> apsw.Connection:
        connection = apsw.Connection(self.real, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            self._refuse_read_only(connection)
            connection.set_busy_timeout(int(self.busy_timeout * 1000))
            self._use_wal(connection)
            connection.pragma("synchronous", self.synchronous)
            connection.wal_autocheckpoint(WAL_PAGES)
            connection.pragma("journal_size_limit", WAL_BYTES_KEPT)
            connection.pragma("secure_delete", True)
            allow_deletion(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_wal(self, connection: apsw.Connection) -> None:
        """Switch to write-ahead logging, for which SQLite itself does not wait."""
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

    def _refuse_read_only(self, connection: apsw.Connection) -> None:
        if connection.readonly("main"):
            raise ReadOnlyError(
                f"{self.path} cannot be written; open it with read_only=True, "
                "or give this user write access to the file and its directory"
            )

    def _unreachable(self, error: OSError) -> MnemosyneError:
        if isinstance(error, FileNotFoundError):
            return NotFoundError(f"there is no store at {self.url}")
        return EngineError(f"{self.path} cannot be reached: {error.strerror}; check the path")

    def _cannot_make(self, error: OSError | apsw.Error) -> MnemosyneError:
        directory = Path(self.path).parent
        existing = next(above for above in (directory, *directory.parents) if above.exists())
        if not existing.is_dir():
            return EngineError(f"{self.path} cannot be created: {existing} is not a directory")
        if not os.access(existing, os.W_OK):
            return ReadOnlyError(f"{self.path} cannot be made: {existing} cannot be written")
        return self.error(error) if isinstance(error, apsw.Error) else self._unreachable(error)

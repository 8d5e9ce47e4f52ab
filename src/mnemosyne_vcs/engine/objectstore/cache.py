"""The cache of blocks that were read from the bucket: in memory, and optionally in a directory.

A block never changes, so the cache is never stale. The engine must know whether a block is still
part of the store before it looks here.
"""

# pyright: reportUnknownMemberType=false
# (apsw describes its arguments with collections.abc.Buffer, which Python 3.11 does not have)

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from threading import Lock

import apsw

from mnemosyne_vcs.errors import CorruptObjectError, EngineError
from mnemosyne_vcs.format.objects import check_id
from mnemosyne_vcs.ids import Id

__all__ = ["BlockCache", "DiskCache"]

VARIABLES = 500
BUSY_MILLISECONDS = 1000
_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS blocks (n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, data BLOB);
"""
_INSERT = "INSERT OR IGNORE INTO blocks (id, data) VALUES (?, ?)"
_SIZE = """
SELECT (page_count - freelist_count) * page_size
FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""
_EVICT = """
DELETE FROM blocks WHERE n <= (SELECT min(n) + (max(n) - min(n)) / 8 FROM blocks)
"""


class DiskCache:
    """Blocks in a directory, which any number of processes and repositories may share.

    It is a SQLite file without care for durability. Bytes are compared with their ids; damaged
    blocks count as absent, and so does everything while another process writes.

    Args:
        directory: the directory; created if it does not exist.
        budget: how many bytes the file may take; the oldest blocks are removed first.

    Raises:
        EngineError: the directory cannot be used.
    """

    def __init__(self, directory: str, budget: int) -> None:
        self._path = Path(directory) / "blocks.sqlite"
        self._budget = budget
        self._lock = Lock()
        self._connection: apsw.Connection | None = None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._open()
        except (OSError, apsw.Error) as error:
            raise EngineError(
                f"{directory} cannot hold a cache: {error}; name another directory, or none"
            ) from error

    def get(self, ids: Collection[Id]) -> dict[Id, bytes]:
        """The blocks that are there and undamaged."""
        wanted = list(ids)
        found: dict[Id, bytes] = {}

        def look(connection: apsw.Connection) -> None:
            for start in range(0, len(wanted), VARIABLES):
                part = wanted[start : start + VARIABLES]
                marks = ",".join("?" * len(part))
                query = f"SELECT id, data FROM blocks WHERE id IN ({marks})"
                found.update(each for each in connection.execute(query, part) if _is_sound(*each))

        self._use(look)
        return found

    def put(self, blocks: Mapping[Id, bytes]) -> None:
        """Store blocks, replacing the oldest ones."""

        def store(connection: apsw.Connection) -> None:
            with connection:
                connection.executemany(_INSERT, blocks.items())
                if connection.execute(_SIZE).get > self._budget:
                    connection.execute(_EVICT)

        self._use(store)

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            self._close()

    def _use(self, work: Callable[[apsw.Connection], None]) -> None:
        """Use the file in this thread alone. If that fails, the file counts as empty."""
        with self._lock:
            try:
                work(self._open())
            except (apsw.CorruptError, apsw.NotADBError):
                self._close()
                for suffix in ("", "-wal", "-shm"):
                    Path(f"{self._path}{suffix}").unlink(missing_ok=True)
            except (apsw.BusyError, apsw.FullError, apsw.IOError):
                self._close()
            except BaseException:
                self._close()
                raise

    def _open(self) -> apsw.Connection:
        if self._connection is None:
            connection = apsw.Connection(str(self._path))
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            connection.execute(_SCHEMA).fetchall()
            self._connection = connection
        return self._connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class BlockCache:
    """The most recently used blocks, up to a size. Safe for use by many threads at once.

    Args:
        budget: how many bytes of blocks to keep in memory.
        disk: the cache on disk, if any.
    """

    def __init__(self, budget: int, disk: DiskCache | None = None) -> None:
        self._budget = budget
        self._disk = disk
        self._size = 0
        self._blocks: OrderedDict[Id, bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, ids: Collection[Id]) -> dict[Id, bytes]:
        """The blocks that are kept."""
        found: dict[Id, bytes] = {}
        with self._lock:
            for block in ids:
                data = self._blocks.get(block)
                if data is not None:
                    self._blocks.move_to_end(block)
                    found[block] = data
        if self._disk is not None and len(found) < len(ids):
            on_disk = self._disk.get([block for block in ids if block not in found])
            self.keep(on_disk)
            found.update(on_disk)
        return found

    def keep(self, blocks: Mapping[Id, bytes]) -> None:
        """Keep blocks in memory, replacing the least recently used ones."""
        with self._lock:
            for block, data in blocks.items():
                more = len(data) - len(self._blocks.get(block, b""))
                self._blocks[block] = data
                self._size += more  # directly after, so that no interrupt comes between
                self._blocks.move_to_end(block)
            while self._size > self._budget:
                oldest = next(iter(self._blocks))
                less = len(self._blocks[oldest])
                del self._blocks[oldest]
                self._size -= less

    def put(self, blocks: Mapping[Id, bytes]) -> None:
        """Store blocks that were read from the bucket."""
        self.keep(blocks)
        if self._disk is not None:
            self._disk.put(blocks)

    def close(self) -> None:
        """Close the cache on disk; a later call opens it again."""
        if self._disk is not None:
            self._disk.close()


def _is_sound(block: Id, data: bytes) -> bool:
    try:
        check_id(block, data)
    except CorruptObjectError:
        return False
    return True

"""Append-only lists that do not fit into the manifest: sealed segments, and the newest rows.

Rows are added to the newest ones, which the manifest holds. When these are many, they become a
segment, an object that never changes; when there are many segments of similar size, they become
one. So n rows are in O(log n) segments, each row is rewritten O(log n) times, and a reader that
knows the first rows of a log reads only the segments of the others. (The scheme is that of
log-structured merge trees.)
"""

import hashlib
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import RLock
from typing import Any, Generic, TypeAlias, TypeVar, cast

import libipld

from mnemosyne_vcs.engine.objectstore.bucket import Bucket
from mnemosyne_vcs.errors import BusyError, CorruptObjectError
from mnemosyne_vcs.interrupts import guarded, locked

__all__ = ["FOLDER", "Log", "LogCache", "Row", "Segment", "Segments"]

T = TypeVar("T")
Row: TypeAlias = list[Any]
FOLDER = "logs"
RECENT_BYTES = 8192
FAN = 8
DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows of a log that are stored as an object.

    Attributes:
        name: its name in its folder.
        rows: how many.
        size: its bytes.
    """

    name: str
    rows: int
    size: int


@dataclass(frozen=True, slots=True)
class Log:
    """A list that grows at its end.

    Attributes:
        epoch: a random text, changed when rows change otherwise than by being appended.
        sealed: the segments, in order.
        recent: the rows after them.
    """

    epoch: str
    sealed: tuple[Segment, ...] = ()
    recent: tuple[Row, ...] = ()

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(segment.rows for segment in self.sealed) + len(self.recent)

    def with_rows(self, rows: Sequence[Row]) -> "Log":
        """The log with more rows at its end."""
        return Log(self.epoch, self.sealed, (*self.recent, *rows)) if rows else self


class Segments:
    """The segments of a repository's logs.

    Args:
        bucket: the bucket.
        url: the store, for messages.
    """

    def __init__(self, bucket: Bucket, url: str) -> None:
        self._bucket = bucket
        self._url = url

    def rows(self, log: Log, after: int = 0) -> Iterator[Row]:
        """The rows of a log, in order.

        Args:
            log: the log.
            after: how many rows at its beginning to skip; their segments are not read.

        Raises:
            NotFoundError: a segment is gone; the log was rewritten meanwhile.
            CorruptObjectError: a segment is damaged.
            EngineError: the store failed.
        """
        for segment in log.sealed:
            if after < segment.rows:
                yield from islice(self._read(segment), after, None)
            after = max(0, after - segment.rows)
        yield from islice(log.recent, after, None)

    def compacted(self, log: Log) -> Log:
        """The log with its newest rows sealed, and small segments merged, if there are many.

        Raises:
            MnemosyneError: as `rows` raises.
        """
        if len(libipld.encode_dag_cbor(list(log.recent))) <= RECENT_BYTES:
            return log
        sealed = [*log.sealed, self._write(log.recent)]
        while count := _mergeable(sealed):
            merged = Log(log.epoch, tuple(sealed[-count:]))
            sealed[-count:] = [self._write(list(self.rows(merged)))]
        return Log(log.epoch, tuple(sealed))

    def _read(self, segment: Segment) -> list[Row]:
        data = self._bucket.get(f"{FOLDER}/{segment.name}")
        digest, body = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            raise CorruptObjectError(
                f"{self._url}: {FOLDER}/{segment.name} is damaged; restore an older version of it, "
                "or clone the repository from elsewhere"
            )
        return cast("list[Row]", libipld.decode_dag_cbor(body))

    def _write(self, rows: Sequence[Row]) -> Segment:
        body = libipld.encode_dag_cbor(list(rows))
        name = os.urandom(16).hex()
        self._bucket.put(f"{FOLDER}/{name}", hashlib.sha256(body).digest() + body)
        return Segment(name, len(rows), DIGEST_BYTES + len(body))


def _mergeable(segments: Sequence[Segment]) -> int:
    """How many of the last segments to merge: `FAN` or more of which none outweighs the others.

    So a row that is rewritten is then in a segment at least twice as large.
    """
    sizes = [segment.size for segment in segments]
    return next(
        (n for n in range(len(sizes), FAN - 1, -1) if sum(sizes[-n:]) >= 2 * max(sizes[-n:])), 0
    )


class LogCache(Generic[T]):
    """A value computed from the rows of a log, updated as the log grows.

    Args:
        segments: the segments of the log.
        make: gives the value of an empty log.
        add: adds rows to a value.
        patience: seconds that a thread waits for another one that uses the value.
        busy: the error after that.
    """

    def __init__(
        self,
        segments: Segments,
        make: Callable[[], T],
        add: Callable[[T, Iterator[Row]], object],
        patience: float,
        busy: Callable[[], BusyError],
    ) -> None:
        self._segments = segments
        self._make = make
        self._add = add
        self._patience = patience
        self._busy = busy
        self._lock = RLock()
        self._epoch, self._count, self._value = "", 0, make()

    @guarded
    def at(self, log: Log) -> Generator[T]:
        """The value of a log or of a longer one, for this thread alone until the context is left.

        Raises:
            BusyError: another thread has had it for too long.
            MnemosyneError: as `Segments.rows` raises.
        """
        with locked(self._lock, self._patience, self._busy):
            if log.epoch != self._epoch:
                self._epoch, self._count, self._value = log.epoch, 0, self._make()
            if log.count > self._count:
                rows = list(self._segments.rows(log, self._count))
                self._epoch = ""  # an interrupt leaves a partial value, which cannot be used
                self._add(self._value, iter(rows))
                self._epoch, self._count = log.epoch, log.count
            yield self._value

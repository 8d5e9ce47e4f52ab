"""Plain durable writes and reads on the same servers: what the engines are measured against.

A write stores some bytes as one value under a new key, and returns once they are durable. Nothing
is encoded, hashed, compressed, indexed by content or made conditional on anything else.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Raw(Protocol):
    """One client of a server. ``writes`` has each way to write, by the name of its measure."""

    writes: Mapping[str, Callable[[bytes], object]]

    def read(self) -> bytes:
        """One of the values that were written."""
        ...

    def close(self) -> None: ...


class RawSqlite:
    """One INSERT into a file in WAL mode with ``synchronous=FULL``, which commits by itself."""

    def __init__(self, path: str) -> None:
        import apsw

        self._connection = apsw.Connection(path)
        self._connection.execute("PRAGMA journal_mode = wal")
        self._connection.execute("PRAGMA synchronous = full")
        self._connection.execute("DROP TABLE IF EXISTS raw")
        self._connection.execute("CREATE TABLE raw (id INTEGER PRIMARY KEY, data BLOB NOT NULL)")
        self.writes = {"raw_write": self._write}
        self._count = self._last = 0

    def read(self) -> bytes:
        self._last = self._last % self._count + 1
        found = self._connection.execute("SELECT data FROM raw WHERE id = ?", (self._last,))
        return found.fetchall()[0][0]

    def close(self) -> None:
        self._connection.close()

    def _write(self, data: bytes) -> None:
        self._count += 1
        self._connection.execute("INSERT INTO raw VALUES (?, ?)", (self._count, data))


class RawPostgres:
    """One INSERT that commits by itself, in one round trip; or INSERT and COMMIT, as psycopg sends
    them by default, also after a look at half as many bytes, which are about those of a record and
    its vector. The values are not compressed."""

    def __init__(self, dsn: str) -> None:
        import psycopg

        self._alone = psycopg.connect(dsn, autocommit=True)
        self._in_steps = psycopg.connect(dsn)
        self._alone.execute("DROP TABLE IF EXISTS raw")
        self._alone.execute("CREATE TABLE raw (id integer PRIMARY KEY, data bytea NOT NULL)")
        self._alone.execute("ALTER TABLE raw ALTER data SET STORAGE EXTERNAL")
        self.writes = {
            "raw_write": self._write,
            "raw_insert_commit": self._insert_commit,
            "raw_select_insert_commit": self._select_insert_commit,
        }
        self._count = self._last = 0

    def read(self) -> bytes:
        self._last = self._last % self._count + 1
        query = "SELECT data FROM raw WHERE id = %s"
        return self._alone.execute(query, (self._last,), binary=True).fetchall()[0][0]

    def close(self) -> None:
        self._alone.close()
        self._in_steps.close()

    def _write(self, data: bytes) -> None:
        self._count += 1
        self._alone.execute("INSERT INTO raw VALUES (%s, %s)", (self._count, data))

    def _insert_commit(self, data: bytes) -> None:
        self._count += 1
        self._in_steps.execute("INSERT INTO raw VALUES (%s, %s)", (self._count, data))
        self._in_steps.commit()

    def _select_insert_commit(self, data: bytes) -> None:
        query = "SELECT substring(data FOR %s) FROM raw WHERE id = %s"
        self._alone.execute(query, (len(data) // 2, self._count), binary=True).fetchall()
        self._insert_commit(data)


class RawObjects:
    """One PUT of a new object on condition that there is none of that name."""

    def __init__(self, bucket: str, endpoint: str) -> None:
        from obstore.store import S3Store

        options = {"allow_http": True}
        config = {"endpoint": endpoint}
        self._store = S3Store(bucket, config=config, client_options=options)
        self._folder = f"raw-{uuid.uuid4().hex}"
        self.writes = {"raw_write": self._write}
        self._count = self._last = 0

    def read(self) -> bytes:
        self._last = self._last % self._count + 1
        return bytes(self._store.get(f"{self._folder}/{self._last}").bytes())

    def close(self) -> None:
        """Connections end by themselves."""

    def _write(self, data: bytes) -> None:
        self._count += 1
        name = f"{self._folder}/{self._count}"
        self._store.put(name, data, mode="create", use_multipart=False)

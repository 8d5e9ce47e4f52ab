"""Where the engines are measured: a directory, and the servers that the tests start."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.engines.raw import Raw, RawObjects, RawPostgres, RawSqlite

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from contextlib import ExitStack
    from pathlib import Path

SQLITE, POSTGRES, OBJECTS = "sqlite", "postgresql", "objectstore"
ENGINES = (SQLITE, POSTGRES, OBJECTS)
APART = "postgresql, apart"
TITLES = {
    SQLITE: "SQLite",
    POSTGRES: "PostgreSQL",
    APART: "PostgreSQL, apart",
    OBJECTS: "object store",
}
_DATABASE, _LOOPBACK = "mnemosyne", "127.0.0.1"


@dataclass(frozen=True)
class Site:
    """One engine and where its stores are.

    ``place`` is a directory, a user or a bucket, ``process`` what can be kept to some cores.
    """

    engine: str
    place: str
    port: int = 0
    process: int | None = None

    def url(self, repository: str) -> str:
        """The URL of a repository of that name."""
        if self.engine == SQLITE:
            return f"{self.place}/{repository}.mnem"
        if self.engine == POSTGRES:
            return f"{self._dsn}?repository={repository}"
        return f"s3://{self.place}/{repository}?endpoint={self._endpoint}"

    def raw(self) -> Raw:
        """Plain access to the same disk or server."""
        if self.engine == SQLITE:
            return RawSqlite(f"{self.place}/raw.db")
        if self.engine == POSTGRES:
            return RawPostgres(self._dsn)
        return RawObjects(self.place, self._endpoint)

    def settle(self) -> None:
        """Write to the disk what waits for it, so that what comes next does not wait for that."""
        if self.engine == POSTGRES:
            import psycopg

            with psycopg.connect(self._dsn, autocommit=True) as connection:
                connection.execute("CHECKPOINT")
        os.sync()

    @contextmanager
    def metered(self) -> Iterator[tuple[Site, list[int]]]:
        """The site by way of a proxy, and what has passed that: bytes to the server and back."""
        passed = [0, 0]
        if not self.port:
            yield self, passed
            return
        from tests.support.postgres.proxy import Proxy

        proxy = Proxy(self.port)
        try:
            yield replace(self, port=proxy.port), passed
            passed[:] = proxy.sent, proxy.received
        finally:
            proxy.close()

    @property
    def _dsn(self) -> str:
        return f"postgresql://{self.place}@{_LOOPBACK}:{self.port}/{_DATABASE}"

    @property
    def _endpoint(self) -> str:
        return f"http://{_LOOPBACK}:{self.port}"


def admit() -> None:
    """Put what clients of all servers need to get in where processes that begin later find it."""
    with suppress(ImportError):
        from tests.support.postgres.server import PASSWORD

        os.environ["PGPASSWORD"] = PASSWORD
    with suppress(ImportError):
        from tests.support.objectstore.server import ENVIRONMENT

        os.environ.update(ENVIRONMENT)


def start(
    stack: ExitStack, directory: Path, engines: Collection[str]
) -> tuple[list[Site], dict[str, str]]:
    """Start servers, which end with the stack; gives the sites, and why any are missing."""
    found: list[Site] = []
    missing: dict[str, str] = {}
    for engine in engines:
        try:
            found.append(_STARTS[engine](stack, directory))
        except ImportError as error:
            missing[engine] = f"{type(error).__name__}: {error}"
    return found, missing


def _start_sqlite(stack: ExitStack, directory: Path) -> Site:
    (directory / SQLITE).mkdir(exist_ok=True)
    return Site(SQLITE, str(directory / SQLITE))


def _start_postgres(stack: ExitStack, directory: Path) -> Site:
    from tests.support.postgres.server import Server

    server = Server(shared_buffers="128MB", autovacuum="on")
    server.start()
    stack.callback(server.remove)
    server.execute("postgres", f"CREATE DATABASE {_DATABASE}")
    return Site(POSTGRES, "postgres", server.port, server.process_id)


def _start_objects(stack: ExitStack, directory: Path) -> Site:
    from tests.support.objectstore.server import BUCKET, SeaweedFS

    store = SeaweedFS()
    stack.callback(store.remove)
    return Site(OBJECTS, BUCKET, store.port)


_STARTS = {SQLITE: _start_sqlite, POSTGRES: _start_postgres, OBJECTS: _start_objects}

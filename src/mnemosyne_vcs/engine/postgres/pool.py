"""Connections to one PostgreSQL server, each lent to one thread at a time.

Nothing that a transaction relies on is kept in a session, so that a pooler between may give each
one another. A forked child leaves its parent's connections alone and makes its own.
"""

import logging
import os
import select
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from mnemosyne_vcs.engine.postgres.connection import Connection
from mnemosyne_vcs.engine.postgres.errors import connection_error, engine_error
from mnemosyne_vcs.engine.postgres.url import PostgresUrl
from mnemosyne_vcs.errors import BusyError, EngineError, MnemosyneError, ValidationError
from mnemosyne_vcs.forks import renew_after_fork

__all__ = ["Connections"]

T = TypeVar("T")
MAX_CONNECTIONS = 8
LEAST_PATIENCE = 10.0
_DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "tcp_user_timeout": "30000",
    "client_encoding": "utf8",
    "application_name": "mnemosyne",
}

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # else it prints warnings

_of_parent: list[object] = []
"""Pools that a forked child inherited; kept, because to close them is the parent's to do."""


class Connections:
    """The connections to one server.

    Args:
        url: where it is.
        busy_timeout: seconds to wait for a connection; no less than it takes to make one.

    Raises:
        ValidationError: libpq does not understand the URL.
    """

    def __init__(self, url: PostgresUrl, busy_timeout: float) -> None:
        self._shown = url.canonical
        self._patience = max(busy_timeout, LEAST_PATIENCE)
        try:
            self._conninfo = make_conninfo("", **{**_DEFAULTS, **conninfo_to_dict(url.dsn)})
        except psycopg.Error as error:
            said = " ".join(str(error).split())
            raise ValidationError(
                f"{self._shown!r} is no PostgreSQL URL: {said}; correct that part of it"
            ) from None
        self._pool: ConnectionPool[Connection] | None = None
        self._lock = Lock()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin anew in a forked child."""
        if self._pool is not None:
            _of_parent.append(self._pool)
        self._pool = None
        self._lock = Lock()

    def connect(self) -> Connection:
        """A connection outside the pool, for the caller to close.

        Raises:
            NotFoundError: there is no such database.
            ValidationError: a parameter of the URL has a value that libpq does not know.
            BusyError: the server takes no more connections.
            EngineError: the server is out of reach, or refused.
        """
        try:
            return Connection.connect(self._conninfo, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            raise connection_error(self._shown, error) from error

    @contextmanager
    def lend(self) -> Generator[Connection]:
        """A connection for this thread alone, in autocommit mode, until the context is left.

        Raises:
            MnemosyneError: as `connect` raises; BusyError too if all stayed lent.
        """
        process, (pool, connection) = os.getpid(), self._take()
        try:
            yield connection
        finally:
            if os.getpid() == process:
                pool.putconn(connection)
            else:
                _of_parent.append(connection)

    def ask(self, question: Callable[[Connection], T]) -> T:
        """What a function that changes nothing finds; asked again if the connection is lost.

        Raises:
            MnemosyneError: as `lend` raises, or for what the server answers.
        """
        try:
            try:
                return self._ask(question)
            except psycopg.Error as error:
                if not _is_lost(error):
                    raise
            return self._ask(question)
        except psycopg.Error as error:
            raise engine_error(self._shown, error) from error

    def close(self) -> None:
        """Close the connections that are not lent, and those that are once they come back."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _ask(self, question: Callable[[Connection], T]) -> T:
        with self.lend() as connection:
            return question(connection)

    def _take(self) -> tuple[ConnectionPool[Connection], Connection]:
        while True:
            pool = self._opened()
            try:
                connection = pool.getconn(self._patience)
            except PoolTimeout:
                raise self._unavailable() from None
            except PoolClosed:
                continue
            if _is_alive(connection):
                return pool, connection
            pool.putconn(connection)

    def _opened(self) -> ConnectionPool[Connection]:
        with self._lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    self._conninfo,
                    connection_class=Connection,
                    configure=Connection.look_for_pooler,
                    kwargs={"autocommit": True, "prepare_threshold": None},
                    min_size=0,
                    max_size=MAX_CONNECTIONS,
                    reconnect_timeout=self._patience,
                    open=True,
                )
            return self._pool

    def _unavailable(self) -> MnemosyneError:
        """Why no connection could be had: the server's reason, or the other threads."""
        try:
            self.connect().close()
        except EngineError as error:
            return error
        return BusyError(
            f"other threads have kept all {MAX_CONNECTIONS} connections to {self._shown} for "
            f"{self._patience:g} s; try again"
        )


def _is_alive(connection: Connection) -> bool:
    """Whether an idle connection still stands; the server is asked only if it has said something.

    One that the server has closed has its farewell waiting to be read.
    """
    if not _has_news(connection.fileno()):
        return True
    try:
        connection.execute("")
    except psycopg.OperationalError:
        return False
    return True


def _has_news(socket: int) -> bool:
    """Whether anything, if only the end, can be read from a socket at once."""
    if not hasattr(select, "poll"):
        return bool(select.select([socket], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))


def _is_lost(error: psycopg.Error) -> bool:
    """Whether it was the connection that failed, and not what was asked."""
    lost = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return lost and (error.sqlstate or "08").startswith(("08", "57P"))

"""Connections to one PostgreSQL server, each lent to one thread at a time.

No transaction depends on the state of a session, so a pooler may give each another one. A forked
child leaves its parent's connections alone and makes its own. An interrupt at any instant gives a
connection back, or closes it where something was under way (see `interrupts`).
"""

import logging
import os
import random
import select
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mnemosyne_vcs.engine.postgres.connection import Connection
from mnemosyne_vcs.engine.postgres.errors import connection_error, engine_error, is_passing
from mnemosyne_vcs.engine.postgres.url import PostgresUrl
from mnemosyne_vcs.errors import BusyError, MnemosyneError, ValidationError
from mnemosyne_vcs.forks import renew_after_fork
from mnemosyne_vcs.interrupts import guarded, noted

__all__ = ["Connections"]

T = TypeVar("T")
MAX_CONNECTIONS = 8
MAX_IDLE = 600.0
LEAST_PATIENCE = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
_DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "tcp_user_timeout": "30000",
    "application_name": "mnemosyne",
}
_REQUIRED = {"client_encoding": "utf8"}

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # else it prints warnings

_of_parent: list[Connection] = []
"""Connections that a forked child inherited; kept open, because only the parent may close them."""


class Connections:
    """The connections to one server.

    Args:
        url: the URL.
        busy_timeout: seconds to wait for a connection; no less than it takes to make one.

    Raises:
        ValidationError: libpq does not understand the URL.
    """

    def __init__(self, url: PostgresUrl, busy_timeout: float) -> None:
        self._shown = url.canonical
        self._patience = max(busy_timeout, LEAST_PATIENCE)
        try:
            asked = conninfo_to_dict(url.dsn)
            self._conninfo = make_conninfo("", **{**_DEFAULTS, **asked, **_REQUIRED})
        except psycopg.Error as error:
            said = " ".join(str(error).split())
            raise ValidationError(
                f"{self._shown!r} is not a valid PostgreSQL URL: {said}; correct that part of it"
            ) from None
        self._idle: deque[Connection] = deque()
        self._begin_anew()
        renew_after_fork(self)

    def _begin_anew(self) -> None:
        self._process = os.getpid()
        self._permits = _permits(MAX_CONNECTIONS)
        self._idle = deque[Connection]()

    def renew(self) -> None:
        """Start empty in a forked child."""
        _of_parent.extend(self._idle)
        self._begin_anew()

    def connect(self) -> Connection:
        """A connection outside the pool, for the caller to close.

        Raises:
            NotFoundError: the database does not exist.
            ValidationError: a parameter of the URL has a value that libpq does not know.
            BusyError: the server takes no more connections.
            EngineError: the server is out of reach, or refused.
        """
        try:
            connection = Connection.connect(self._conninfo, autocommit=True)
            try:
                connection.settle()
            except BaseException:
                connection.close()
                raise
        except psycopg.Error as error:
            raise connection_error(self._shown, error) from error
        return connection

    @guarded
    def lend(self) -> Generator[Connection]:
        """A connection for this thread alone, in autocommit mode, until the context is left.

        Raises:
            BusyError: all stayed lent for too long.
            MnemosyneError: as `connect` raises.
        """
        process, permits, idle = self._process, self._permits, self._idle
        permit, taken, sound = list[None](), list[Connection](), False
        try:
            self._enter(permit)
            connection = self._take(taken)
            yield connection
            sound = connection.is_idle
        except (psycopg.Error, MnemosyneError):
            sound = bool(taken) and taken[0].is_idle
            raise
        finally:
            if process == self._process:
                try:
                    if sound and idle is self._idle:
                        idle.extend(taken)
                    elif taken:
                        taken[0].pgconn.finish()
                finally:
                    if permit:
                        permits.put(None)
            else:
                _of_parent.extend(taken)

    def ask(self, question: Callable[[Connection], T]) -> T:
        """The result of a function that only reads, called again if the connection is lost.

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
        idle, self._idle = self._idle, deque[Connection]()
        for connection in idle:
            connection.close()

    def _ask(self, question: Callable[[Connection], T]) -> T:
        with self.lend() as connection:
            return question(connection)

    def _enter(self, permit: list[None]) -> None:
        try:
            noted(permit, self._permits.get, True, self._patience)
        except Empty:
            raise BusyError(
                f"other threads have kept all {MAX_CONNECTIONS} connections to {self._shown} for "
                f"{self._patience:g} s; try again"
            ) from None

    def _take(self, taken: list[Connection]) -> Connection:
        """An idle connection, noted, or a new one."""
        self._close_old()
        while self._idle:
            try:
                connection = noted(taken, deque[Connection].pop, self._idle)
            except IndexError:
                break
            if _is_alive(connection):
                break
            connection.pgconn.finish()
            taken.clear()
        if not taken:
            taken.append(self._new())
        taken[0].used = monotonic()
        return taken[0]

    def _close_old(self) -> None:
        """Close connections that were idle for long."""
        with suppress(IndexError):
            while self._idle[0].used < monotonic() - MAX_IDLE:
                self._idle.popleft().close()

    def _new(self) -> Connection:
        """A new connection; while the server is away or full, this waits for it."""
        deadline, pause = monotonic() + self._patience, FIRST_PAUSE
        while True:
            try:
                return self.connect()
            except MnemosyneError as error:
                if not is_passing(error) or monotonic() + pause > deadline:
                    raise
            sleep(random.uniform(0.5, 1.0) * pause)
            pause = min(2 * pause, LONGEST_PAUSE)


def _permits(count: int) -> SimpleQueue[None]:
    """A queue of permits, one for each use that is allowed."""
    permits = SimpleQueue[None]()
    for _ in range(count):
        permits.put(None)
    return permits


def _is_alive(connection: Connection) -> bool:
    """Whether an idle connection still stands; the server is asked only if it has said something.

    One that the server has closed has its farewell waiting to be read.
    """
    try:
        if not _has_news(connection.fileno()):
            return True
        connection.execute("")
    except psycopg.OperationalError:
        return False
    return True


def _has_news(socket: int) -> bool:
    """Whether anything, even its end, can be read from a socket at once."""
    if not hasattr(select, "poll"):
        return bool(select.select([socket], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))


def _is_lost(error: psycopg.Error) -> bool:
    """Whether the connection failed, and not the statement."""
    lost = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return lost and (error.sqlstate or "08").startswith(("08", "57P"))

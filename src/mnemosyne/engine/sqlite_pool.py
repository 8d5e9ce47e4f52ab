"""Connections to one SQLite file, each lent to one thread at a time.

SQLite must not meet one connection in two processes, nor may a forked child open a file that has
connections left over from its parent: the library would take the parent's locks for its own. So
before a fork every pool waits for its lent connections and closes them all; parent and child open
new ones when they next need them.
"""

import os
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, Lock, get_ident
from time import monotonic
from typing import TypeVar, TypeVarTuple
from weakref import WeakSet

import apsw

from mnemosyne.errors import BusyError, EngineError

__all__ = ["Pool"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
MAX_CONNECTIONS = 16
FORK_PATIENCE = 10.0


@dataclass(eq=False, slots=True)
class _Lease:
    thread: int
    stamp: Hashable
    connection: apsw.Connection | None


class Pool:
    """The connections to one file.

    Args:
        path: the file.
        connect: opens a connection.
        stamp: tells, at little cost, which file is there now; when that changes, the connections
            to the former file are closed.
        busy_timeout: seconds to wait for the write lock or for a connection.
    """

    def __init__(
        self,
        path: str,
        connect: Callable[[], apsw.Connection],
        stamp: Callable[[], Hashable],
        busy_timeout: float,
    ) -> None:
        self._path = path
        self._connect = connect
        self._stamp = stamp
        self._busy_timeout = busy_timeout
        self._current: Hashable = None
        self._reset()
        _pools.add(self)

    def _reset(self) -> None:
        self._changed = Condition(Lock())
        self._writer = Lock()
        self._idle: list[apsw.Connection] = []
        self._leases: set[_Lease] = set()
        self._forking = False

    @property
    def orphaned(self) -> bool:
        """Whether this process was forked in the middle of a use, so that it must not go on."""
        return self._path in _orphaned

    def ask(self, question: Callable[[apsw.Connection, *Ts], T], *values: *Ts) -> T:
        """What a function finds with a connection that it has alone; raises as `lend` does."""
        lease, connection = self._take()
        sound = False
        try:
            answer = question(connection, *values)
            sound = True
            return answer
        finally:
            self._give_back(lease, connection if sound else None)

    @contextmanager
    def lend(self) -> Generator[apsw.Connection]:
        """A connection for this thread alone, until the context is left.

        Raises:
            BusyError: every connection stayed lent for longer than the busy timeout.
            EngineError: none can be opened, or this process was forked in the middle of a use.
        """
        lease, connection = self._take()
        sound = False
        try:
            yield connection
            sound = True
        except apsw.Error:
            raise
        except BaseException:
            sound = not self.orphaned and not connection.in_transaction
            raise
        finally:
            if not self.orphaned:
                self._give_back(lease, connection if sound else None)

    @contextmanager
    def write_lock(self) -> Generator[float]:
        """Keep this process's other writers out; gives the seconds left of the busy timeout.

        Raises:
            BusyError: they held it for longer than the busy timeout.
        """
        lock, deadline = self._writer, monotonic() + self._busy_timeout
        if not lock.acquire(timeout=self._busy_timeout):
            raise self._busy()
        try:
            yield max(0.0, deadline - monotonic())
        finally:
            lock.release()

    def close(self) -> None:
        """Close the connections that are not lent, and those that are once they come back."""
        with self._changed:
            idle, self._idle = self._idle, []
            self._current = None
        for connection in idle:
            connection.close()

    def _take(self) -> tuple[_Lease, apsw.Connection]:
        if self.orphaned:
            raise EngineError(
                f"this process was forked while {self._path} was in use; "
                "use the store from a process that was started afresh"
            )
        stamp = self._stamp()
        with self._changed:
            if not self._changed.wait_for(self._free, self._busy_timeout):
                raise self._busy()
            stale: list[apsw.Connection] = []
            if stamp != self._current:
                stale, self._idle, self._current = self._idle, [], stamp
            connection = self._idle.pop() if self._idle else None
            lease = _Lease(get_ident(), stamp, connection)
            self._leases.add(lease)
        try:
            for other in stale:
                other.close()
            if connection is None:
                connection = lease.connection = self._connect()
        except BaseException:
            self._give_back(lease, None)
            raise
        return lease, connection

    def _free(self) -> bool:
        return not self._forking and len(self._leases) < MAX_CONNECTIONS

    def _give_back(self, lease: _Lease, sound: apsw.Connection | None) -> None:
        with self._changed:
            if sound is not None and lease.stamp == self._current and not self._forking:
                self._idle.append(sound)
            elif lease.connection is not None:
                lease.connection.close()
            self._leases.discard(lease)
            self._changed.notify_all()

    def _busy(self) -> BusyError:
        return BusyError(
            f"other threads have kept {self._path} busy for {self._busy_timeout:g} s; try again"
        )

    def before_fork(self) -> None:
        """Wait until other threads have given back their connections, and close all."""
        me = get_ident()
        with self._changed:
            self._forking = True
            self._changed.wait_for(
                lambda: all(lease.thread == me for lease in self._leases), FORK_PATIENCE
            )
        self.close()

    def after_fork_in_parent(self) -> None:
        """Lend again."""
        with self._changed:
            self._forking = False
            self._changed.notify_all()

    def after_fork_in_child(self) -> None:
        """Start anew; if a connection was left open, keep it untouched and refuse all use."""
        left = [*self._idle, *(lease.connection for lease in self._leases)]
        if left:
            _orphaned.add(self._path)
            _keep_for_ever(left)
        self._current = None
        self._reset()


_pools: "WeakSet[Pool]" = WeakSet()
_orphaned: set[str] = set()


def _keep_for_ever(connections: list[apsw.Connection | None]) -> None:
    """Make sure that not even the interpreter's exit closes them: that is the parent's to do."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connections))


def _before_fork() -> None:
    for pool in list(_pools):
        pool.before_fork()


def _after_fork_in_parent() -> None:
    for pool in list(_pools):
        pool.after_fork_in_parent()


def _after_fork_in_child() -> None:
    for pool in list(_pools):
        pool.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )

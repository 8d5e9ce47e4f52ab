"""Connections to one SQLite file, each lent to one thread at a time.

SQLite must not meet one connection in two processes, nor may a forked child open a file that has
connections left over from its parent: the library would take the parent's locks for its own. So
before a fork every pool waits for its lent connections and closes them all; parent and child open
new ones when they next need them.

Nor may connections that have different logs open meet in one process: SQLite keeps one index of the
log for all connections to a file. Another SQLite in the process, such as Python's own, can remove
the log while it is in use, and so can people. Then every pool of the process closes its connections
to that file before one opens a new one.
"""

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Condition, Lock, get_ident
from time import monotonic
from typing import TypeVar, TypeVarTuple
from weakref import WeakSet

import apsw

from mnemosyne_vcs.engine.sqlite.file import StoreFile
from mnemosyne_vcs.engine.sqlite.log import Stamp
from mnemosyne_vcs.errors import BusyError, EngineError

__all__ = ["Pool"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
MAX_CONNECTIONS = 16
FORK_PATIENCE = 10.0


@dataclass(eq=False, slots=True)
class _Lease:
    thread: int
    stamp: Stamp | None
    connection: apsw.Connection | None


class Pool:
    """The connections to one file.

    Args:
        file: the file. When it or its log is replaced, the connections to what was there before
            are closed.
    """

    def __init__(self, file: StoreFile) -> None:
        self._file = file
        self._path = file.path
        self._busy_timeout = file.busy_timeout
        self._current: Stamp | None = None
        self._reset()
        _pools.add(self)

    def _reset(self) -> None:
        self._changed = Condition(Lock())
        self._writer = Lock()
        self._idle: list[apsw.Connection] = []
        self._leases: set[_Lease] = set()
        self._forking = False
        self._leaving = False

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

    def has_what_is_there(self, connection: apsw.Connection) -> bool:
        """Whether a lent connection has the file and the log open that are there now."""
        now = self._file.stamp()
        with self._changed:
            [lease] = [lease for lease in self._leases if lease.connection is connection]
        return lease.stamp is not None and lease.stamp[:2] == now[:2]

    def close(self) -> None:
        """Close the connections that are not lent, and those that are once they come back."""
        with self._changed:
            stamp, self._current = self._current, None
            idle, self._idle = self._idle, []
        for connection in idle:
            self._file.close(connection, stamp)

    def _take(self) -> tuple[_Lease, apsw.Connection]:
        if self.orphaned:
            raise EngineError(
                f"this process was forked while {self._path} was in use; "
                "use the store from a process that was started afresh"
            )
        now = self._file.stamp()
        if _differs(self._current, now):
            with self._sole_opener():
                self._leave_log()
        with self._changed:
            if not self._changed.wait_for(self._free, self._busy_timeout):
                raise self._busy()
            stale: list[apsw.Connection] = []
            before = self._current
            if before is not None and now != before:
                stale, self._idle, self._current = self._idle, [], None
            connection = self._idle.pop() if self._idle else None
            lease = _Lease(get_ident(), self._current, connection)
            self._leases.add(lease)
        try:
            for other in stale:
                self._file.close(other, before)
            if connection is None:
                connection = self._open(lease)
        except BaseException:
            self._give_back(lease, None)
            raise
        return lease, connection

    def _open(self, lease: _Lease) -> apsw.Connection:
        """A new connection for a lease, with the log that every other one in the process has."""
        with self._sole_opener():
            while True:
                self._leave_log()
                connection, stamp = self._file.connect()
                if not _with_another_log(stamp):
                    break
                self._file.close(connection, None)
            with self._changed:
                lease.connection, lease.stamp = connection, stamp
                if self._current is None:
                    self._current = stamp
        return connection

    @contextmanager
    def _sole_opener(self) -> Generator[None]:
        """Keep other threads from opening connections, with whichever pool."""
        lock = _opening
        if not lock.acquire(timeout=self._busy_timeout):
            raise self._busy()
        try:
            yield
        finally:
            lock.release()

    def _leave_log(self) -> None:
        """Close all connections of this process that have another log open than there is now."""
        now = self._file.stamp()
        pools = _with_another_log(now)
        if not pools:
            return
        deadline = monotonic() + self._busy_timeout
        with ExitStack() as stack:
            for pool in pools:
                stack.callback(pool._resume)
                pool._leaving = True
            for pool in pools:
                pool._wait_for_others(deadline)
            stack.callback(lambda: [pool.close() for pool in pools])
            for pool in pools:
                for connection in pool._idle[:1]:
                    pool._file.keep_lost(connection)

    def stamps(self) -> set[Stamp | None]:
        """What the connections have open."""
        with self._changed:
            lent = {lease.stamp for lease in self._leases if lease.connection is not None}
            return lent | {self._current}

    def _wait_for_others(self, deadline: float) -> None:
        """Wait until no connection is lent."""
        with self._changed:
            lent = [lease for lease in self._leases if lease.connection is not None]
            if any(lease.thread == get_ident() for lease in lent):
                raise EngineError(
                    f"the log of {self._path} was replaced by another program in the middle of a "
                    "transaction, of which nothing was written; start again"
                )
            if not self._changed.wait_for(
                lambda: all(lease.connection is None for lease in self._leases),
                max(0.0, deadline - monotonic()),
            ):
                raise self._busy()

    def _resume(self) -> None:
        with self._changed:
            self._leaving = False
            self._changed.notify_all()

    def _free(self) -> bool:
        closing = self._forking or self._leaving
        return not closing and len(self._leases) < MAX_CONNECTIONS

    def _give_back(self, lease: _Lease, sound: apsw.Connection | None) -> None:
        with self._changed:
            if sound is not None and lease.stamp == self._current and not self._forking:
                self._idle.append(sound)
            elif lease.connection is not None:
                self._file.close(lease.connection, lease.stamp)
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


def _differs(opened: Stamp | None, now: Stamp) -> bool:
    """Whether a file has another log now than it had when it was opened."""
    if opened is None or opened.log is None:
        return False
    return opened.file == now.file and opened.log != now.log


def _with_another_log(now: Stamp) -> "list[Pool]":
    """The pools that have connections to a file with another log than it has now."""
    return [pool for pool in list(_pools) if any(_differs(each, now) for each in pool.stamps())]


_pools: "WeakSet[Pool]" = WeakSet()
_orphaned: set[str] = set()
_opening = Lock()


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
    global _opening  # noqa: PLW0603 - another thread of the parent may have held it
    _opening = Lock()
    for pool in list(_pools):
        pool.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )

"""Connections to one SQLite file, each lent to one thread at a time.

SQLite must not meet one connection in two processes, nor may a forked child open a file that has
connections left over from its parent: the library would take the parent's locks for its own. So
before a fork every pool waits for its lent connections and closes them all; parent and child open
new ones when they next need them.

Nor may connections that have different logs open meet in one process: SQLite keeps one index of the
log for all connections to a file. Another SQLite in the process, such as Python's own, can remove
the log while it is in use, and so can people. Then every pool of the process closes its connections
to that file before one opens a new one.

Nothing here is held by a lock. A lease is entered in a set, and withdrawn if connections may not be
lent just then; an interrupt at any instant gives it back (see `interrupts`).
"""

import os
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from threading import Lock, get_ident
from time import monotonic, sleep
from typing import TypeVar, TypeVarTuple
from weakref import WeakSet

import apsw

from mnemosyne_vcs.engine.sqlite.file import StoreFile
from mnemosyne_vcs.engine.sqlite.log import Stamp
from mnemosyne_vcs.errors import BusyError, EngineError
from mnemosyne_vcs.interrupts import guarded, locked, noted

__all__ = ["Pool"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
MAX_CONNECTIONS = 16
FORK_PATIENCE = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.0005, 0.01
_Open = tuple[apsw.Connection, Stamp]
"""A connection, and the file and log that it has open."""


@dataclass(eq=False, slots=True)
class _Lease:
    """The use of a connection by a thread.

    Attributes:
        thread: the thread.
        entered: whether it may have a connection; else it is about to be withdrawn.
        held: the connection, once there is one.
        sound: whether it can be used again.
    """

    thread: int
    entered: bool = False
    held: list[_Open] = field(default_factory=list[_Open])
    sound: bool = False


class Pool:
    """The connections to one file.

    Args:
        file: the file. When it or its log is replaced, the connections to what was there before
            are closed.

    Attributes:
        orphaned: the paths of files on which a process was forked in the middle of a use, so that
            it must not go on.
    """

    orphaned: set[str] = set()  # noqa: RUF012 - of the whole process

    def __init__(self, file: StoreFile) -> None:
        self._file = file
        self._path = file.path
        self._busy_timeout = file.busy_timeout
        self._reset()
        _pools.add(self)

    def _reset(self) -> None:
        self._writer = Lock()
        self._idle: deque[_Open] = deque()
        self._leases: set[_Lease] = set()
        self._seen: Stamp | None = None
        self._forking = False
        self._gate: list[bool] = []

    def ask(self, question: Callable[[apsw.Connection, *Ts], T], *values: *Ts) -> T:
        """The result of a function of a connection that it has alone; raises as `lend` does."""
        lease = _Lease(get_ident())
        try:
            answer = question(self._take(lease), *values)
            lease.sound = True
            return answer
        finally:
            try:
                self._keep_or_close(lease)
            finally:
                self._leases.discard(lease)

    @guarded
    def lend(self) -> Generator[apsw.Connection]:
        """A connection for this thread alone, until the context is left.

        Raises:
            BusyError: every connection stayed lent for longer than the busy timeout.
            EngineError: none can be opened, or this process was forked in the middle of a use.
        """
        lease = _Lease(get_ident())
        try:
            connection = self._take(lease)
            yield connection
            lease.sound = True
        except apsw.Error:
            raise
        except BaseException:
            lease.sound = bool(lease.held) and not lease.held[0][0].in_transaction
            raise
        finally:
            if self._path not in self.orphaned:
                try:
                    self._keep_or_close(lease)
                finally:
                    self._leases.discard(lease)

    @guarded
    def write_lock(self) -> Generator[float]:
        """Keep this process's other writers out; gives the seconds left of the busy timeout.

        Raises:
            BusyError: they held it for longer than the busy timeout.
        """
        deadline = monotonic() + self._busy_timeout
        with locked(self._writer, self._busy_timeout, self._busy):
            yield max(0.0, deadline - monotonic())

    def has_what_is_there(self, connection: apsw.Connection) -> bool:
        """Whether a lent connection has the file and the log open that are there now."""
        now = self._file.stamp()
        lent = [each for lease in self._leases.copy() for each in lease.held]
        return any(held is connection and stamp[:2] == now[:2] for held, stamp in lent)

    def close(self) -> None:
        """Close the connections that are not lent, and those that are once they come back."""
        self._seen = None
        idle, self._idle = self._idle, deque[_Open]()
        for connection, stamp in idle:
            self._file.close(connection, stamp)

    def _take(self, lease: _Lease) -> apsw.Connection:
        if self._path in self.orphaned:
            raise EngineError(
                f"this process was forked while {self._path} was in use; "
                "use the store from a process that was started afresh"
            )
        if not self._enter(lease):
            deadline = monotonic() + self._busy_timeout
            if not _until(lambda: self._enter(lease), deadline):
                raise self._busy()
        return self._known(lease) or self._open(lease)

    def _enter(self, lease: _Lease) -> bool:
        """Enter a lease, if connections may be lent and are left."""
        self._leases.add(lease)
        if self._forking or self._gate or len(self._leases) > MAX_CONNECTIONS:
            self._leases.discard(lease)
            return False
        lease.entered = True
        return True

    def _known(self, lease: _Lease) -> apsw.Connection | None:
        """An idle connection to the file and log that are there now."""
        self._seen = now = self._file.stamp()
        while self._idle:
            try:
                connection, stamp = noted(lease.held, deque[_Open].pop, self._idle)
            except IndexError:
                break
            if stamp == now:
                return connection
            if _differs(stamp, now):
                held, lease.held = lease.held, []
                self._idle.extend(held)
                break
            self._close(lease)
        return None

    def _open(self, lease: _Lease) -> apsw.Connection:
        """A new connection for a lease, with the log that every other one in the process has."""
        with locked(_opening, self._busy_timeout, self._busy):
            while True:
                self._leave_log()
                lease.held.append(self._file.connect())
                connection, stamp = lease.held[0]
                if not _with_another_log(stamp):
                    self._seen = stamp
                    return connection
                self._close(lease)

    def _keep_or_close(self, lease: _Lease) -> None:
        """Give a connection back for others to use, or close it if it must not be used again."""
        if lease.sound and lease.held[0][1] == self._seen and not self._forking:
            self._idle.extend(lease.held)
        else:
            self._close(lease)

    def _close(self, lease: _Lease) -> None:
        for connection, stamp in lease.held:
            self._file.close(connection, stamp)
        lease.held = []

    def _leave_log(self) -> None:
        """Close all connections of this process that have another log open than there is now."""
        now = self._file.stamp()
        pools = _with_another_log(now)
        if not pools:
            return
        deadline = monotonic() + self._busy_timeout
        gate = [True]
        try:
            for pool in pools:
                pool._gate = gate
            for pool in pools:
                pool._wait_for_others(deadline)
            try:
                for pool in pools:
                    for connection, _ in list(pool._idle)[:1]:
                        pool._file.keep_lost(connection)
            finally:
                for pool in pools:
                    pool.close()
        finally:
            gate.clear()

    def stamps(self) -> set[Stamp]:
        """The files and logs that the connections have open."""
        lent = [each for lease in self._leases.copy() for each in lease.held]
        return {stamp for _, stamp in [*lent, *self._idle]}

    def _wait_for_others(self, deadline: float) -> None:
        """Wait until no connection is lent."""
        if any(lease.held and lease.thread == get_ident() for lease in self._leases.copy()):
            raise EngineError(
                f"the log of {self._path} was replaced by another program in the middle of a "
                "transaction, of which nothing was written; start again"
            )
        if not _until(lambda: not any(lease.held for lease in self._leases.copy()), deadline):
            raise self._busy()

    def _busy(self) -> BusyError:
        return BusyError(
            f"other threads have kept {self._path} busy for {self._busy_timeout:g} s; try again"
        )

    def before_fork(self) -> None:
        """Wait until other threads have given back their connections, and close all."""
        me = get_ident()
        self._forking = True
        _until(
            lambda: all(lease.thread == me for lease in self._leases.copy()),
            monotonic() + FORK_PATIENCE,
        )
        self.close()

    def after_fork_in_parent(self) -> None:
        """Lend again."""
        self._forking = False

    def after_fork_in_child(self) -> None:
        """Start empty; if a connection was left open, keep it untouched and refuse all use."""
        left = [*self._idle, *(each for lease in self._leases for each in lease.held)]
        if left or any(lease.entered for lease in self._leases):
            self.orphaned.add(self._path)
            _keep_for_ever(left)
        self._reset()


def _until(ready: Callable[[], bool], deadline: float) -> bool:
    """Wait until something holds, or until a moment of `monotonic`; whether it holds."""
    pause = FIRST_PAUSE
    while not ready():
        if monotonic() >= deadline:
            return False
        sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
    return True


def _differs(opened: Stamp, now: Stamp) -> bool:
    """Whether a file has another log now than it had when it was opened."""
    return opened.log is not None and opened.file == now.file and opened.log != now.log


def _with_another_log(now: Stamp) -> "list[Pool]":
    """The pools that have connections to a file with another log than it has now."""
    return [pool for pool in list(_pools) if any(_differs(each, now) for each in pool.stamps())]


_pools: "WeakSet[Pool]" = WeakSet()
_opening = Lock()


def _keep_for_ever(connections: list[_Open]) -> None:
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

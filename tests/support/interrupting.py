"""Interrupts at chosen instants: those at which CPython lets in a signal, or another's exception.

They come when a function or generator begins or goes on, after a call, and when a loop goes round.
One after a call is raised at the next instruction, and so left out where that is in another `try`.
"""

import ctypes
import dis
import gc
import signal
import sys
from collections.abc import Callable
from functools import cache
from threading import Event, Thread
from types import CodeType, FrameType
from typing import Any

__all__ = ["Interrupted", "by_a_signal", "by_another_thread", "instants", "interrupt"]

PATIENCE = 60

_BEGIN = {"RESUME"}
_AGAIN = {name for name in dis.opmap if "JUMP_BACKWARD" in name and "NO_INTERRUPT" not in name}
_CALLS = {name for name in dis.opmap if name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX")}


class Interrupted(BaseException):
    """Stands for KeyboardInterrupt, and for what Celery raises."""


@cache
def _handler(code: CodeType, at: int) -> int | None:
    """Where an exception goes on that is raised at an instruction."""
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return next((entry.target for entry in entries if entry.start <= at < entry.end), None)


class _Tracer:
    def __init__(self, at: int | None) -> None:
        self.at = at
        self.seen = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        if event != "call":
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        called: int | None = None

        def step(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
            nonlocal called
            if event == "opcode":
                code, at = frame.f_code, frame.f_lasti
                name = dis.opname[code.co_code[at]]
                after_call = called is not None and _handler(code, called) == _handler(code, at)
                called = at if name in _CALLS else None
                if after_call or name in _BEGIN or name in _AGAIN:
                    self._instant()
            return step

        return step

    def _instant(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            sys.settrace(None)
            raise Interrupted


def interrupt(work: Callable[[], object], at: int | None) -> int:
    """Do something, with an interrupt at one of its instants.

    Args:
        work: what to do.
        at: the number of the instant, from 1; None for no interrupt.

    Returns:
        How many instants there were.

    Raises:
        Interrupted: unless there were fewer instants.
    """
    tracer, before = _Tracer(at), sys.gettrace()
    gc.disable()  # Python swallows what a callback of the collector raises
    sys.settrace(tracer)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return tracer.seen


def instants(work: Callable[[], object]) -> int:
    """How many instants something has at which an interrupt can come."""
    return interrupt(work, None)


def by_another_thread(work: Callable[[], object], delay: float) -> list[BaseException]:
    """Do something in a thread of its own, which another one interrupts after some seconds.

    Returns:
        What ended it: `Interrupted`, unless the work itself has failed before.
    """
    ended: list[BaseException] = []

    def run() -> None:
        try:
            work()
            _until_interrupted()
        except BaseException as error:  # noqa: BLE001 - told to the caller, with its frames
            ended.append(error)

    worker = Thread(target=run, daemon=True)
    worker.start()
    worker.join(delay)
    for _ in range(PATIENCE):
        if worker.ident is None or not worker.is_alive():
            break
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(worker.ident), ctypes.py_object(Interrupted)
        )
        worker.join(1)
    assert not worker.is_alive(), "it hangs"
    return ended


def by_a_signal(work: Callable[[], object], delay: float) -> list[BaseException]:
    """Do something in the main thread, which a signal interrupts after some seconds.

    Returns:
        As `by_another_thread` does.
    """

    def handler(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(delay, 1e-6), 1)
        work()
        _until_interrupted()
    except BaseException as error:  # noqa: BLE001 - told to the caller, with its frames
        return [error]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    raise AssertionError("unreachable")


def _until_interrupted() -> None:
    while True:
        Event().wait(0.001)

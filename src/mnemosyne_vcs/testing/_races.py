"""Threads that write, and others that do something beside them until they are done."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

__all__ = ["race"]

Work = Callable[[], object]


def race(writers: Sequence[Work], beside: Sequence[Work]) -> None:
    """Run each writer once and the others over and over meanwhile, in a thread each.

    Raises:
        BaseException: what any of them raised.
    """
    done = Event()

    def repeat(work: Work) -> None:
        while not done.is_set():
            work()

    with ThreadPoolExecutor(len(writers) + len(beside)) as pool:
        others = [pool.submit(repeat, work) for work in beside]
        try:
            for writer in [pool.submit(work) for work in writers]:
                writer.result()
        finally:
            done.set()
        for other in others:
            other.result()

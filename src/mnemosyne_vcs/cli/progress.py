"""Progress bars, for work that takes longer than a moment."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager

from mnemosyne_vcs.cli.output import is_terminal
from mnemosyne_vcs.maintenance.verify import Progress

__all__ = ["progress", "waiting"]

PATIENCE = 1.0
"""Seconds of work until a bar is shown."""


@contextmanager
def progress(
    doing: str, total: Callable[[], int | None] | None = None
) -> Generator[Progress | None]:
    """A progress bar on stderr if that is a terminal, shown after a moment of work.

    Args:
        doing: what is being done, such as `checking`.
        total: returns the number of things; called when the bar is shown.

    Yields:
        A function to call with the number of things done so far; None if no bar can be shown.
    """
    if not is_terminal(sys.stderr):
        yield None
        return
    started = time.monotonic()
    show: Progress | None = None
    with ExitStack() as shown:

        def advance(done: int) -> None:
            nonlocal show
            if show is None:
                if time.monotonic() - started < PATIENCE:
                    return
                show = _bar(shown, doing, total() if total else None)
            show(done)

        yield advance


@contextmanager
def waiting(doing: str) -> Generator[None]:
    """A spinner on stderr if that is a terminal, for work without a known end.

    Args:
        doing: what is being done, such as `copying`.
    """
    if not is_terminal(sys.stderr):
        yield
        return
    from threading import Timer

    with ExitStack() as shown:
        timer = Timer(PATIENCE, _bar, (shown, doing, None))
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def _bar(shown: ExitStack, doing: str, total: int | None) -> Progress:
    from rich.console import Console
    from rich.progress import Progress as Bar

    bar = shown.enter_context(Bar(console=Console(stderr=True), transient=True))
    task = bar.add_task(doing, total=total)
    return lambda done: bar.update(task, completed=done)

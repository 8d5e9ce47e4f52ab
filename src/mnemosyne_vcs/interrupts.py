"""What an interrupt at any instant gives back.

Ctrl-C, and an exception that another thread raises in this one as Celery's soft time limit does,
come between two steps of Python: also after a lock is taken and before the `try` behind it, or when
`__exit__` has begun and has done nothing yet. They never come inside a function that is written in
C, nor between such a call and the next one if no other call is in between. Hence two rules for
whatever others wait for:

* What takes a resource notes it in the same call (`noted`), inside the `try` that gives it back. A
  `finally` gives back one resource, by one call of a function that is written in C.
* A context manager is a generator under `guarded`. It ends with its `with` block, whether or not
  `__exit__` was run, and however long a traceback is kept.
"""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from functools import partial, wraps
from itertools import starmap
from threading import Lock, RLock
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import ref

__all__ = ["guarded", "locked", "noted"]

P = ParamSpec("P")
T = TypeVar("T")


def noted(taken: list[T], take: Callable[..., T], *arguments: Any) -> T:
    """Call a function that is written in C, and note what it gives before anything else happens.

    Args:
        taken: where to note it.
        take: the function.
        arguments: what to call it with.
    """
    taken.extend(starmap(take, (arguments,)))
    return taken[-1]


class _Exit:
    """`__exit__` of a block, which holds the only strong reference to its generator."""

    def __get__(self, block: "_Block[Any] | None", owner: "type[_Block[Any]]") -> Any:
        if block is None:
            return owner.leave
        leave: Any = partial(block.leave)
        leave.generator, block.generator = block.generator, None
        return leave


class _Block(Generic[T]):
    """One `with` block around a generator. The block alone keeps the generator alive.

    If an interrupt keeps `leave` from beginning, the generator is closed when the block is left.
    """

    __exit__ = _Exit()

    def __init__(self, generator: Generator[T, None, None]) -> None:
        self.generator: Generator[T, None, None] | None = generator
        self._find = ref(generator)

    def __enter__(self) -> T:
        generator = self._find()
        assert generator is not None
        try:
            given = next(generator)
        except BaseException:
            generator.close()
            raise
        return given

    def leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Let the generator end, as after the block or as by its exception."""
        generator = self._find()
        if generator is None:  # the garbage collector closes both
            return False
        try:
            if error is None:
                next(generator)
            else:
                generator.throw(error)
        except StopIteration as ended:
            return error is not None and ended is not error
        except BaseException as raised:
            if error is None or not _is_same(raised, error):
                raise
            error.__traceback__ = traceback
            return False
        finally:
            generator.close()
        raise RuntimeError("the generator of a guarded block yields once")


def _is_same(raised: BaseException, error: BaseException) -> bool:
    """Whether what a generator raises is what it was told; Python wraps a StopIteration."""
    return raised is error or (isinstance(error, StopIteration) and raised.__cause__ is error)


def guarded(
    function: Callable[P, Generator[T, None, None]],
) -> Callable[P, AbstractContextManager[T]]:
    """Make a context manager of a generator that yields once, as `contextlib.contextmanager` does.

    Its `finally` clauses run when the `with` block is left, even if an interrupt comes just then.
    """

    @wraps(function)
    def begin(*args: P.args, **kwargs: P.kwargs) -> Any:
        return _Block(function(*args, **kwargs))

    return begin


@guarded
def locked(lock: "Lock | RLock", seconds: float, busy: Callable[[], Exception]) -> Generator[None]:
    """Hold a lock, and wait for it no longer than so many seconds.

    Args:
        lock: the lock.
        seconds: how long to wait.
        busy: the error to raise after that.
    """
    held: list[bool] = []
    try:
        if not noted(held, lock.acquire, True, seconds):
            raise busy()
        yield
    finally:
        if True in held:
            lock.release()

"""Blocks and locks that an interrupt at any instant ends."""

import gc
from collections.abc import Generator
from contextlib import ExitStack
from threading import Lock

import pytest

from interrupting import Interrupted, instants, interrupt
from mnemosyne_vcs import BusyError
from mnemosyne_vcs.interrupts import guarded, locked, noted


def busy() -> BusyError:
    return BusyError("somebody has it")


class Shelf:
    """Things that are taken and given back."""

    def __init__(self) -> None:
        self.left = [1, 2, 3]

    @guarded
    def lend(self) -> Generator[int]:
        taken: list[int] = []
        try:
            yield noted(taken, self.left.pop)
        finally:
            self.left.extend(taken)


class TestGuarded:
    def test_what_is_taken_is_given_back_at_every_instant(self):
        shelf, kept = Shelf(), []

        def work() -> None:
            with shelf.lend(), shelf.lend() as thing:
                assert thing == 2

        for at in range(1, instants(work) + 1):
            with pytest.raises(Interrupted) as raised:
                interrupt(work, at)
            kept.append(raised.value)  # and with it the frames
            assert sorted(shelf.left) == [1, 2, 3]
            shelf.left.sort()

    def test_a_block_in_another_generator_ends_too(self):
        shelf, kept = Shelf(), []

        @guarded
        def outer() -> Generator[int]:
            with shelf.lend() as thing:
                yield thing

        def work() -> None:
            with outer():
                pass

        for at in range(1, instants(work) + 1):
            with pytest.raises(Interrupted) as raised:
                interrupt(work, at)
            kept.append(raised.value)
            assert len(shelf.left) == 3

    def test_a_block_that_is_garbage_ends(self):
        shelf = Shelf()

        def outer(cycle: list[Generator[None]]) -> Generator[None]:
            with shelf.lend():
                yield
            cycle.clear()

        cycle: list[Generator[None]] = []
        cycle.append(outer(cycle))
        next(cycle[0])
        assert len(shelf.left) == 2
        del cycle
        gc.collect()
        assert len(shelf.left) == 3

    def test_exceptions_pass_as_they_are(self):
        shelf = Shelf()
        for error in (KeyError("k"), StopIteration(), GeneratorExit(), KeyboardInterrupt()):
            with pytest.raises(type(error)) as raised, shelf.lend():
                raise error
            assert raised.value is error
            assert len(shelf.left) == 3

    def test_a_generator_may_put_another_exception_in_the_place_of_one_or_swallow_it(self):
        @guarded
        def translated() -> Generator[None]:
            try:
                yield
            except KeyError as error:
                raise ValueError from error
            except LookupError:
                pass

        with pytest.raises(ValueError), translated():
            raise KeyError
        with translated():
            raise IndexError

    def test_it_can_stand_on_a_stack(self):
        shelf = Shelf()
        with ExitStack() as stack:
            assert [stack.enter_context(shelf.lend()) for _ in range(3)] == [3, 2, 1]
            assert shelf.left == []
        assert len(shelf.left) == 3

    def test_a_generator_yields_once(self):
        @guarded
        def twice() -> Generator[None]:
            yield
            yield

        with pytest.raises(RuntimeError, match="yields once"), twice():
            pass

    def test_a_lock_is_waited_for_so_long_and_given_back(self):
        lock = Lock()
        with locked(lock, 0, busy), pytest.raises(BusyError), locked(lock, 0.01, busy):
            pass
        assert not lock.locked()

        def work() -> None:
            with locked(lock, 1, busy):
                pass

        for at in range(1, instants(work) + 1):
            with pytest.raises(Interrupted):
                interrupt(work, at)
            assert not lock.locked()

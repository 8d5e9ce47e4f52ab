"""The hooks that a test of an engine overrides, and small tools for such tests."""

from collections.abc import Callable
from dataclasses import fields
from random import Random
from threading import Barrier, Thread
from typing import TypeVar, get_args

import pytest

from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Engine
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.ids import Id

__all__ = [
    "HOSTILE_NAMES",
    "PATIENCE",
    "EngineHooks",
    "blob",
    "find",
    "in_threads",
    "require",
    "versions",
]

T = TypeVar("T")
PATIENCE = 60.0

HOSTILE_NAMES = [
    "%",
    "_",
    "a%b",
    "a_b",
    "a'b",
    'a"b',
    "a\\b",
    "a;DROP TABLE refs;--",
    " ",
    "",
    "A",
    "a",
    "é",
    "e\u0301",
    "記憶/🧠",
    "\U0010ffff",
    "a\x00b",
    "a\x00c",
    "../../etc/passwd",
    "x" * 2000,
]


def in_threads(count: int, act: Callable[[int], object]) -> None:
    """Run a function in threads that start together, and raise what any of them raised.

    Args:
        count: how many threads.
        act: the function that each runs, given its number.
    """
    errors: list[BaseException] = []
    start = Barrier(count)

    def run(number: int) -> None:
        try:
            start.wait(PATIENCE)
            act(number)
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    threads = [Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a thread is stuck"
    if errors:
        raise errors[0]


def blob(number: int, size: int = 40) -> tuple[Id, bytes]:
    """Bytes that differ by number, and their id."""
    data = Random(number).randbytes(size)
    return object_id(data), data


def versions(count: int, number: int = 0, size: int = 2000) -> list[tuple[Id, bytes]]:
    """Objects, each of which differs from the one before it in a few bytes.

    Args:
        count: how many.
        number: tells them from those of other calls.
        size: how many bytes each has.
    """
    random = Random(-1 - number)
    data = bytearray(random.randbytes(size))
    found: list[tuple[Id, bytes]] = []
    for _ in range(count):
        at = random.randrange(size - 32)
        data[at : at + 32] = random.randbytes(32)
        found.append((object_id(bytes(data)), bytes(data)))
    return found


def require(engine: Engine, capability: type[T]) -> T:
    """The engine as one with the capability; skips the test if it does not have it."""
    found = find(engine, capability)
    if found is None:
        pytest.skip(f"no {capability.__name__}")
    return found


def find(engine: Engine, capability: type[T]) -> T | None:
    """The engine as one with the capability, or None."""
    can = Capabilities.of(engine)
    [name] = [field.name for field in fields(can) if capability in get_args(field.type)]
    return getattr(can, name)


class EngineHooks:
    """The hooks of the contract."""

    @pytest.fixture
    def engine(self) -> Engine:
        """A new and empty engine; override this."""
        raise NotImplementedError("override the engine fixture")

    def again(self, engine: Engine) -> Engine | None:
        """Another engine on the same store, or None if that is not possible."""
        return None

    def for_reading(self, engine: Engine) -> Engine | None:
        """A read-only engine on the same store, or None if that is not possible."""
        return None

    def copy_at(self, path: str) -> Engine | None:
        """An engine on what `BacksUp.backup` wrote."""
        return None

    def replace_bytes(self, engine: Engine, block: Id, data: bytes) -> bool:
        """Change an object behind the engine's back, if possible."""
        return False

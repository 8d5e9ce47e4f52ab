"""Trying again after a lost race."""

import random
import time
from collections.abc import Callable

from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.errors import ConflictError
from mnemosyne_vcs.model import Commit

__all__ = ["until_it_lands"]

OPTIMISTIC_ATTEMPTS = 3
MAX_ATTEMPTS = 100


def until_it_lands(
    can: Capabilities, attempt: Callable[[], Commit], lost: type[ConflictError]
) -> Commit:
    """The result of an attempt, repeated until no other writer is faster.

    After a few lost races it runs under the engine's write lock, if there is one.

    Args:
        can: the engine's capabilities.
        attempt: makes a commit.
        lost: the error that it raises if another writer was faster.
    """
    for number in range(1, MAX_ATTEMPTS + 1):
        if number > OPTIMISTIC_ATTEMPTS and can.lock is not None:
            with can.exclusive():
                return attempt()
        try:
            return attempt()
        except lost:
            if number == MAX_ATTEMPTS:
                raise
            time.sleep(random.uniform(0, 0.001 * number))
    raise AssertionError("unreachable")

"""Acts of another user: in a forked child that gives up its rights, with the answer as text."""

import os
from collections.abc import Callable

import pytest

NOBODY = 65534


def as_nobody(act: Callable[[], object]) -> str:
    """What a function returns in a child without any privileges, as text."""
    return as_user(NOBODY, act)


def as_user(user: int, act: Callable[[], object]) -> str:
    """What a function returns in a child that is of a user, if this process may choose."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            answer = str(act())
        except BaseException as error:  # noqa: BLE001 - told to the parent
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return answer

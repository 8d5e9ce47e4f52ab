"""What all tests share: Hypothesis profiles, no network, and repositories to work on."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import mnemosyne
from mnemosyne import Repository

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", deadline=None, max_examples=60, suppress_health_check=_SLOW)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.register_profile(
    "nightly", parent=settings.get_profile("default"), max_examples=2000, stateful_step_count=100
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default")
)


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Refuse every connection that would leave this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        inet = self.family in (socket.AF_INET, socket.AF_INET6)
        if inet and isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1"):
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


class Clock:
    """A clock that stands still until it is moved; in UTC milliseconds."""

    def __init__(self, now: int = 1_789_999_980_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, milliseconds: int) -> None:
        self.now += milliseconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store that does not exist yet, on each engine."""
    return "memory://" if request.param == "memory" else str(tmp_path / "agent.mnem")


@pytest.fixture
def repo(url: str) -> Iterator[Repository]:
    with mnemosyne.open(url, create=True, author="tester") as repository:
        yield repository


@pytest.fixture
def timed(tmp_path: Path, clock: Clock) -> Iterator[Repository]:
    """A repository whose time is the fixture `clock`."""
    with mnemosyne.open(tmp_path / "timed.mnem", create=True) as opened:
        yield Repository(opened.blocks.engine, author="tester", clock=clock)


@pytest.fixture
def values() -> Callable[[mnemosyne.Snapshot], dict[str, object]]:
    """The contents of a snapshot as a plain dictionary."""
    return lambda snapshot: {record.key: record.content for record in snapshot.scan()}

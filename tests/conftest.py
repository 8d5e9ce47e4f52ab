"""What all tests share: Hypothesis profiles, no network, repositories to work on, children."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import mnemosyne_vcs
from mnemosyne_vcs import Repository
from mnemosyne_vcs.testing._children import STORE_CHILD, Child
from mnemosyne_vcs.testing.repository._fixtures import Clock

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


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store that does not exist yet, on each engine."""
    return "memory://" if request.param == "memory" else str(tmp_path / "agent.mnem")


@pytest.fixture
def repo(url: str) -> Iterator[Repository]:
    with mnemosyne_vcs.open(url, create=True, author="tester") as repository:
        yield repository


@pytest.fixture
def new_url(tmp_path: Path) -> Callable[[], str]:
    """Makes URLs of stores that do not exist yet, and that any process can open."""
    numbers = count()
    return lambda: str(tmp_path / f"store-{next(numbers)}.mnem")


@pytest.fixture
def shared_url(new_url: Callable[[], str]) -> str:
    """The URL of a store that does not exist yet, and that any process can open."""
    return new_url()


@pytest.fixture
def opened() -> Iterator[Callable[..., Repository]]:
    """Opens repositories, and closes them after the test."""
    with ExitStack() as repositories:
        yield lambda url, **options: repositories.enter_context(mnemosyne_vcs.open(url, **options))


@pytest.fixture
def counted_url(shared_url: str) -> str:
    """The URL of a store in which `total` counts the other records, of which there are none."""
    with mnemosyne_vcs.open(shared_url, create=True) as repository:
        repository.put("total", 0)
    return shared_url


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    """Starts children that do to a store what `_store_child` tells."""
    with ExitStack() as children:
        yield lambda *arguments, **options: children.enter_context(
            Child(STORE_CHILD, *arguments, **options)
        )


@pytest.fixture
def timed(tmp_path: Path, clock: Clock) -> Iterator[Repository]:
    """A repository whose time is the fixture `clock`."""
    with mnemosyne_vcs.open(tmp_path / "timed.mnem", create=True) as opened:
        yield Repository(opened.blocks.engine, author="tester", clock=clock)


@pytest.fixture
def values() -> Callable[[mnemosyne_vcs.Snapshot], dict[str, object]]:
    """The contents of a snapshot as a plain dictionary."""
    return lambda snapshot: {record.key: record.content for record in snapshot.scan()}

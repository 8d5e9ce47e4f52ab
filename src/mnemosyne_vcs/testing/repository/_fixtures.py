"""What the tests of repositories share: repositories to work on, a clock, other processes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import Repository
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.testing._children import STORE_CHILD, Child

__all__ = ["Clock", "RepositoryFixtures", "needs"]

T = TypeVar("T", bound=Callable[..., object])


def needs(*capabilities: str) -> Callable[[T], T]:
    """Skip a test, or all that a class defines, where the engine cannot do what it is about.

    Args:
        capabilities: names of attributes of `Capabilities`.
    """

    def mark(target: T) -> T:
        for test in _tests_of(target):
            test.needs = capabilities
        return target

    return mark


def _tests_of(target: object) -> list[Any]:
    if not isinstance(target, type):
        return [target]
    return [test for name, test in vars(target).items() if name.startswith("test_")]


class Clock:
    """A clock that stands still until it is moved; in UTC milliseconds."""

    def __init__(self, now: int = 1_789_999_980_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, milliseconds: int) -> None:
        """Move the clock."""
        self.now += milliseconds


class RepositoryFixtures:
    """Fixtures that follow from two others: `new_url` makes URLs of repositories that do not exist
    yet and that any process can open, and `url` is one that does not exist yet."""

    @pytest.fixture(autouse=True)
    def able(self, request: pytest.FixtureRequest) -> None:
        """Skip a test that needs what the engine cannot do; see `needs`."""
        wanted: tuple[str, ...] = getattr(request.function, "needs", ())
        if wanted:
            given = "url" in request.fixturenames
            url = request.getfixturevalue("url") if given else request.getfixturevalue("new_url")()
            can = self._capabilities(url)
            if lacking := [name for name in wanted if getattr(can, name) is None]:
                pytest.skip(f"the engine cannot do this: {', '.join(lacking)}")

    @classmethod
    def _capabilities(cls, url: str) -> Capabilities:
        """What the engine of a URL can do; a store is opened for that once."""
        known: dict[str, Capabilities] = cls.__dict__.get("_known", {})
        scheme = url.partition("://")[0] if "://" in url else "path"
        if scheme not in known:
            engine = open_engine(url, create=True)
            known = {**known, scheme: Capabilities.of(engine)}
            engine.close()
            cls._known = known
        return known[scheme]

    @pytest.fixture
    def clock(self) -> Clock:
        """A clock that stands still."""
        return Clock()

    @pytest.fixture
    def repo(self, url: str) -> Iterator[Repository]:
        """A new and empty repository."""
        with mnemosyne_vcs.open(url, create=True, author="tester") as repository:
            yield repository

    @pytest.fixture
    def shared_url(self, new_url: Callable[[], str]) -> str:
        """The URL of a store that does not exist yet, and that any process can open."""
        return new_url()

    @pytest.fixture
    def counted_url(self, shared_url: str) -> str:
        """The URL of a store in which `total` counts the other records, of which there are none."""
        with mnemosyne_vcs.open(shared_url, create=True) as repository:
            repository.put("total", 0)
        return shared_url

    @pytest.fixture
    def opened(self) -> Iterator[Callable[..., Repository]]:
        """Opens repositories, and closes them after the test."""
        with ExitStack() as repositories:

            def open_one(url: str, **options: Any) -> Repository:
                return repositories.enter_context(mnemosyne_vcs.open(url, **options))

            yield open_one

    @pytest.fixture
    def start(self) -> Iterator[Callable[..., Child]]:
        """Starts children that do to a store what `_store_child` tells."""
        with ExitStack() as children:

            def begin(*arguments: object, within: Sequence[str] = ()) -> Child:
                return children.enter_context(Child(STORE_CHILD, *arguments, within=within))

            yield begin

    @pytest.fixture
    def values(self) -> Callable[[mnemosyne_vcs.Snapshot], dict[str, Any]]:
        """The contents of a snapshot as a plain dictionary."""
        return lambda snapshot: {record.key: record.content for record in snapshot.scan()}

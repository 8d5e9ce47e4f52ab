"""Object stores for tests, and URLs of repositories on them."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from objectstore.server import ENVIRONMENT, Moto, ObjectStore, SeaweedFS

numbers = count()


@pytest.fixture(scope="session")
def keys() -> Iterator[None]:
    """The keys of the tests' stores in the environment, where `obstore` looks."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def seaweedfs(keys: None) -> Iterator[SeaweedFS]:
    store = SeaweedFS()
    yield store
    store.remove()


@pytest.fixture(scope="session")
def moto(keys: None) -> Iterator[ObjectStore]:
    store = Moto()
    yield store
    store.remove()


@pytest.fixture
def new_folder() -> Callable[[], str]:
    """Makes prefixes below which there is nothing."""
    return lambda: f"test/{next(numbers)}"


@pytest.fixture
def folder(new_folder: Callable[[], str]) -> str:
    """A prefix below which there is nothing."""
    return new_folder()


@pytest.fixture
def new_url(seaweedfs: SeaweedFS, new_folder: Callable[[], str]) -> Callable[[], str]:
    """Makes URLs of repositories that do not exist yet."""
    return lambda: seaweedfs.url(new_folder())


@pytest.fixture
def url(seaweedfs: SeaweedFS, folder: str) -> str:
    """The URL of the repository below the fixture `folder`, which does not exist yet."""
    return seaweedfs.url(folder)

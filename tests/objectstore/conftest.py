"""Object stores for the tests here; they are left out where the packages are missing."""

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from objectstore.server import ObjectStore, SeaweedFS

collect_ignore_glob = [
    "test_*.py" for package in ("obstore", "boto3", "moto") if find_spec(package) is None
]
_numbers = count()


@pytest.fixture(scope="session")
def keys() -> Iterator[None]:
    """The keys of the tests' stores in the environment, where `obstore` looks."""
    from objectstore.server import ENVIRONMENT

    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def seaweedfs(keys: None) -> "Iterator[SeaweedFS]":
    from objectstore.server import SeaweedFS

    store = SeaweedFS()
    yield store
    store.remove()


@pytest.fixture(scope="session")
def moto(keys: None) -> "Iterator[ObjectStore]":
    from objectstore.server import Moto

    store = Moto()
    yield store
    store.remove()


@pytest.fixture
def folder() -> str:
    """A prefix below which there is nothing."""
    return f"test/{next(_numbers)}"


@pytest.fixture
def url(seaweedfs: "SeaweedFS", folder: str) -> str:
    """The URL of a repository that does not exist yet."""
    return seaweedfs.url(folder)

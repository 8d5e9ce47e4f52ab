"""A PostgreSQL server for tests, and URLs of repositories on it."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from postgres.server import PASSWORD, Server

numbers = count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    server.start()
    try:
        server.execute("postgres", "CREATE DATABASE mnemosyne")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PGPASSWORD", PASSWORD)  # where libpq looks, so that URLs do without
            yield server
    finally:
        server.remove()


@pytest.fixture
def new_url(server: Server) -> Callable[[], str]:
    """Makes URLs of repositories that do not exist yet."""
    return lambda: server.url(f"test-{next(numbers)}")


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    """The URL of a repository that does not exist yet."""
    return new_url()

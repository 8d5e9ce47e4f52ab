"""A PostgreSQL server for tests, URLs of repositories on it, and a wire that can be cut."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import Repository
from postgres.proxy import Proxy
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


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    """A wire to the server that can be cut."""
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def far(server: Server, repo: Repository, proxy: Proxy) -> Iterator[Repository]:
    """The repository of the fixture `repo` as it is reached by the proxy."""
    name = repo.url.partition("repository=")[2]
    with mnemosyne_vcs.open(server.url(name, port=proxy.port), author="far") as repository:
        yield repository

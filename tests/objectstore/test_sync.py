"""Clone, fetch, push and pull between an object store and SQLite."""

from itertools import count

import pytest
from click.testing import CliRunner

from mnemosyne.cli.app import mnem as app
from test_sync import TestBetweenStores, TestRemotes  # noqa: F401


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


def test_mnem_carries_memory_there_and_back(new_url, other_url):
    def mnem(*arguments):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        return result.output

    url = new_url()
    mnem("-s", url, "init")
    mnem("-s", url, "put", "theirs", "1")
    mnem("clone", url, other_url)
    assert mnem("-s", other_url, "remote").split()[0] == "origin"
    mnem("-s", other_url, "put", "ours", "2")
    assert "1 commit" in mnem("-s", other_url, "push")
    mnem("-s", url, "put", "later", "3")
    mnem("-s", other_url, "pull")
    assert mnem("-s", other_url, "ls") == mnem("-s", url, "ls")
    assert mnem("-s", other_url, "log") == mnem("-s", url, "log")
    assert "all sound" in mnem("-s", other_url, "verify")

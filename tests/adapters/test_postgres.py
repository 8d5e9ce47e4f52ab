"""CrewAI's memory in PostgreSQL: the contract of its backends, and what ours adds to it."""

from collections.abc import Callable
from urllib.parse import quote

import pytest

from adapters.test_backend import (  # noqa: F401
    TestHistory,
    TestProcess,
    TestSearch,
    TestStore,
    backend,
    registered,
)
from mnemosyne_vcs.adapters.crewai import MnemosyneStorageBackend
from mnemosyne_vcs.testing.crewai import CheckpointContract, StorageBackendContract
from postgres.fixtures import new_url, server, url  # noqa: F401
from postgres.server import Server

pytestmark = pytest.mark.crewai


class TestContract(StorageBackendContract, CheckpointContract):
    opener = "mnemosyne_vcs.adapters.crewai:MnemosyneStorageBackend"

    @pytest.fixture
    def locate(self, server: Server, url: str) -> Callable[[str], str]:  # noqa: F811
        return lambda name: f"{url}-{quote(name)}"


def test_what_is_tested_is_in_postgresql(backend: MnemosyneStorageBackend):  # noqa: F811
    assert backend.repository.url.startswith("postgresql://")

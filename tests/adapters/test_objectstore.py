"""CrewAI's memory in an object store: the contract of its backends, and what ours adds to it.

One thing differs: the threads that ask the store are not there in a forked child, which is told so.
"""

import os
from collections.abc import Callable

import pytest

from adapters.test_backend import (  # noqa: F401
    TestHistory,
    TestSearch,
    TestStore,
    backend,
    record,
    registered,
)
from adapters.test_backend import TestProcess as _TestProcess
from mnemosyne_vcs import EngineError
from mnemosyne_vcs.adapters.crewai import MnemosyneStorageBackend
from mnemosyne_vcs.testing.crewai import CheckpointContract, StorageBackendContract
from mnemosyne_vcs.testing.crewai.base import OpenBackend
from mnemosyne_vcs.testing.crewai.peer import Peers
from objectstore.fixtures import folder, keys, new_folder, new_url, seaweedfs, url  # noqa: F401
from objectstore.server import SeaweedFS

pytestmark = pytest.mark.crewai


class TestProcess(_TestProcess):
    def test_a_forked_child_saves_and_the_parent_sees_it(self, backend: MnemosyneStorageBackend):  # noqa: F811
        backend.save([record("a")])
        child = os.fork()
        if child == 0:
            try:
                backend.save([record("b")])
            except EngineError as error:
                os._exit(0 if "forked process" in error.message else 2)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        backend.save([record("c")])
        assert {r.id for r, _ in backend.search([1, 0])} == {"a", "c"}


class TestContract(StorageBackendContract, CheckpointContract):
    opener = "mnemosyne_vcs.adapters.crewai:MnemosyneStorageBackend"

    @pytest.fixture
    def locate(self, seaweedfs: SeaweedFS, folder: str) -> Callable[[str], str]:  # noqa: F811
        return lambda name: seaweedfs.url(f"{folder}/{name.encode().hex()}")

    def test_fork(
        self, open_backend: OpenBackend, peers: Peers, locate: Callable[[str], str]
    ) -> None:
        """A forked child saves nothing, and its parent goes on."""
        [peer] = peers.open(1, locate("store"))
        peer.ask("save", "before", 1)
        assert peer.ask("save_in_fork", "inside") != 0
        peer.ask("save", "after", 1)
        assert peer.ask("ids") == ["after-0", "before-0"]


def test_what_is_tested_is_in_an_object_store(backend: MnemosyneStorageBackend):  # noqa: F811
    assert backend.repository.url.startswith("s3://")

from collections import Counter
from importlib.util import find_spec

import pytest

if find_spec("crewai") is None:
    pytest.skip("crewai is not installed", allow_module_level=True)

from mnemosyne_vcs.testing.crewai import CheckpointContract, StorageBackendContract

pytestmark = pytest.mark.crewai


class TestMnemosyneBackend(StorageBackendContract, CheckpointContract):
    opener = "mnemosyne_vcs.adapters.crewai:MnemosyneStorageBackend"


def test_no_group_hides_a_test_of_another():
    names = Counter(
        name
        for group in TestMnemosyneBackend.__mro__
        for name in vars(group)
        if name.startswith("test_")
    )
    assert names
    assert [name for name, count in names.items() if count > 1] == []

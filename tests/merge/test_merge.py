"""Merging: records field by field, moves, conflicts and how they are settled."""

from typing import Any

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    ReadOnlyError,
)
from mnemosyne_vcs.testing.repository.merge import MergeContract


class TestMerge(MergeContract):
    pass


def test_a_store_opened_for_reading_gives_plans_only(tmp_path: Any):
    path = tmp_path / "a.mnem"
    with mnemosyne_vcs.open(path, create=True) as repo:
        repo.create_branch("trial")
        repo.put("a", 1, branch="trial")
    with mnemosyne_vcs.open(path, read_only=True) as repo:
        assert [c.key for c in repo.plan_merge("trial").changes] == ["a"]
        with pytest.raises(ReadOnlyError):
            repo.merge("trial")

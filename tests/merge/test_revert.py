"""Acting on history: revert, cherry-pick, restore, undo."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    ReadOnlyError,
)
from mnemosyne_vcs.testing.repository.revert import RevertContract


class TestRevert(RevertContract):
    pass


def test_a_read_only_repository_plans_and_does_not_act(tmp_path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True) as repo:
        repo.put("a", 1)
    with mnemosyne_vcs.open(tmp_path / "a.mnem", read_only=True) as repo:
        assert [change.kind for change in repo.plan_undo().changes] == ["removed"]
        for act in (repo.undo, lambda: repo.revert("main"), lambda: repo.restore(source="main~1")):
            with pytest.raises(ReadOnlyError):
                act()

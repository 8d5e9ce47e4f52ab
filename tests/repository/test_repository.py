"""The repository: opening, branches, tags, snapshots, transactions."""

from pathlib import Path

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    NotFoundError,
)
from mnemosyne_vcs.testing.repository.basics import BasicsContract


class TestBasics(BasicsContract):
    pass


def test_opening_what_is_not_there_names_the_url_and_makes_nothing(tmp_path: Path):
    path = tmp_path / "none.mnem"
    with pytest.raises(NotFoundError, match=r"none\.mnem"):
        mnemosyne_vcs.open(path)
    assert list(tmp_path.iterdir()) == []


def test_every_repository_begins_with_the_same_commit():
    first, second = (mnemosyne_vcs.open("memory://", create=True) for _ in range(2))
    assert first.resolve().id == second.resolve().id

"""Backups that are killed, that fail, and that run at once."""

import os

import pytest

import mnemosyne_vcs
from children import BACKUP_CHILD
from mnemosyne_vcs import AlreadyExistsError, EngineError
from mnemosyne_vcs.testing._children import Child


def names_in(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def repo(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "copies").mkdir()
    repo = mnemosyne_vcs.open(tmp_path / "store" / "a.mnem", create=True)
    for number in range(20):
        repo.put(f"k/{number}", {"n": number})
    yield repo
    repo.close()


@pytest.mark.parametrize("event", ["os.truncate", "os.link", "os.remove"])
def test_a_backup_that_is_killed_is_not_in_the_way_of_the_next(repo, tmp_path, event):
    copy = tmp_path / "copies" / "b.mnem"
    with Child(BACKUP_CHILD, repo.url, copy, event) as backup:
        assert backup.line() == f"at {event}"
        backup.kill()
    assert copy.exists() is (event == "os.remove")
    assert [name for name in names_in(copy.parent) if name.endswith(".mnem")] == [
        "b.mnem" for _ in range(copy.exists())
    ]
    if event == "os.remove":
        assert mnemosyne_vcs.open(copy, read_only=True).verify().ok
        copy.unlink()
    repo.backup(copy)
    assert mnemosyne_vcs.open(copy).resolve() == repo.resolve()


def test_a_backup_that_fails_leaves_nothing(repo, tmp_path):
    with pytest.raises(EngineError, match="nowhere"):
        repo.backup(tmp_path / "copies" / "nowhere" / "b.mnem")
    (tmp_path / "copies" / "b.mnem").symlink_to("dangling")
    with pytest.raises(AlreadyExistsError):
        repo.backup(tmp_path / "copies" / "b.mnem")
    assert names_in(tmp_path / "copies") == ["b.mnem"]


def test_of_backups_to_one_path_one_is_made(repo, tmp_path):
    copy = tmp_path / "copies" / "b.mnem"
    with Child(BACKUP_CHILD, repo.url, copy, "os.link") as backup:
        assert backup.line() == "at os.link"
        repo.backup(copy)
        before = copy.read_bytes()
        backup.go()
        assert backup.line().startswith("AlreadyExistsError")
        assert backup.finish() == []
    assert copy.read_bytes() == before
    assert names_in(tmp_path / "copies") == ["b.mnem"]
    assert os.stat(copy).st_nlink == 1  # noqa: PTH116


def test_an_engine_that_copies_itself_overwrites_nothing(repo, tmp_path):
    copy = tmp_path / "copies" / "b.mnem"
    copy.touch()
    with pytest.raises(AlreadyExistsError):
        repo.blocks.engine.backup(str(copy))
    with pytest.raises(AlreadyExistsError):
        repo.backup(copy)
    assert copy.read_bytes() == b""

"""`--allow-mixed-vectors`: what would put vectors of two dimensions side by side is refused."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import Provenance


@pytest.fixture
def changed(tmp_path, here):
    """A memory that was emptied and filled by another model since; a branch with the old one."""
    path = tmp_path / "memory.mnem"
    with mnemosyne_vcs.open(path, create=True, author="crew") as repo:
        repo.put("/a", "old", embedding=[1, 0])
        repo.create_branch("old")
        repo.put("/o", "old", branch="old", embedding=[1, 0])
        repo.transact(lambda tx: tx.delete("/a"), message="reset")
        repo.put("/b", "old", embedding=[1, 0])
        bad = Provenance(source="bad")
        repo.put("/b", "new", embedding=[1, 0, 0], provenance=bad)
        repo.put("/c", "new", embedding=[0, 1, 0])
    return path


VERBS = [
    ["merge", "old"],
    ["pull", "{remote}", "old"],
    ["revert", "main~3", "--yes"],
    ["cherry-pick", "old"],
    ["restore", "--from", "old", "/a", "--yes"],
    ["trace", "--source", "bad", "--retract", "--yes"],
]


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words[0])
def test_it_is_refused_unless_it_is_allowed(mnem, changed, tmp_path, words):
    remote = tmp_path / "elsewhere" / "remote.mnem"
    if words[0] == "pull":
        remote.parent.mkdir()
        with mnemosyne_vcs.open(changed) as repo:
            repo.backup(remote)
    words = [word.format(remote=remote) for word in words]
    error = mnem(*words, "--json", code=5).error
    assert error["kind"] == "dimension"
    assert "--allow-mixed-vectors" in error["message"]
    mnem(*words, "--allow-mixed-vectors")
    with mnemosyne_vcs.open(changed, read_only=True) as repo:
        assert repo.at().dimensions() == [2, 3]


def test_undo(mnem, changed):
    with mnemosyne_vcs.open(changed) as repo:
        repo.transact(lambda tx: tx.delete("/c"), trailers={"Run-Id": "gone"})
        repo.transact(lambda tx: tx.delete("/b"))
        repo.put("/d", "newest", embedding=[1, 0, 0, 0])
    mnem("undo", "--run", "gone", "--yes", code=5)
    mnem("undo", "--run", "gone", "--yes", "--allow-mixed-vectors")


def test_it_belongs_to_retract(mnem, changed):
    assert "--retract" in mnem("trace", "--source", "x", "--allow-mixed-vectors", code=2).stderr

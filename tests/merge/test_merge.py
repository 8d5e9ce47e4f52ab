"""Merging: records field by field, moves, conflicts and how they are settled."""

from random import Random
from typing import Any

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    Commit,
    ReadOnlyError,
    tree,
)
from mnemosyne_vcs.merge.trees import State, merge_states, merge_trees
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


def test_changes_that_are_not_written_count_as_if_they_were_in_their_tree(repo):
    """Of base and ours, some keys differ from their trees, some in both and some in one."""
    rng, keys = Random(5), [f"k/{number}" for number in range(24)]

    def edited(start: Commit) -> Commit:
        changed = [key for key in keys if rng.random() < 0.5]
        repo.restore(source=start)
        return repo.transact(lambda tx: [tx.put(key, rng.randrange(9)) for key in changed])

    start = repo.transact(lambda tx: [tx.put(key, 0) for key in keys])
    blocks, node = repo.blocks, repo.blocks.node
    for _ in range(10):
        base, other = edited(start), edited(start).tree_cid
        roots = [commit.tree_cid for commit in (base, edited(base), edited(base))]
        base, ours = (
            State(other, {key: after for key, _, after in tree.diff(node, other, root)})
            for root in roots[:2]
        )
        expected = merge_trees(blocks, *roots)
        merged = merge_states(blocks, base, ours, roots[2])
        assert merged.changes == expected.changes
        clashes, wanted = (
            [clash.conflict.key for clash in each.clashes] for each in (merged, expected)
        )
        assert clashes == wanted
        assert expected.changes
        assert expected.clashes

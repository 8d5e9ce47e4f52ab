"""A tree as a value: its root, with the store of its objects."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Commit, Record

__all__ = ["Tree"]


@dataclass(frozen=True, slots=True)
class Tree:
    """The records of one state. Its methods raise as `Blocks.read` does.

    Attributes:
        blocks: the objects.
        root: id of the root node.
    """

    blocks: Blocks
    root: Id

    @classmethod
    def of(cls, blocks: Blocks, commit: Commit) -> Self:
        """The tree of a commit."""
        return cls(blocks, commit.tree_cid)

    @classmethod
    def before(cls, blocks: Blocks, commit: Commit) -> Self:
        """The tree of the first parent of a commit, which must have one."""
        return cls.of(blocks, blocks.commit(commit.parent_cids[0]))

    def get(self, key: str) -> Id | None:
        """The id of the record under a key, or None."""
        return tree.get(self.blocks.node, self.root, key)

    def record(self, key: str) -> Record | None:
        """The record under a key, or None."""
        block = self.get(key)
        return None if block is None else self.blocks.record(key, block)

    def scan(
        self, prefix: str = "", *, start: str | None = None, reverse: bool = False
    ) -> Iterator[tuple[str, Id]]:
        """Keys that start with a prefix and the ids of their records, in order of key.

        Args:
            prefix: what the keys start with.
            start: the first key to give; with `reverse`, the highest.
            reverse: from the highest key down.
        """
        return tree.scan(self.blocks.node, self.root, prefix, start=start, reverse=reverse)

    def count(self, prefix: str = "") -> int:
        """The number of keys that start with a prefix, without reading records."""
        return tree.count(self.blocks.node, self.root, prefix)

    def children(self, prefix: str = "") -> Iterator[str]:
        """The next parts of the keys below a prefix; those that have keys below end in `/`."""
        return tree.children(self.blocks.node, self.root, prefix)

    def diff(self, other: Self, prefix: str = "") -> Iterator[tuple[str, Id | None, Id | None]]:
        """The keys that differ in another tree: key, record here and record there, in order.

        Args:
            other: the other tree.
            prefix: only keys that start with this.
        """
        return tree.diff(self.blocks.node, self.root, other.root, prefix)

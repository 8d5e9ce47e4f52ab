"""Storing old versions of objects as differences, in engines that can."""

from collections.abc import Iterator
from contextlib import suppress

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks, CollectedError, while_it_lasts
from mnemosyne_vcs.graph import ancestors
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.refs import BRANCH, ref_heads

__all__ = ["repack"]


def repack(blocks: Blocks) -> None:
    """Store the objects of the history as differences to those that they replaced.

    What a branch has now stays as it is, so that it is read as quickly as before. Nothing happens
    if the engine does not do that. Others may write meanwhile.

    Args:
        blocks: the objects.

    Raises:
        ReadOnlyError: the store does not accept writes.
        BusyError: other writers held the store for longer than the busy timeout.
        EngineError: the store failed.
        NotFoundError: an object that is reached is missing.
        CorruptObjectError: an object that is reached is damaged.
    """
    if blocks.can.repack is not None:
        blocks.can.repack.repack(_replaced(blocks))


def _replaced(blocks: Blocks) -> Iterator[tuple[Id, Id]]:
    """The nodes and records of the history with those that they replaced, oldest first."""
    trees = while_it_lasts(lambda: _trees(blocks))
    present = while_it_lasts(lambda: _present(blocks))
    for old, new in trees:
        with suppress(CollectedError):  # another collector is at work
            for pair in list(tree.replaced(blocks.node, old, new)):
                if pair[0] not in present:
                    yield pair


def _present(blocks: Blocks) -> set[Id]:
    """The nodes and records of all branches."""
    found: set[Id] = set()
    level = {blocks.commit(head).tree_cid for head in ref_heads(blocks, BRANCH).values()}
    while level:
        found |= level
        nodes = blocks.nodes(level)
        found.update(link for node in nodes.values() if not node.level for link in node.links)
        level = {link for node in nodes.values() if node.level for link in node.links} - found
    return found


def _trees(blocks: Blocks) -> list[tuple[Id, Id]]:
    """The trees of each commit and of its first parent, oldest first."""
    heads = blocks.engine.refs().values()
    found = [
        (commit.parent_cids, commit.cid, commit.tree_cid)
        for commit in ancestors(blocks.walk(), heads)
    ]
    roots = {commit: root for _, commit, root in found}
    return [(roots[parents[0]], root) for parents, _, root in reversed(found) if parents]

"""The objects that a commit adds to its parents, found by comparing trees, and checked.

The cost is that of the differences. Blocks that a commit shares with its parents are not
read: a store that has the parents has checked them.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import CorruptObjectError
from mnemosyne_vcs.format.objects import Node
from mnemosyne_vcs.ids import Id, text_id
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.refs import ROOT_COMMIT

__all__ = ["Additions", "additions"]

T = TypeVar("T")


@dataclass(slots=True)
class Additions:
    """The parts of a commit's tree that none of its parents has.

    Attributes:
        root: the tree.
        nodes: its new nodes.
        records: its new records.
        replaced: records of the parents that it does not have any more.
    """

    root: Id
    nodes: dict[Id, Node] = field(default_factory=dict[Id, Node])
    records: set[Id] = field(default_factory=set[Id])
    replaced: set[Id] = field(default_factory=set[Id])

    def ordered(self) -> Iterator[tuple[Id, tuple[Id, ...]]]:
        """Every new record and node with the new objects that it links to, children first."""
        return self._below(self.root, set())

    def _below(self, block: Id, given: set[Id]) -> Iterator[tuple[Id, tuple[Id, ...]]]:
        node = self.nodes.get(block)
        if node is None or block in given:
            return
        given.add(block)
        new = self.nodes if node.level else self.records
        links = tuple(link for link in node.links if link in new)
        for link in links:
            if node.level:
                yield from self._below(link, given)
            elif link not in given:
                given.add(link)
                yield link, ()
        yield block, links


def additions(blocks: Blocks, commits: Sequence[Commit]) -> list[Additions]:
    """Find and check what each of some commits adds to its parents.

    The commits are compared in step, so that the nodes of all are read together.

    Args:
        blocks: the objects, with the commits and their parents.
        commits: the commits.

    Raises:
        CorruptObjectError: a commit does not follow its parents in time and generation, or the
            nodes that it adds do not make a tree, or an object is damaged.
        NotFoundError: an object is missing.
    """
    found = [Additions(commit.tree_cid) for commit in commits]
    searches = [
        _search(commit, [blocks.commit(parent) for parent in commit.parent_cids], added)
        for commit, added in zip(commits, found, strict=True)
    ]
    asked = [(search, next(search)) for search in searches]
    while asked:
        nodes = blocks.nodes(set[Id]().union(*(wanted for _, wanted in asked)))
        answered = [(search, _go_on(search, nodes)) for search, _ in asked]
        asked = [(search, wanted) for search, wanted in answered if wanted is not None]
    return found


Search: TypeAlias = Generator[set[Id], Mapping[Id, Node], T]
"""Asks for nodes, and is sent a mapping that has them."""


def _go_on(search: Search[None], nodes: Mapping[Id, Node]) -> set[Id] | None:
    try:
        return search.send(nodes)
    except StopIteration:
        return None


def _search(commit: Commit, parents: Sequence[Commit], added: Additions) -> Search[None]:
    _check_order(commit, parents)
    old_roots = {parent.tree_cid for parent in parents}
    replaced = yield from _compare(added, old_roots)
    yield from _check_nodes(added, replaced, merged=len(old_roots) > 1)


def _compare(added: Additions, old_roots: Set[Id]) -> Search[dict[Id, Node]]:
    """Fill in what is new, level by level; returns the nodes that were replaced."""
    tops = yield {added.root, *old_roots}
    levels = {root: tops[root].level for root in (added.root, *old_roots)}
    new: set[Id] = set()
    old: set[Id] = set()
    replaced: dict[Id, Node] = {}
    for level in range(max(levels.values()), -1, -1):
        if levels[added.root] == level:
            new.add(added.root)
        old.update(root for root in old_roots if levels[root] == level)
        nodes = yield new ^ old
        here = {block: nodes[block] for block in new - old}
        gone = {block: nodes[block] for block in old - new}
        for block, node in here.items():
            if node.level != level:
                raise CorruptObjectError(
                    f"node {text_id(block)} is at level {node.level}, and its parent at {level + 1}"
                )
        added.nodes.update(here)
        replaced.update(gone)
        new = {link for node in here.values() for link in node.links}
        old = {link for node in gone.values() for link in node.links}
    added.records, added.replaced = new - old, old - new
    return replaced


def _check_order(commit: Commit, parents: Sequence[Commit]) -> None:
    if not parents and commit.id != ROOT_COMMIT.id:
        raise CorruptObjectError(f"commit {commit.id} has no parents and is not the root commit")
    generation = max((parent.generation + 1 for parent in parents), default=0)
    if commit.generation != generation or any(
        parent.timestamp_ms > commit.timestamp_ms for parent in parents
    ):
        raise CorruptObjectError(
            f"commit {commit.id} does not follow its parents in time and generation"
        )


Entry: TypeAlias = tuple[str, Id, int]
"""An inner node's entry for a child: its last key, its id, the count of records below it."""


def _check_nodes(added: Additions, old_nodes: Mapping[Id, Node], *, merged: bool) -> Search[None]:
    """Compare the entries of new inner nodes with their children.

    An entry that a replaced node had too is known to be right; so is the order of two such
    neighbours, if they come from one tree.
    """
    top = added.nodes.get(added.root)
    if top and top.level and len(top.links) == 1:
        raise CorruptObjectError(f"node {text_id(added.root)} is a root with one child")
    known = {entry for node in old_nodes.values() if node.level for entry in _entries(node)}
    doubtful: list[tuple[Id, int, str, Entry]] = []
    for block, node in added.nodes.items():
        before, sure = "", not merged
        for entry in _entries(node) if node.level else ():
            was_sure, sure = sure, entry in known and not merged
            if not (was_sure and sure):
                doubtful.append((block, node.level, before, entry))
            before = entry[0]
    nodes = yield {entry[1] for *_, entry in doubtful}
    for block, level, before, entry in doubtful:
        if not _fits(nodes[entry[1]], level, before, entry):
            raise CorruptObjectError(
                f"node {text_id(block)} does not agree with its child {text_id(entry[1])}"
            )


def _entries(node: Node) -> Iterator[Entry]:
    return zip(node.keys, node.links, node.counts, strict=True)


def _fits(child: Node, level: int, before: str, entry: Entry) -> bool:
    """Whether a child agrees with its entry in the node above, and begins after a key."""
    key, _, count = entry
    return (
        child.level == level - 1
        and bool(child.keys)
        and (child.keys[-1], child.count) == (key, count)
        and child.keys[0] > before
    )

"""The ordered Merkle map from key to record: get, scan, count, children, edit, diff.

Everything here is a pure function over a lookup of nodes. The same records give the same root,
in whatever order they were added; `edit` has the rule.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import repeat

from mnemosyne_vcs.format.objects import EMPTY_NODE, Node
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.tree.edit import EMPTY_ROOT, Edit, Lookup, edit

__all__ = [
    "after",
    "build",
    "children",
    "count",
    "diff",
    "get",
    "get_many",
    "replaced",
    "scan",
    "walk",
]


def build(records: Mapping[str, Id]) -> Edit:
    """The tree of these records."""
    return edit({EMPTY_ROOT: EMPTY_NODE}.__getitem__, EMPTY_ROOT, records)


def get(lookup: Lookup, root: Id, key: str) -> Id | None:
    """The record of a key, or None."""
    node = _load(lookup, root)
    while True:
        index = bisect_left(node.keys, key)
        if index == len(node.keys):
            return None
        link = node.links[index]
        if not node.level:
            return link if node.keys[index] == key else None
        node = lookup(link)


def get_many(
    lookup: Callable[[Collection[Id]], Mapping[Id, Node]], root: Id, keys: Iterable[str]
) -> dict[str, Id]:
    """The records of keys; keys without a record are left out.

    Args:
        lookup: gives many nodes of the tree at once; it is called once for each level.
        root: the tree.
        keys: the keys.
    """
    found: dict[str, Id] = {}
    places = {} if root == EMPTY_ROOT else dict.fromkeys(keys, root)
    while places:
        nodes = lookup(set(places.values()))
        below: dict[str, Id] = {}
        for key, place in places.items():
            node = nodes[place]
            index = bisect_left(node.keys, key)
            if index < len(node.keys) and node.level:
                below[key] = node.links[index]
            elif index < len(node.keys) and node.keys[index] == key:
                found[key] = node.links[index]
        places = below
    return found


def entries(
    lookup: Callable[[Collection[Id]], Mapping[Id, Node]], root: Id
) -> list[tuple[str, Id]]:
    """All keys with their records, in key order.

    Args:
        lookup: gives many nodes of the tree at once; it is called once for each level.
        root: the tree.
    """
    level = [] if root == EMPTY_ROOT else [root]
    while level:
        found = lookup(level)
        nodes = [found[block] for block in level]
        if not nodes[0].level:
            return [each for node in nodes for each in zip(node.keys, node.links, strict=True)]
        level = [link for node in nodes for link in node.links]
    return []


def scan(
    lookup: Lookup, root: Id, prefix: str = "", *, start: str | None = None, reverse: bool = False
) -> Iterator[tuple[str, Id]]:
    """The keys under a prefix with their records, in key order; nodes are read as needed.

    Args:
        lookup: gives the nodes of the tree.
        root: the tree.
        prefix: what the keys start with.
        start: the first key to give, if it is there; in reverse, the highest.
        reverse: highest key first.
    """
    low, high = prefix, after(prefix)
    if start is not None and reverse:
        high = start + "\0" if high is None else min(high, start + "\0")
    elif start is not None:
        low = max(low, start)
    for node, first, end in _leaves(lookup, _load(lookup, root), low, high, reverse):
        keys, links = node.keys[first:end], node.links[first:end]
        if reverse:
            yield from zip(reversed(keys), reversed(links), strict=True)
        else:
            yield from zip(keys, links, strict=True)


def count(lookup: Lookup, root: Id, prefix: str = "") -> int:
    """The number of keys that start with the prefix, in O(log n)."""
    top = _load(lookup, root)
    high = after(prefix)
    return (top.count if high is None else _rank(lookup, top, high)) - _rank(lookup, top, prefix)


def children(lookup: Lookup, root: Id, prefix: str = "", separator: str = "/") -> Iterator[str]:
    """The names directly below a prefix, in key order.

    A subtree is given once, as its name with the separator; a record is given as its bare name. A
    record whose key is the prefix itself is not below it.

    Args:
        lookup: gives the nodes of the tree.
        root: the tree.
        prefix: where to look; a subtree's prefix ends in the separator.
        separator: what divides the parts of a key.
    """
    start: str | None = prefix + "\0"
    while start is not None:
        for key, _ in scan(lookup, root, prefix, start=start):
            end = key.find(separator, len(prefix))
            if end >= 0:
                end += len(separator)
                yield key[len(prefix) : end]
                start = after(key[:end])
                break
            yield key[len(prefix) :]
        else:
            return


def diff(
    lookup: Lookup, before: Id, after: Id, prefix: str = ""
) -> Iterator[tuple[str, Id | None, Id | None]]:
    """The keys whose records differ between two trees, in key order.

    Subtrees that the two share are skipped, so the cost is that of the differences.

    Args:
        lookup: gives the nodes of both trees.
        before: the first tree.
        after: the second tree.
        prefix: what the keys start with.

    Returns:
        Key, record before and record after; None for no record.
    """
    if before == after:
        return
    olds, news = _Front(lookup, before, prefix), _Front(lookup, after, prefix)
    while olds.level > GONE or news.level > GONE:
        if max(olds.level, news.level) > RECORD:
            if olds.level == news.level and olds.link == news.link:
                olds.skip()
                news.skip()
                continue
            if olds.level == news.level:
                mine, others = olds.take(), news.take()
                shared = set(mine).intersection(others)
                olds.put([each for each in mine if each not in shared])
                news.put([each for each in others if each not in shared])
            else:
                higher = max(olds, news, key=lambda front: front.level)
                higher.put(higher.take())
        elif news.level == GONE or (olds.level == RECORD and olds.key < news.key):
            yield olds.key, olds.link, None
            olds.skip()
        elif olds.level == GONE or news.key < olds.key:
            yield news.key, None, news.link
            news.skip()
        else:
            if olds.link != news.link:
                yield olds.key, olds.link, news.link
            olds.skip()
            news.skip()


def walk(lookup: Lookup, root: Id, known: set[Id]) -> Iterator[tuple[Id, str | None]]:
    """Every block that a tree links to, once; nodes before their contents.

    Args:
        lookup: gives the nodes of the tree.
        root: the tree.
        known: ids to leave out, nodes among them with all below; gains each id that is given.

    Returns:
        The id of a node and None, or the id of a record and its first key.
    """
    if root in known:
        return
    known.add(root)
    yield root, None
    node = _load(lookup, root)
    for key, link in zip(node.keys, node.links, strict=True):
        if node.level:
            yield from walk(lookup, link, known)
        elif link not in known:
            known.add(link)
            yield link, key


RECORD = -1
GONE = -2


class _Front:
    """The rest of a tree, given by its first entry: a node, a record, or nothing.

    Attributes:
        level: that of the node, `RECORD` or `GONE`.
        key: the last key of the node, or the record's.
        link: the id of the node or the record.
    """

    def __init__(self, lookup: Lookup, root: Id, prefix: str) -> None:
        self._lookup = lookup
        self._low, self._high = prefix, after(prefix)
        self._rest: list[tuple[int, str, Id]] = []
        self._top: Node | None = _load(lookup, root)
        self.level, self.key, self.link = GONE, "", root
        if self._top.keys:
            self.level, self.key = self._top.level, self._top.keys[-1]

    def skip(self) -> None:
        """Skip the first entry."""
        self.level, self.key, self.link = self._rest.pop() if self._rest else (GONE, "", b"")

    def take(self) -> list[tuple[int, str, Id]]:
        """The contents of the node at the front, last first."""
        node, self._top = self._top or self._lookup(self.link), None
        return self._held(node)

    def put(self, held: list[tuple[int, str, Id]]) -> None:
        """Replace the first entry by the contents of a node."""
        self._rest += held
        self.skip()

    def _held(self, node: Node) -> list[tuple[int, str, Id]]:
        inside = _within(node, self._low, self._high)
        keys, links = node.keys[inside.start : inside.stop], node.links[inside.start : inside.stop]
        return list(zip(repeat(node.level - 1), keys, links))[::-1]


def _load(lookup: Lookup, root: Id) -> Node:
    return EMPTY_NODE if root == EMPTY_ROOT else lookup(root)


def after(prefix: str) -> str | None:
    """The lowest string above all that start with the prefix, or None if there is none."""
    body = prefix.rstrip("\U0010ffff")
    return body[:-1] + chr(ord(body[-1]) + 1) if body else None


def _within(node: Node, low: str, high: str | None) -> range:
    """Indexes of the entries that hold keys of low <= key < high."""
    first = bisect_left(node.keys, low) if low else 0
    if high is None:
        return range(first, len(node.keys))
    end = bisect_left(node.keys, high, first)
    return range(first, min(end + 1, len(node.keys)) if node.level else end)


def _leaves(
    lookup: Lookup, node: Node, low: str, high: str | None, reverse: bool
) -> Iterator[tuple[Node, int, int]]:
    """The leaves below a node that hold keys of low <= key < high, with the range in each."""
    inside = _within(node, low, high)
    if not node.level:
        yield node, inside.start, inside.stop
        return
    for index in reversed(inside) if reverse else inside:
        yield from _leaves(lookup, lookup(node.links[index]), low, high, reverse)


def _rank(lookup: Lookup, node: Node, key: str) -> int:
    """The number of keys below a node that are lower than the key."""
    lower = 0
    while True:
        index = bisect_left(node.keys, key)
        if not node.level:
            return lower + index
        lower += sum(node.counts[:index])
        if index == len(node.keys):
            return lower
        node = lookup(node.links[index])


def replaced(lookup: Lookup, old: Id, new: Id) -> Iterator[tuple[Id, Id]]:
    """Nodes and records of a new tree, each with the one in whose place it is in an old tree.

    The cost is that of the difference. Where the nodes are cut in other places, those that have
    most of their keys in common are not always paired.

    Args:
        lookup: gives the nodes of both trees.
        old: the root of the old tree.
        new: the root of the new tree.
    """
    if new != old and EMPTY_ROOT not in (new, old):
        yield from _replaced(lookup, old, new)


def _replaced(lookup: Lookup, old: Id, new: Id) -> Iterator[tuple[Id, Id]]:
    before, after = lookup(old), lookup(new)
    if after.level == before.level:
        yield new, old
    if after.level < before.level:
        yield from _below(lookup, _child(before, after.keys[-1]), new)
        return
    for key, link in zip(after.keys, after.links, strict=True):
        if after.level > before.level:
            yield from _below(lookup, old, link)
        elif after.level:
            yield from _below(lookup, _child(before, key), link)
        elif (other := _child(before, key)) != link and key in before.keys:
            yield link, other


def _below(lookup: Lookup, old: Id, new: Id) -> Iterator[tuple[Id, Id]]:
    return iter(()) if old == new else _replaced(lookup, old, new)


def _child(node: Node, key: str) -> Id:
    """The link at a key or after it, else the last."""
    return node.links[min(bisect_left(node.keys, key), len(node.keys) - 1)]

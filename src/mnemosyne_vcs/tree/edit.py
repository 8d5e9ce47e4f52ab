"""The rule that cuts the tree into nodes, and edits, which move the cuts.

A level of the tree is one ordered sequence of entries, cut into nodes by a rule that depends only
on keys. An edit applies its changes to the nodes they fall in, cuts again from the first inserted
or removed key until a cut falls on an old one, and passes the replaced nodes to the level above
as changes.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple, TypeAlias

from mnemosyne_vcs.format.objects import EMPTY_NODE, Node, encode_node, object_id
from mnemosyne_vcs.ids import Id

__all__ = ["EMPTY_BLOCK", "EMPTY_ROOT", "LONGEST", "SHORTEST", "Edit", "Lookup", "cut", "edit"]

Lookup: TypeAlias = Callable[[Id], Node]
"""Gives the node that an id names."""

Entry: TypeAlias = tuple[Id, int]
"""The value of a key: a record or a child, and the count of records there."""

SHORTEST = 21
"""The least number of entries of a node, unless it is the last of its level."""

LONGEST = 42
"""The greatest number of entries of a node."""

EMPTY_BLOCK = encode_node(EMPTY_NODE)
EMPTY_ROOT: Id = object_id(EMPTY_BLOCK)


@dataclass(frozen=True, slots=True)
class Edit:
    """The result of an edit.

    Attributes:
        root: the root of the tree after it.
        blocks: the bytes of its new nodes.
        nodes: the same nodes, decoded.
    """

    root: Id
    blocks: dict[Id, bytes]
    nodes: dict[Id, Node]


def edit(lookup: Lookup, root: Id, changes: Mapping[str, Id | None]) -> Edit:
    """Put and delete records.

    The cost is that of the changes: for each, a few nodes on each level.

    Args:
        lookup: gives the nodes of the tree.
        root: the tree to start from.
        changes: the new record of each key, or None to delete the key if it is there.

    Returns:
        The new root, and the nodes that the tree did not have before. The root is the same if
        nothing changed.
    """
    top = EMPTY_NODE if root == EMPTY_ROOT else lookup(root)
    if len(changes) == 1:
        ((key, link),) = changes.items()
        if link is not None and (edited := _put_in_place(lookup, top, key, link)):
            return edited
    made = Edit(root, {}, {})
    pending: dict[str, Entry | None] = {
        key: None if link is None else (link, 1) for key, link in changes.items()
    }
    level = 0
    while True:
        pending = _Level(lookup, top, level, made).rewrite(pending)
        if not pending:
            return Edit(root, {}, {})
        links = [entry[0] for entry in pending.values() if entry]
        if level >= top.level and len(links) <= 1:
            return _rooted(lookup, links, made)
        level += 1


def _put_in_place(lookup: Lookup, top: Node, key: str, link: Id) -> Edit | None:
    """The edit that puts one record, if that moves no cut: it makes the nodes of one path."""
    path: list[tuple[Node, int]] = []
    node, last, before = top, True, None
    while True:
        at = bisect_left(node.keys, key)
        if at == len(node.keys):
            return None
        if not node.level:
            break
        path.append((node, at))
        last = last and at == len(node.keys) - 1
        before = node.keys[at - 1] if at else before
        node = lookup(node.links[at])
    keys, links, added = node.keys, list(node.links), 0
    if keys[at] == key:
        if links[at] == link:
            return None
        links[at] = link
    elif last or len(keys) == LONGEST or not _keeps_cuts(0, before, keys, at, key):
        return None
    else:
        keys, added = [*keys[:at], key, *keys[at:]], 1
        links.insert(at, link)
    made = Edit(EMPTY_ROOT, {}, {})
    child = _make(made, Node(0, keys, links, [1] * len(keys)))
    for node, at in reversed(path):
        links, counts = list(node.links), list(node.counts)
        links[at] = child
        counts[at] += added
        child = _make(made, Node(node.level, node.keys, links, counts))
    return Edit(child, made.blocks, made.nodes)


def _make(made: Edit, node: Node) -> Id:
    data = encode_node(node)
    block = object_id(data)
    made.blocks[block] = data
    made.nodes[block] = node
    return block


def _rooted(lookup: Lookup, links: list[Id], made: Edit) -> Edit:
    """The edit with its root: the first level that has one node."""
    if not links:
        return Edit(EMPTY_ROOT, {EMPTY_ROOT: EMPTY_BLOCK}, {EMPTY_ROOT: EMPTY_NODE})
    root = links[0]
    node = made.nodes[root]
    while node.level and len(node.links) == 1:
        del made.blocks[root], made.nodes[root]
        root = node.links[0]
        node = made.nodes.get(root) or lookup(root)
    return Edit(root, made.blocks, made.nodes)


def cut(level: int, keys: Sequence[str], start: int) -> int:
    """The end of a node.

    Args:
        level: the level that is cut.
        keys: keys of that level from the node's first on, at least `LONGEST` of them unless the
            level ends before.
        start: index of the node's first key.

    Returns:
        The index after the node's last key.
    """
    if len(keys) - start <= SHORTEST:
        return len(keys)
    window = keys[start + SHORTEST - 1 : start + LONGEST]
    priorities = _priorities(level, window)
    return start + SHORTEST + priorities.index(min(priorities))


def _keeps_cuts(level: int, before: str | None, keys: Sequence[str], at: int, new: str) -> bool:
    """Whether inserting a key into a node moves neither its end nor that of the node before.

    The key that ends a node still has the lowest priority in its window if that is lower than the
    priority of the key that has entered the window: the new key, or the one that it has pushed
    beyond the shortest node.

    Args:
        level: that of the node.
        before: the last key of the node before it, if there is one.
        keys: the keys of the node, which is neither the last of its level nor of the greatest size.
        at: the index before which the key is inserted.
        new: the key.
    """
    seen = new if at >= SHORTEST - 1 else keys[SHORTEST - 2]
    entering, arriving, end = _priorities(level, (seen, new, keys[-1]))
    return entering > end and (before is None or arriving >= _priorities(level, (before,))[0])


def _priorities(level: int, keys: Sequence[str]) -> list[bytes]:
    """Of the keys that may end a node, the first with the lowest priority does."""
    tag = bytes((level,))
    return [sha256(tag + key.encode()).digest()[:4] for key in keys]


class _Cursor:
    """A place among the nodes of one level of a tree."""

    def __init__(self, lookup: Lookup, top: Node, level: int) -> None:
        self._lookup = lookup
        self._top = top if level <= top.level else Node(level, (), (), ())
        self._level = level
        self._path: list[tuple[Node, int]] = []
        self.node = self._top

    def seek(self, key: str) -> None:
        """Go to the first node that ends at the key or after it, else to the last node."""
        path, node = self._path, self._top
        path.clear()
        while node.level > self._level:
            index = min(bisect_left(node.keys, key), len(node.keys) - 1)
            path.append((node, index))
            node = self._lookup(node.links[index])
        self.node = node

    def step(self, by: int) -> bool:
        """Go to the next (1) or previous (-1) node; return False and stay if there is none."""
        path = self._path
        for depth in reversed(range(len(path))):
            node, index = path[depth]
            if 0 <= index + by < len(node.keys):
                path[depth:] = [(node, index + by)]
                node = self._lookup(node.links[index + by])
                while node.level > self._level:
                    index = 0 if by > 0 else len(node.keys) - 1
                    path.append((node, index))
                    node = self._lookup(node.links[index])
                self.node = node
                return True
        return False

    @property
    def last(self) -> bool:
        """Whether this is the last node of its level."""
        return all(index == len(node.keys) - 1 for node, index in self._path)

    @property
    def key_before(self) -> str | None:
        """The last key of the node before this one, if there is one."""
        return next((node.keys[index - 1] for node, index in reversed(self._path) if index), None)


class _Piece(NamedTuple):
    """An old node after changes.

    Attributes:
        last: the last key that the old node had.
        keys, links, counts: the entries, changes applied.
        moved: index of the first key that differs from the old node's; None if none does, or if the
            difference is known to move no cut.
    """

    last: str
    keys: Sequence[str]
    links: Sequence[Id]
    counts: Sequence[int]
    moved: int | None


def _last_key(node: Node) -> str:
    return node.keys[-1] if node.keys else ""


def _apply(node: Node, changes: Sequence[tuple[str, Entry | None]]) -> _Piece | None:
    """The node with changes, given in key order, or None if they change nothing."""
    keys, links, counts = list(node.keys), list(node.links), list(node.counts)
    moved: int | None = None
    touched = False
    at = 0
    for key, entry in changes:
        at = bisect_left(keys, key, at)
        present = at < len(keys) and keys[at] == key
        if (links[at] if present else None) == (entry[0] if entry else None):
            continue
        touched = True
        if present and entry:
            links[at], counts[at] = entry
            continue
        if entry:
            keys.insert(at, key)
            links.insert(at, entry[0])
            counts.insert(at, entry[1])
        else:
            del keys[at], links[at], counts[at]
        if moved is None:
            moved = at
    return _Piece(_last_key(node), keys, links, counts, moved) if touched else None


class _Level:
    """One level under edit.

    Args:
        lookup: gives the nodes of the tree.
        top: the old root.
        level: the level; one above that of the old root is empty.
        made: takes the new nodes.
    """

    def __init__(self, lookup: Lookup, top: Node, level: int, made: Edit) -> None:
        self._cursor = _Cursor(lookup, top, level)
        self._level = level
        self._made = made
        self._touched: dict[str, _Piece] = {}
        self._above: dict[str, Entry | None] = {}

    def rewrite(self, changes: Mapping[str, Entry | None]) -> dict[str, Entry | None]:
        """Apply changes, and return the resulting changes of the level above."""
        self._apply(sorted(changes.items()))
        for last, piece in self._touched.items():
            if piece.moved is not None and last not in self._above:
                self._recut(last, piece.moved)
        for last, piece in self._touched.items():
            if last not in self._above:
                self._emit(piece.keys, piece.links, piece.counts)
        return self._above

    def _apply(self, changes: Sequence[tuple[str, Entry | None]]) -> None:
        cursor, done = self._cursor, 0
        while done < len(changes):
            cursor.seek(changes[done][0])
            if cursor.last:
                end = len(changes)
            else:
                end = bisect_right(changes, cursor.node.keys[-1], done, key=lambda each: each[0])
            if piece := _apply(cursor.node, changes[done:end]):
                if end - done == 1 and self._keeps_cuts(piece):
                    piece = piece._replace(moved=None)
                self._touched[piece.last] = piece
            done = end

    def _keeps_cuts(self, piece: _Piece) -> bool:
        """Whether the piece, of the cursor's node, has one more key and no cut moves."""
        keys, at, cursor = self._cursor.node.keys, piece.moved, self._cursor
        if at is None or cursor.last or not len(keys) < len(piece.keys) <= LONGEST:
            return False
        return _keeps_cuts(self._level, cursor.key_before, keys, at, piece.keys[at])

    def _recut(self, last: str, moved: int) -> None:
        """Cut from an old node on until a cut falls on an old one with no moved key in its window.

        Args:
            last: the last key of the old node.
            moved: index in it of the first moved key.
        """
        self._seek_start(last, moved)
        pieces = deque([self._piece()])
        keys, links, counts = (
            list(pieces[0].keys),
            list(pieces[0].links),
            list(pieces[0].counts),
        )
        start = 0  # of the next node in `keys`
        used = 0  # how many entries of the first piece are before it
        while True:
            while len(keys) - start < LONGEST and self._cursor.step(1):
                piece = self._piece()
                pieces.append(piece)
                keys += piece.keys
                links += piece.links
                counts += piece.counts
            if not used and all(piece.moved is None for piece in pieces):
                return
            end = cut(self._level, keys, start)
            first = pieces[0]
            if not used and first.moved is None and len(first.keys) == end - start:
                pieces.popleft()
            else:
                used = self._consume(pieces, used + end - start)
                if end > start:
                    self._emit(keys[start:end], links[start:end], counts[start:end])
            start = end
            if start > len(keys) // 2:
                del keys[:start], links[:start], counts[:start]
                start = 0

    def _seek_start(self, last: str, moved: int) -> None:
        """Go to the first node whose cut saw the moved key: the old node or the one before."""
        cursor = self._cursor
        cursor.seek(last)
        if moved >= LONGEST - SHORTEST or not cursor.step(-1):
            return
        if len(self._piece().keys) + moved >= LONGEST:
            cursor.step(1)

    def _piece(self) -> _Piece:
        node = self._cursor.node
        last = _last_key(node)
        untouched = _Piece(last, node.keys, node.links, node.counts, None)
        return self._touched.get(last, untouched)

    def _consume(self, pieces: deque[_Piece], taken: int) -> int:
        """Take entries from pieces, and drop the old nodes of pieces that are used up.

        Args:
            pieces: the pieces, from which those used up are removed.
            taken: how many entries, counted from the start of the first piece.

        Returns:
            The number of entries taken from the piece that is now first.
        """
        while pieces and len(pieces[0].keys) <= taken:
            piece = pieces.popleft()
            taken -= len(piece.keys)
            self._above.setdefault(piece.last, None)
        if taken:
            self._above.setdefault(pieces[0].last, None)
        return taken

    def _emit(self, keys: Sequence[str], links: Sequence[Id], counts: Sequence[int]) -> None:
        node = Node(self._level, keys, links, counts)
        self._above[keys[-1]] = (_make(self._made, node), node.count)

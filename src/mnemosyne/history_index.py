"""Who changed a key and which commit a transaction made: by the engine's index, or by looking."""

from collections.abc import Iterable, Iterator
from functools import reduce

from mnemosyne import tree
from mnemosyne.blocks import Blocks
from mnemosyne.engine.base import HasHistoryIndex, IndexEntry
from mnemosyne.graph import ancestors
from mnemosyne.model import Commit
from mnemosyne.objects import Id, parse_id, text_id

__all__ = ["Writers", "changed_keys", "changing", "changing_below", "index_entry", "rebuild_index"]

FEW = 64


def rebuild_index(blocks: Blocks, heads: Iterable[str]) -> int:
    """Add to the engine's history index every commit reachable from the heads that it lacks.

    Returns:
        How many commits were added.
    """
    engine = blocks.engine
    if not isinstance(engine, HasHistoryIndex):
        return 0
    missing = _unindexed(blocks, engine, heads)
    if missing:
        engine.add_to_index(index_entry(blocks, commit) for commit in missing)
    return len(missing)


def index_entry(blocks: Blocks, commit: Commit) -> IndexEntry:
    """What a history index says of a commit."""
    return IndexEntry(parse_id(commit.id), commit.transaction, changed_keys(blocks, commit))


def changed_keys(blocks: Blocks, commit: Commit, prefix: str = "") -> set[str]:
    """The keys whose record differs from that in every parent.

    Args:
        blocks: the objects.
        commit: the commit.
        prefix: only keys that start with this.
    """
    changed = [
        {key for key, *_ in tree.diff(blocks.node, _root(blocks, parent), root, prefix)}
        for root in (parse_id(commit.root),)
        for parent in commit.parents
    ]
    return reduce(lambda a, b: a & b, changed) if changed else set()


def changing(blocks: Blocks, key: str, at: Commit) -> Iterator[Commit]:
    """A commit and its ancestors as far as they changed a key, newest first.

    Args:
        blocks: the objects.
        key: the key.
        at: the commit to look back from.
    """
    index = _index(blocks, at)
    if index is None:
        for commit in ancestors(blocks.walk(), [at.id]):
            if _changed(blocks, key, commit):
                yield commit
        return
    wanted = index.commits_of_key(key)
    if len(wanted) <= FEW:
        candidates = [blocks.commit(text_id(block)) for block in wanted]
        candidates = [c for c in candidates if c.id == at.id or c.generation < at.generation]
        traced = _traced(blocks, key, at, candidates)
        if traced is not None:
            yield from traced
            return
    yield from _among(blocks, wanted, at)


def changing_below(blocks: Blocks, prefix: str, at: Commit) -> Iterator[Commit]:
    """A commit and its ancestors as far as they changed a key with a prefix, newest first.

    Args:
        blocks: the objects.
        prefix: what the keys start with.
        at: the commit to look back from.
    """
    index = _index(blocks, at)
    if index is not None:
        yield from _among(blocks, index.commits_of_keys(prefix, tree.after(prefix)), at)
        return
    for commit in ancestors(blocks.walk(), [at.id]):
        if changed_keys(blocks, commit, prefix):
            yield commit


class Writers:
    """Finds the commits that transactions made.

    Without an index it looks through the past of one commit, and then of all that refs name.

    Args:
        blocks: the objects.
        at: the commit whose past is looked through first.
    """

    def __init__(self, blocks: Blocks, at: Commit) -> None:
        self._blocks = blocks
        self._index = _index(blocks, at)
        self._known: dict[str, Commit | None] = {}
        self._rest = self._everything(at)

    def find(self, transaction: str) -> Commit | None:
        """The commit that a transaction made; None if it is no longer in the store."""
        if transaction not in self._known:
            self._known[transaction] = self._look_for(transaction)
        return self._known[transaction]

    def _look_for(self, transaction: str) -> Commit | None:
        if self._index is not None:
            for block in self._index.commits_of_transaction(transaction):
                return self._blocks.commit(text_id(block))
        for commit in self._rest:
            self._known.setdefault(commit.transaction, commit)
            if commit.transaction == transaction:
                return commit
        return None

    def _everything(self, at: Commit) -> Iterator[Commit]:
        blocks = self._blocks
        yield from ancestors(blocks.walk(), [at.id])
        yield from ancestors(blocks.walk(), map(text_id, blocks.engine.refs().values()))


def _index(blocks: Blocks, at: Commit) -> HasHistoryIndex | None:
    """The engine's history index, complete up to a commit; None if it cannot be had."""
    engine = blocks.engine
    if not isinstance(engine, HasHistoryIndex):
        return None
    if not engine.indexed(parse_id(at.id)):
        if engine.read_only:
            return None
        rebuild_index(blocks, [at.id])
    return engine


def _unindexed(blocks: Blocks, engine: HasHistoryIndex, heads: Iterable[str]) -> list[Commit]:
    """The reachable commits that the index lacks, oldest first.

    It never lacks an ancestor of one that it has.
    """
    queue, seen = [c for c in heads if not engine.indexed(parse_id(c))], set[str]()
    while queue:
        commit_id = queue.pop()
        if commit_id not in seen:
            seen.add(commit_id)
            parents = blocks.commit(commit_id).parents
            queue += [parent for parent in parents if not engine.indexed(parse_id(parent))]
    return sorted(map(blocks.commit, seen), key=lambda c: c.generation)


def _traced(blocks: Blocks, key: str, at: Commit, candidates: list[Commit]) -> list[Commit] | None:
    """All candidates, newest first, if what they left under a key shows that `at` follows them.

    Where a commit holds a record that just one candidate brought, that one is in its past. So
    the line can be followed from record to record without a walk through the commits between.
    Where several brought the same record, or none, it cannot: the answer is None.
    """
    brought: dict[Id | None, list[Commit]] = {}
    for candidate in candidates:
        held = tree.get(blocks.node, parse_id(candidate.root), key)
        brought.setdefault(held, []).append(candidate)
    found: dict[str, Commit] = {}
    queue = [at]
    while queue:
        commit = queue.pop()
        held = tree.get(blocks.node, parse_id(commit.root), key)
        earlier = [c for c in brought.get(held, ()) if c.generation <= commit.generation]
        if held is None and not earlier:
            continue
        if held is None or len(earlier) != 1:
            return None
        if earlier[0].id not in found:
            found[earlier[0].id] = earlier[0]
            queue += map(blocks.commit, earlier[0].parents)
    if len(found) < len(candidates):
        return None
    return sorted(found.values(), key=lambda c: (-c.generation, -c.time, c.id))


def _among(blocks: Blocks, commits: Iterable[Id], at: Commit) -> Iterator[Commit]:
    """Those of some commits that are in the past of one, newest first."""
    wanted = {text_id(block) for block in commits}
    if not wanted:
        return
    for commit in ancestors(blocks.walk(), [at.id]):
        if commit.id in wanted:
            yield commit
            wanted.remove(commit.id)
            if not wanted:
                return


def _changed(blocks: Blocks, key: str, commit: Commit) -> bool:
    held = tree.get(blocks.node, parse_id(commit.root), key)
    return bool(commit.parents) and all(
        tree.get(blocks.node, _root(blocks, parent), key) != held for parent in commit.parents
    )


def _root(blocks: Blocks, commit: str) -> Id:
    return parse_id(blocks.commit(commit).root)

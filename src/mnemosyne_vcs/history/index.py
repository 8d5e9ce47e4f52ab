"""The commits that changed a key or that a transaction made: by the engine's index, or by search.

The index is derived data and is always checked. A commit that it names must be of that
transaction, or have changed that key. Between two commits that it names nothing may have changed:
the newer one must start from what the older one left. If the index fails these checks, or names
something that is not a commit here, it is ignored, and every commit is read.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.protocol import HasHistoryIndex, IndexEntry
from mnemosyne_vcs.errors import CorruptObjectError, EngineError
from mnemosyne_vcs.graph import ancestors
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.trees import Tree

__all__ = [
    "FEW",
    "Writers",
    "changed_keys",
    "changing",
    "changing_below",
    "complete_index",
    "find_commit",
    "index_entry",
    "is_indexed",
    "quickly_changing",
    "rebuild_index",
]

FEW = 64


def rebuild_index(blocks: Blocks) -> int:
    """Rebuild the engine's history index from the objects, for all commits that refs reach.

    Args:
        blocks: the objects.

    Returns:
        The number of commits that it holds then.

    Raises:
        EngineError: the engine keeps no history index, or failed.
        ReadOnlyError: the store does not accept writes.
        NotFoundError: an object is missing; the index is as it was.
        CorruptObjectError: an object is damaged; the index is as it was.
    """
    engine, index = blocks.engine, blocks.can.history
    if index is None:
        raise EngineError(f"{engine.url} keeps no history index")
    commits = list(ancestors(blocks.walk(), engine.refs().values()))[::-1]
    entries = [index_entry(blocks, commit) for commit in commits]
    with blocks.can.exclusive():
        present = _present(blocks, entries)
        index.clear_index()
        index.add_to_index(present)
        return len(present) + complete_index(blocks, engine.refs().values())


def _present(blocks: Blocks, entries: list[IndexEntry]) -> list[IndexEntry]:
    """The entries of commits that were not collected meanwhile."""
    there = blocks.can.exists([entry.commit for entry in entries])
    return [entry for entry in entries if entry.commit in there]


def complete_index(blocks: Blocks, heads: Iterable[Id]) -> int:
    """Add to the engine's history index every commit reachable from the heads that it lacks.

    Returns:
        The number of commits that were added.
    """
    index = blocks.can.history
    if index is None:
        return 0
    missing = _unindexed(blocks, index, heads)
    if missing:
        index.add_to_index(index_entry(blocks, commit) for commit in missing)
    return len(missing)


def index_entry(blocks: Blocks, commit: Commit) -> IndexEntry:
    """The entry of a commit in a history index."""
    return IndexEntry(commit.cid, commit.transaction_id, changed_keys(blocks, commit))


def changed_keys(blocks: Blocks, commit: Commit, prefix: str = "") -> set[str]:
    """The keys whose record differs from that in every parent.

    Args:
        blocks: the objects.
        commit: the commit.
        prefix: only keys that start with this.
    """
    there = Tree.of(blocks, commit)
    changed = [
        {key for key, *_ in Tree.of(blocks, blocks.commit(parent)).diff(there, prefix)}
        for parent in commit.parent_cids
    ]
    return reduce(lambda a, b: a & b, changed) if changed else set()


def changing(blocks: Blocks, key: str, at: Commit) -> Iterator[Commit]:
    """Those of a commit and its ancestors that changed a key, newest first.

    Args:
        blocks: the objects.
        key: the key.
        at: the commit to look back from.
    """
    subject = _Key(blocks, key)
    index = _index(blocks, at)
    if index is None:
        yield from _changers(blocks, subject, at)
        return
    wanted = index.commits_of_key(key)
    traced = _among(blocks, key, at, wanted)
    yield from _along(blocks, subject, at, wanted) if traced is None else traced


def quickly_changing(blocks: Blocks, key: str, at: Commit) -> list[Commit] | None:
    """What `changing` gives; None if that would take a walk through the commits.

    Args:
        blocks: the objects.
        key: the key.
        at: the commit to look back from.
    """
    index = _index(blocks, at)
    return None if index is None else _among(blocks, key, at, index.commits_of_key(key))


def _among(blocks: Blocks, key: str, at: Commit, wanted: list[Id]) -> list[Commit] | None:
    """Those of the commits that the index names for a key that `at` follows; see `_traced`."""
    candidates = _commits(blocks, wanted) if len(wanted) <= FEW else None
    if candidates is None:
        return None
    earlier = [c for c in candidates if c.id == at.id or c.generation < at.generation]
    return _traced(blocks, key, at, earlier)


def changing_below(blocks: Blocks, prefix: str, at: Commit) -> Iterator[Commit]:
    """Those of a commit and its ancestors that changed a key with a prefix, newest first.

    Args:
        blocks: the objects.
        prefix: what the keys start with.
        at: the commit to look back from.
    """
    subject = _Subtree(blocks, prefix)
    index = _index(blocks, at)
    if index is None:
        yield from _changers(blocks, subject, at)
    else:
        named = index.commits_of_keys(prefix, tree.after(prefix))
        yield from _along(blocks, subject, at, named)


class Writers:
    """Finds the commits that transactions made.

    Without an index it searches the past of one commit, and then of all refs.

    Args:
        blocks: the objects.
        at: the commit whose past is searched first.
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
                commit = find_commit(self._blocks, block)
                if commit is not None and commit.transaction_id == transaction:
                    return commit
        for commit in self._rest:
            self._known.setdefault(commit.transaction_id, commit)
            if commit.transaction_id == transaction:
                return commit
        return None

    def _everything(self, at: Commit) -> Iterator[Commit]:
        blocks = self._blocks
        yield from ancestors(blocks.walk(), [at.cid])
        yield from ancestors(blocks.walk(), blocks.engine.refs().values())


def _index(blocks: Blocks, at: Commit) -> HasHistoryIndex | None:
    """The engine's history index, complete up to a commit; None if there is none."""
    index = blocks.can.history
    if index is None:
        return None
    if not index.indexed(at.cid):
        if blocks.engine.read_only:
            return None
        complete_index(blocks, [at.cid])
    return index


def is_indexed(blocks: Blocks, at: Commit) -> bool:
    """Whether the engine's index holds a commit; it is added if the store can be written to."""
    return _index(blocks, at) is not None


def _unindexed(blocks: Blocks, index: HasHistoryIndex, heads: Iterable[Id]) -> list[Commit]:
    """The reachable commits that the index lacks, oldest first.

    It never lacks an ancestor of one that it has.
    """
    queue, seen = [c for c in heads if not index.indexed(c)], set[Id]()
    while queue:
        cid = queue.pop()
        if cid not in seen:
            seen.add(cid)
            parents = blocks.commit(cid).parent_cids
            queue += [parent for parent in parents if not index.indexed(parent)]
    return sorted(map(blocks.commit, seen), key=lambda c: c.generation)


def find_commit(blocks: Blocks, block: Id) -> Commit | None:
    """A commit that the index names; None if it names something else."""
    try:
        return blocks.find_commit(block)
    except (CorruptObjectError, ValueError):
        return None


def _commits(blocks: Blocks, ids: Iterable[Id]) -> list[Commit] | None:
    found = [find_commit(blocks, block) for block in ids]
    commits = [commit for commit in found if commit is not None]
    return commits if len(commits) == len(found) else None


def _traced(blocks: Blocks, key: str, at: Commit, candidates: list[Commit]) -> list[Commit] | None:
    """All candidates, newest first, if the records that they left show that `at` follows them.

    If a commit holds a record that exactly one candidate brought, and wrote, that candidate is in
    its past. So the line can be followed from record to record without a walk through the commits
    between. If several candidates brought the same record, or none did, the answer is None.
    """
    brought: dict[Id | None, list[Commit]] = {}
    for candidate in candidates:
        held = Tree.of(blocks, candidate).get(key)
        brought.setdefault(held, []).append(candidate)
    found: dict[str, Commit] = {}
    queue = [at]
    while queue:
        commit = queue.pop()
        held = Tree.of(blocks, commit).get(key)
        earlier = [c for c in brought.get(held, ()) if c.generation <= commit.generation]
        if held is None and not earlier:
            continue
        if held is None or len(earlier) != 1:
            return None
        [newest] = earlier
        if newest.id not in found:
            if blocks.stored(held).transaction != newest.transaction_id:
                return None
            found[newest.id] = newest
            queue += map(blocks.commit, newest.parent_cids)
    if len(found) < len(candidates):
        return None
    return sorted(found.values(), key=lambda c: (-c.generation, -c.timestamp_ms, c.id))


class _Subject(Protocol):
    """The subject of a history. Its state at a commit is an id; `same` compares states."""

    def state(self, commit: Commit) -> Id | None: ...

    def same(self, a: Id | None, b: Id | None) -> bool: ...

    def absent(self, state: Id | None) -> bool: ...

    def changed(self, commit: Commit) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Key:
    """One key; its state is the record."""

    blocks: Blocks
    key: str

    def state(self, commit: Commit) -> Id | None:
        return Tree.of(self.blocks, commit).get(self.key)

    def same(self, a: Id | None, b: Id | None) -> bool:
        return a == b

    def absent(self, state: Id | None) -> bool:
        return state is None

    def changed(self, commit: Commit) -> bool:
        parents = map(self.blocks.commit, commit.parent_cids)
        held = self.state(commit)
        return bool(commit.parents) and all(self.state(parent) != held for parent in parents)


@dataclass(frozen=True, slots=True)
class _Subtree:
    """The keys with a prefix; their state is any tree that has them in this state."""

    blocks: Blocks
    prefix: str

    def state(self, commit: Commit) -> Id | None:
        return commit.tree_cid

    def same(self, a: Id | None, b: Id | None) -> bool:
        return a == b or not any(self._tree(a).diff(self._tree(b), self.prefix))

    def absent(self, state: Id | None) -> bool:
        return not any(self._tree(state).scan(self.prefix))

    def changed(self, commit: Commit) -> bool:
        if len(commit.parents) == 1:
            return not self.same(Tree.before(self.blocks, commit).root, commit.tree_cid)
        return bool(changed_keys(self.blocks, commit, self.prefix))

    def _tree(self, state: Id | None) -> Tree:
        return Tree(self.blocks, tree.EMPTY_ROOT if state is None else state)


def _changers(blocks: Blocks, subject: _Subject, at: Commit) -> Iterator[Commit]:
    """Those of a commit and its ancestors that changed the subject, found by reading each."""
    return filter(subject.changed, ancestors(blocks.walk(), [at.cid]))


def _along(blocks: Blocks, subject: _Subject, at: Commit, named: Iterable[Id]) -> Iterator[Commit]:
    """The named commits that are in the past of one, newest first, if exactly they changed the
    subject. From the point where this fails, the result of reading each commit.

    The state at a commit is passed down to its parents as long as no named commit is met, and
    compared with the state there: at the next named commit, at merges, where lines meet, and at
    the end.
    """
    wanted = set(named)
    given: set[Id] = set()
    expected: dict[Id, set[Id | None]] = {at.cid: {subject.state(at)}}
    for commit in ancestors(blocks.walk(), [at.cid]):
        if not wanted and all(map(subject.absent, set[Id | None]().union(*expected.values()))):
            return
        states, claimed = expected.pop(commit.cid), commit.cid in wanted
        if claimed or len(states) > 1 or len(commit.parents) != 1:
            here = subject.state(commit)
            sound = all(subject.same(state, here) for state in states)
            if not sound or subject.changed(commit) != claimed:
                break
            parents = {
                parent: subject.state(blocks.commit(parent)) for parent in commit.parent_cids
            }
        else:
            parents = dict.fromkeys(commit.parent_cids, *states)
        for parent, state in parents.items():
            expected.setdefault(parent, set()).add(state)
        if claimed:
            wanted.discard(commit.cid)
            given.add(commit.cid)
            yield commit
    else:
        return
    yield from (c for c in _changers(blocks, subject, at) if c.cid not in given)

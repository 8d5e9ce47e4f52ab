"""Reading history and acting on it: log, blame, history of a key, diff, undo."""

from collections.abc import Iterable, Iterator
from functools import reduce

from mnemosyne import tree
from mnemosyne.blocks import Blocks
from mnemosyne.engine.base import HasHistoryIndex, IndexEntry
from mnemosyne.errors import ConflictError, NotFoundError, ValidationError
from mnemosyne.graph import ancestors, first_parents
from mnemosyne.model import Blame, Change, ChangeKind, Commit, Conflict, ConflictKind, Record
from mnemosyne.objects import Id, parse_id, text_id
from mnemosyne.refs import ROOT_COMMIT
from mnemosyne.transaction import Transaction

__all__ = ["blame", "diff", "history", "log", "rebuild_index", "undo"]


def log(blocks: Blocks, head: Commit) -> Iterator[Commit]:
    """A commit and its ancestors, newest first, without the empty first one."""
    return (c for c in ancestors(blocks.commit, [head.id]) if c.id != ROOT_COMMIT.id)


def diff(blocks: Blocks, a: Id, b: Id, prefix: str = "") -> Iterator[Change]:
    """The keys whose values differ between two roots, in order of key.

    A key that was moved is one change under its new key; the old key is not listed.

    Args:
        blocks: the objects.
        a: root of the first state.
        b: root of the second state.
        prefix: only keys that start with this.
    """
    changes = [
        (key, _record(blocks, key, before), _record(blocks, key, after))
        for key, before, after in tree.diff(blocks.node, a, b, prefix)
    ]
    removed = {key: before for key, before, after in changes if after is None}
    moved = {
        after.moved_from
        for _, before, after in changes
        if before is None and after is not None and after.moved_from in removed
    }
    for key, before, after in changes:
        if before is None and after is not None and after.moved_from in moved:
            yield Change(key, "moved", removed[after.moved_from], after)
        elif key not in moved and not _same(before, after):
            yield Change(key, _kind(before, after), before, after)


def _kind(before: Record | None, after: Record | None) -> ChangeKind:
    if before is None:
        return "added"
    return "removed" if after is None else "changed"


def blame(blocks: Blocks, key: str, at: Commit) -> Blame:
    """Who gave a key the value that it has at a commit, or who deleted it.

    Args:
        blocks: the objects.
        key: the key.
        at: the commit.

    Raises:
        NotFoundError: no commit up to there has had the key.
    """
    block = tree.get(blocks.node, parse_id(at.root), key)
    if block is not None:
        record = blocks.record(key, block)
        if writer := _writer(blocks, record.transaction, at):
            return Blame(key, record, writer)
    return next(history(blocks, key, at))


def history(blocks: Blocks, key: str, at: Commit) -> Iterator[Blame]:
    """Every value that a key has had up to a commit, newest first, through moves.

    Args:
        blocks: the objects.
        key: the key.
        at: the commit to look back from.

    Raises:
        NotFoundError: no commit up to there has had the key.
    """
    found = False
    for commit in _changing(blocks, key, at):
        found = True
        block = tree.get(blocks.node, parse_id(commit.root), key)
        record = _record(blocks, key, block)
        yield Blame(key, record, commit)
        if record and record.moved_from and record.transaction == commit.transaction:
            yield from history(blocks, record.moved_from, blocks.commit(commit.parents[0]))
            return
    if not found:
        raise NotFoundError(f"no commit up to {at.id} has had a record {key!r}")


def undo(
    transaction: Transaction,
    blocks: Blocks,
    *,
    n: int = 1,
    trailer: tuple[str, str] | None = None,
) -> list[Commit]:
    """Take commits back: give every key that they changed its earlier record again.

    The earlier records come back as they were, so that blame names who wrote them then.

    Args:
        transaction: what to undo in; its message is set if it has none.
        blocks: the objects.
        n: how many of the newest commits to undo.
        trailer: instead, undo every commit with this trailer, by name and value.

    Returns:
        The commits that are undone, newest first.

    Raises:
        ConflictError: a later commit has changed what one of them wrote.
        NotFoundError: no commit has the trailer, or there are not that many.
        ValidationError: `n` is less than 1.
    """
    targets = _targets(blocks, transaction.base, n, trailer)
    steps: dict[str, list[tuple[Id | None, Id | None]]] = {}
    for commit in targets:
        parent = parse_id(blocks.commit(commit.parents[0]).root)
        for key, before, after in tree.diff(blocks.node, parent, parse_id(commit.root)):
            steps.setdefault(key, []).append((before, after))
    head = parse_id(transaction.base.root)
    conflicts: list[Conflict] = []
    for key, changes in steps.items():
        earlier = _taken_back(blocks, key, tree.get(blocks.node, head, key), changes)
        if isinstance(earlier, Conflict):
            conflicts.append(earlier)
        else:
            transaction.restore(key, earlier)
    if conflicts:
        keys = ", ".join(repr(conflict.key) for conflict in conflicts[:5])
        raise ConflictError(
            f"cannot undo: later commits have changed {keys}; undo those first, "
            "or put the values you want",
            conflicts,
        )
    return targets


def _taken_back(
    blocks: Blocks, key: str, current: Id | None, changes: list[tuple[Id | None, Id | None]]
) -> Id | Conflict | None:
    """What a key holds once changes to it, newest first, are taken back."""
    value, has = current, _record(blocks, key, current)
    for before, after in changes:
        wrote, had = _record(blocks, key, after), _record(blocks, key, before)
        if _same(has, wrote):
            value, has = before, had
        elif not _same(has, had):
            if _same(_record(blocks, key, current), _record(blocks, key, changes[-1][0])):
                return current
            return _conflict(key, wrote, has, had)
    return value


def _targets(blocks: Blocks, head: Commit, n: int, trailer: tuple[str, str] | None) -> list[Commit]:
    if n < 1:
        raise ValidationError(f"undo takes back 1 commit or more, not {n}")
    line = (c for c in first_parents(blocks.commit, head.id) if c.id != ROOT_COMMIT.id)
    if trailer is not None:
        name, value = trailer
        found = [commit for commit in line if commit.trailers.get(name) == value]
        if not found:
            raise NotFoundError(f"no commit up to {head.id} has the trailer {name}: {value}")
        return found
    found = [commit for commit, _ in zip(line, range(n), strict=False)]
    if len(found) < n:
        raise NotFoundError(f"cannot undo {n} commits: there are {len(found)} up to {head.id}")
    return found


def _conflict(
    key: str, base: Record | None, ours: Record | None, theirs: Record | None
) -> Conflict:
    kind: ConflictKind = "edit/edit" if theirs else "edit/delete"
    if base is None:
        kind = "add/add"
    elif ours is None:
        kind = "delete/edit"
    return Conflict(key, kind, base, ours, theirs)


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
        engine.add_to_index(
            IndexEntry(parse_id(c.id), c.transaction, _changed_keys(blocks, c)) for c in missing
        )
    return len(missing)


def _index(blocks: Blocks, at: Commit) -> HasHistoryIndex | None:
    """The engine's history index, complete up to a commit; None if it cannot be had."""
    engine = blocks.engine
    if not isinstance(engine, HasHistoryIndex):
        return None
    if engine.read_only and not engine.indexed(parse_id(at.id)):
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


def _changed_keys(blocks: Blocks, commit: Commit) -> set[str]:
    """The keys whose record differs from that in every parent."""
    changed = [
        {
            key
            for key, *_ in tree.diff(
                blocks.node, parse_id(blocks.commit(parent).root), parse_id(commit.root)
            )
        }
        for parent in commit.parents
    ]
    return reduce(lambda a, b: a & b, changed) if changed else set()


def _writer(blocks: Blocks, transaction: str, at: Commit) -> Commit | None:
    if index := _index(blocks, at):
        for block in index.commits_of_transaction(transaction):
            return blocks.commit(text_id(block))
    line = ancestors(blocks.commit, [at.id])
    return next((commit for commit in line if commit.transaction == transaction), None)


def _changing(blocks: Blocks, key: str, at: Commit) -> Iterator[Commit]:
    """The ancestors of a commit that changed a key, newest first."""
    index = _index(blocks, at)
    if index is None:
        yield from (c for c in ancestors(blocks.commit, [at.id]) if key in _changed_keys(blocks, c))
        return
    wanted = {text_id(block) for block in index.commits_of_key(key)}
    for commit in ancestors(blocks.commit, [at.id]):
        if not wanted:
            return
        if commit.id in wanted:
            wanted.remove(commit.id)
            yield commit


def _record(blocks: Blocks, key: str, block: Id | None) -> Record | None:
    return None if block is None else blocks.record(key, block)


def _same(a: Record | None, b: Record | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.same_value(b)

"""Operations on history: revert, cherry-pick, restore, undo, each as one step on a head.

All but restore are three-way merges. Taking a commit back merges the state before it, with the
state after it as the base: later changes to other records or other fields stay.
"""

from collections.abc import Iterator, Sequence

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import NotFoundError, ValidationError
from mnemosyne_vcs.format.validation import record_id
from mnemosyne_vcs.graph import first_parents
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.merge.operation import Step
from mnemosyne_vcs.merge.trees import Clash, Merged, State, clash_of_ids, merge_states, merge_trees
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.refs import ROOT_COMMIT
from mnemosyne_vcs.transaction.changes import Held
from mnemosyne_vcs.trees import Tree

__all__ = ["cherry_pick", "restore", "revert", "undo"]


def revert(blocks: Blocks, head: Commit, commit: Commit, parent: int) -> Step:
    """Take back the changes of a commit.

    Args:
        blocks: the objects.
        head: the head.
        commit: the commit.
        parent: for a merge, the number of the parent whose state it goes back to, from 1.

    Raises:
        ValidationError: the commit has no such parent.
    """
    before = _parent(blocks, commit, parent)
    merged = _merged(blocks, commit, head, before)
    return Step([commit], merged, f"revert: {commit.message}", {"Reverts": commit.id})


def cherry_pick(blocks: Blocks, head: Commit, commit: Commit, parent: int) -> Step:
    """Apply the changes of a commit to another head.

    Args:
        blocks: the objects.
        head: the head.
        commit: the commit.
        parent: for a merge, the number of the parent that its changes are against, from 1.

    Raises:
        ValidationError: the commit has no such parent.
    """
    before = _parent(blocks, commit, parent)
    merged = _merged(blocks, before, head, commit)
    return Step([commit], merged, commit.message, {"Cherry-Picked-From": commit.id})


def restore(blocks: Blocks, head: Commit, source: Commit, prefix: str) -> Step:
    """Restore everything below a prefix to what it was at a commit; records keep their writers.

    Args:
        blocks: the objects.
        head: the head.
        source: the commit.
        prefix: what the keys start with.
    """
    roots = head.tree_cid, source.tree_cid
    changes: dict[str, Held] = {}
    added: list[str] = []
    for key, now, then in tree.diff(blocks.node, *roots, prefix):
        changes[key] = then
        if now is None and record_id(key):
            added.append(key)
    clashes = _doubles(blocks, roots, prefix, added, changes) if prefix and added else []
    where = f"{prefix!r}" if prefix else "everything"
    message = f"restore {where} from: {source.message}"
    return Step([source], Merged(changes, clashes), message, {"Restored-From": source.id})


def _doubles(
    blocks: Blocks,
    roots: tuple[Id, Id],
    prefix: str,
    added: Sequence[str],
    changes: dict[str, Held],
) -> list[Clash]:
    """The records that a restore would put beside others with the same id, outside the prefix.

    They are removed from the changes.
    """
    outside = {
        record_id(key): (key, now)
        for key, now, then in tree.diff(blocks.node, *roots)
        if now is not None and then is None and not key.startswith(prefix)
    }
    outside.pop(None, None)
    clashes: list[Clash] = []
    for key in added:
        other, held = outside.get(record_id(key)), changes[key]
        if other is not None and isinstance(held, bytes):
            del changes[key]
            records = blocks.record(*other), blocks.record(key, held)
            clashes.append(clash_of_ids(*records, held, None))
    return sorted(clashes, key=lambda clash: clash.conflict.key)


def undo(blocks: Blocks, head: Commit, n: int, trailer: tuple[str, str] | None) -> Step:
    """Take back the newest commits of a line, or those with a trailer.

    Args:
        blocks: the objects.
        head: the head.
        n: how many of the newest commits.
        trailer: instead, name and value of a trailer that they have.

    Raises:
        NotFoundError: no commit has the trailer, or there are not that many.
        ValidationError: `n` is less than 1.
    """
    targets = _targets(blocks, head, n, trailer)
    if trailer is not None:
        message = f"undo {trailer[0]} {trailer[1]} ({len(targets)} commits)"
    else:
        message = f"undo: {targets[0].message}" if n == 1 else f"undo {n} commits"
    trailers = {"Undoes": " ".join(commit.id for commit in targets)}
    return Step(targets, _taken_back(blocks, head, targets), message, trailers)


def _merged(blocks: Blocks, base: Commit, ours: Commit, theirs: Commit) -> Merged:
    start, mine, other = (each.tree_cid for each in (base, ours, theirs))
    return merge_trees(blocks, start, mine, other, (ours.id, theirs.id))


def _targets(blocks: Blocks, head: Commit, n: int, trailer: tuple[str, str] | None) -> list[Commit]:
    if n < 1:
        raise ValidationError(f"undo takes back 1 commit or more, not {n}")
    line = (c for c in first_parents(blocks.walk(), head.cid) if c.id != ROOT_COMMIT.id)
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


def _taken_back(blocks: Blocks, head: Commit, targets: Sequence[Commit]) -> Merged:
    """The changes of taking commits of a line back, newest first, on its head.

    A key that already has the state from before all of them is not a conflict.
    """
    root = head.tree_cid
    changes: dict[str, Held] = {}
    clashes: dict[str, Clash] = {}
    for made, before in _stretches(blocks, targets):
        base, theirs = State(made.tree_cid), before.tree_cid
        merged = merge_states(blocks, base, State(root, changes), theirs, (head.id, before.id))
        changes.update(merged.changes)
        for clash in merged.clashes:
            clashes.setdefault(clash.conflict.key, clash)
    oldest = blocks.commit(targets[-1].parent_cids[0]).tree_cid
    left = [clash for key, clash in clashes.items() if not _alike(blocks, key, root, oldest)]
    return Merged(changes, sorted(left, key=lambda clash: clash.conflict.key))


def _stretches(blocks: Blocks, targets: Sequence[Commit]) -> Iterator[tuple[Commit, Commit]]:
    """The newest of each unbroken stretch of targets, and the commit that the stretch follows."""
    made = targets[0]
    for commit, older in zip(targets, [*targets[1:], None], strict=True):
        if older is None or commit.parents[0] != older.id:
            yield made, blocks.commit(commit.parent_cids[0])
            if older is not None:
                made = older


def _alike(blocks: Blocks, key: str, a: Id, b: Id) -> bool:
    one, other = (Tree(blocks, root).record(key) for root in (a, b))
    return one is other if one is None or other is None else one.same_value(other)


def _parent(blocks: Blocks, commit: Commit, number: int) -> Commit:
    if not 1 <= number <= len(commit.parents):
        raise ValidationError(
            f"commit {commit.id} has {len(commit.parents)} parents; there is no number {number}"
        )
    return blocks.commit(commit.parent_cids[number - 1])

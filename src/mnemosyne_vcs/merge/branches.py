"""Merging a commit into a branch: the bases, the merged trees, and fast-forward."""

from collections.abc import Sequence

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.graph import Lookup, merge_bases
from mnemosyne_vcs.history.index import changing
from mnemosyne_vcs.merge.operation import Step
from mnemosyne_vcs.merge.trees import Follow, Merged, State, merge_states
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.refs import ROOT_COMMIT
from mnemosyne_vcs.tree import EMPTY_ROOT
from mnemosyne_vcs.values import Missing

__all__ = ["merge", "require_related"]

DEEPEST = 250
"""How many levels of criss-cross bases are merged; differences beyond count as unknown."""

UNKNOWN = Missing.UNKNOWN


def merge(blocks: Blocks, head: Commit, theirs: Commit, *, fast_forward: bool = False) -> Step:
    """Merge a commit into a head.

    Args:
        blocks: the objects.
        head: the head.
        theirs: the commit.
        fast_forward: move the branch, if it has no commits of its own.
    """
    lookup = blocks.walk()
    bases = merge_bases(lookup, [head.cid], theirs.cid)
    ids = [base.id for base in bases]
    if theirs in bases:
        return Step([theirs], Merged({}, []), bases=ids)
    merged = merge_states(
        blocks,
        _base(blocks, lookup, bases),
        State(head.tree_cid),
        theirs.tree_cid,
        (head.id, theirs.id),
        (_follow(blocks, head), _follow(blocks, theirs)),
    )
    if fast_forward and head in bases:
        return Step([theirs], merged, bases=ids, moves_to=theirs)
    return Step([theirs], merged, bases=ids, parent=theirs)


def require_related(blocks: Blocks, ours: Commit, theirs: Commit, where: str) -> None:
    """Refuse to merge branches that have no history in common but the root commit.

    Args:
        blocks: the objects.
        ours: the head of the branch that is to change.
        theirs: the commit to merge.
        where: its name.

    Raises:
        ValidationError: they are not related, and neither is empty.
    """
    if ROOT_COMMIT.id in (ours.id, theirs.id):
        return
    if all(
        base.id == ROOT_COMMIT.id for base in merge_bases(blocks.walk(), [ours.cid], theirs.cid)
    ):
        raise ValidationError(
            f"{where} has nothing in common with this branch but the empty root commit; is it the "
            "right store and branch? Give allow_unrelated=True (--allow-unrelated) to merge "
            "it anyway"
        )


def _follow(blocks: Blocks, head: Commit) -> Follow:
    """Finds where a record was moved, even if it was changed afterwards, by the history."""
    root = head.tree_cid

    def follow(key: str) -> str | None:
        seen = {key}
        while (target := _moved(blocks, key, head)) and target not in seen:
            if tree.get(blocks.node, root, target) is not None:
                return target
            seen.add(target)
            key = target
        return None

    return follow


def _moved(blocks: Blocks, key: str, head: Commit) -> str | None:
    """The key that the last change of a key moved its record to, or None."""
    commit = next(changing(blocks, key, head), None)
    if commit is None or not commit.parents:
        return None
    before, after = blocks.commit(commit.parent_cids[0]).tree_cid, commit.tree_cid
    written = [(other, block) for other, _, block in tree.diff(blocks.node, before, after) if block]
    for record in blocks.records(written):
        if record.moved_from == key and record.transaction_id == commit.transaction_id:
            return record.key
    return None


def _base(blocks: Blocks, lookup: Lookup, bases: Sequence[Commit], depth: int = 0) -> State:
    """The state to compare with: the base, or the merge of several bases, which is not written.

    Conflicts between bases count as unknown, which equals nothing.
    """
    if not bases:
        return State(EMPTY_ROOT)
    state = State(bases[0].tree_cid)
    for count, commit in enumerate(bases[1:], start=1):
        root = commit.tree_cid
        if depth == DEEPEST:
            differing = (key for key, *_ in tree.diff(blocks.node, state.root, root))
            state = State(state.root, {**state.changes, **dict.fromkeys(differing, UNKNOWN)})
        else:
            below = merge_bases(lookup, [each.cid for each in bases[:count]], commit.cid)
            base = _base(blocks, lookup, below, depth + 1)
            state = _with(state, merge_states(blocks, base, state, root))
    return state


def _with(state: State, merged: Merged) -> State:
    unknown = {
        key: UNKNOWN
        for clash in merged.clashes
        for side in (clash.ours, clash.theirs)
        for key in side
    }
    return State(state.root, {**state.changes, **merged.changes, **unknown})

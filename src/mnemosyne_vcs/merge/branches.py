"""Merging branches: the base, the merge of the trees, the resolutions, the merge commit."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.errors import ConflictError, ValidationError
from mnemosyne_vcs.graph import Lookup, merge_bases
from mnemosyne_vcs.history.index import changing
from mnemosyne_vcs.history.log import describe
from mnemosyne_vcs.merge.mixing import check_mixing
from mnemosyne_vcs.merge.resolutions import Resolution, Settled, Strategy, check, listed, settle
from mnemosyne_vcs.merge.trees import Follow, Merged, State, merge_states
from mnemosyne_vcs.model import Commit, Conflict, MergePlan, Record
from mnemosyne_vcs.refs import ROOT_COMMIT, branch_ref, write_upon
from mnemosyne_vcs.transaction.changes import Held
from mnemosyne_vcs.transaction.transact import transact
from mnemosyne_vcs.transaction.transaction import Transaction, Writer
from mnemosyne_vcs.tree import EMPTY_ROOT
from mnemosyne_vcs.values import Missing

__all__ = ["RESOLVED", "Wishes", "apply", "edits", "merge", "plan", "require_related"]

DEEPEST = 250
"""How often histories may have crossed before; what differs further back is unknown."""

UNKNOWN = Missing.UNKNOWN

RESOLVED = "Resolved"
"""The trailer of a merge commit that says how each conflict was settled: JSON, key to word."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a caller wants of a merge.

    Attributes:
        author: who merges; the repository's author if not given.
        message: why.
        trailers: further facts by name for the commit.
        resolutions: how to settle the conflict of each key.
        strategy: how to settle the others.
        fast_forward: just move the branch, if it has nothing of its own.
        allow_mixed_vectors: put vectors side by side that no search can compare.
        expect: the commit that the branch must point at, if given.
    """

    author: str | None
    message: str
    trailers: Mapping[str, str]
    resolutions: Mapping[str, Resolution]
    strategy: Strategy | None
    fast_forward: bool = False
    allow_mixed_vectors: bool = False
    expect: Commit | None = None


@dataclass(frozen=True, slots=True)
class _Prepared:
    bases: Sequence[Commit]
    settled: Settled

    def moves_on(self, ours: Commit, wishes: Wishes) -> bool:
        """Whether the branch just takes the state of the other side."""
        return wishes.fast_forward and ours in self.bases


def merge(writer: Writer, theirs: Commit, branch: str, wishes: Wishes) -> Commit:
    """Merge a commit into a branch; see `Repository.merge`."""
    check(wishes.resolutions, wishes.strategy)
    conflicts: list[Conflict] = []

    def attempt(transaction: Transaction) -> None:
        prepared = _prepare(writer.blocks, transaction.base, theirs, wishes)
        conflicts[:] = prepared.settled.conflicts
        if conflicts or theirs in prepared.bases:
            return
        if prepared.moves_on(transaction.base, wishes):
            _fast_forward(writer, transaction, theirs)
        else:
            transaction.merges = theirs
            apply(transaction, prepared.settled)
            _check(writer.blocks, transaction, prepared, wishes)

    commit = transact(
        writer,
        attempt,
        branch,
        author=wishes.author,
        message=wishes.message,
        trailers=wishes.trailers,
        expect=wishes.expect,
    )
    if conflicts:
        raise _unsettled(branch, theirs, conflicts)
    return commit


def plan(
    writer: Writer, theirs: Commit, branch: str, wishes: Wishes, ours: Commit | None = None
) -> MergePlan:
    """What a merge would do; see `Repository.merge`.

    Args:
        writer: the repository's side.
        theirs: the commit to merge.
        branch: the branch.
        wishes: what the caller wants.
        ours: the commit to merge into; the head of the branch if not given.
    """
    check(wishes.resolutions, wishes.strategy)
    transaction = Transaction(writer, branch, base=ours, expect=wishes.expect)
    ours = transaction.base
    prepared = _prepare(writer.blocks, ours, theirs, wishes)
    settled = prepared.settled
    apply(transaction, settled)
    _check(writer.blocks, transaction, prepared, wishes)
    changes = describe(edits(writer.blocks, transaction, settled))
    return MergePlan(
        ours,
        theirs,
        tuple(base.id for base in prepared.bases),
        tuple(changes),
        tuple(settled.conflicts),
        settled.resolved,
    )


def require_related(blocks: Blocks, ours: Commit, theirs: Commit, where: str) -> None:
    """Refuse to bring together what has nothing in common but the first commit, as all have.

    Args:
        blocks: the objects.
        ours: the head of the branch that is to change.
        theirs: what is to be brought there.
        where: what it is called.

    Raises:
        ValidationError: they are not related, and neither is empty.
    """
    if ROOT_COMMIT.id in (ours.id, theirs.id):
        return
    if all(
        base.id == ROOT_COMMIT.id for base in merge_bases(blocks.walk(), [ours.cid], theirs.cid)
    ):
        raise ValidationError(
            f"{where} has nothing in common with this branch but the empty memory that everything "
            "begins with; is it the right store and branch? Give allow_unrelated=True "
            "(--allow-unrelated) to merge it all the same"
        )


def _prepare(blocks: Blocks, ours: Commit, theirs: Commit, wishes: Wishes) -> _Prepared:
    lookup = blocks.walk()
    bases = merge_bases(lookup, [ours.cid], theirs.cid)
    if theirs in bases:
        return _Prepared(bases, Settled({}, {}, [], {}))
    merged = merge_states(
        blocks,
        _base(blocks, lookup, bases),
        State(ours.tree_cid),
        theirs.tree_cid,
        (ours.id, theirs.id),
        (_follow(blocks, ours), _follow(blocks, theirs)),
    )
    return _Prepared(bases, settle(merged, wishes.resolutions, wishes.strategy))


def _check(blocks: Blocks, transaction: Transaction, prepared: _Prepared, wishes: Wishes) -> None:
    done = not prepared.settled.conflicts and not prepared.moves_on(transaction.base, wishes)
    if done and not wishes.allow_mixed_vectors:
        check_mixing(blocks, transaction)


def _follow(blocks: Blocks, head: Commit) -> Follow:
    """Finds by the history of a commit where a record went, also if it was changed afterwards."""
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
    """Where the last change of a key moved its record to, if it did."""
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
    """The one state to compare with: of several bases, their merge, which is never written.

    What is in conflict between them is unknown, so that it equals nothing.
    """
    if not bases:
        return State(EMPTY_ROOT)
    state = State(bases[0].tree_cid)
    for count, commit in enumerate(bases[1:], start=1):
        root = commit.tree_cid
        if depth == DEEPEST:
            differing = (key for key, *_ in tree.diff(blocks.node, state.root, root))
            state = State(state.root, {**state.changes, **dict.fromkeys(differing, UNKNOWN)})
            continue
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


def apply(transaction: Transaction, settled: Settled) -> None:
    """Make a settled merge in a transaction, and note how its conflicts were settled."""
    transaction.apply(settled.changes)
    for key, value in settled.values.items():
        transaction.put(
            key,
            value.content,
            embedding=value.embedding,
            vectors=value.vectors,
            embedder=value.embedder,
            provenance=value.provenance,
            event_time=value.event_time,
        )
    if settled.resolved:
        words = json.dumps(
            settled.resolved, ensure_ascii=False, separators=(",", ":"), sort_keys=True
        )
        transaction.trailers[RESOLVED] = words


def edits(
    blocks: Blocks, transaction: Transaction, settled: Settled
) -> Iterator[tuple[str, Record | None, Record | None]]:
    """What a settled merge changes in a transaction: key, record before and record after."""
    root = transaction.base.tree_cid
    for key in sorted(settled.changes.keys() | settled.values.keys()):
        present: Held = tree.get(blocks.node, root, key)
        before = None if present is None else blocks.record(key, present)
        yield key, before, transaction.get(key)


def _fast_forward(writer: Writer, transaction: Transaction, theirs: Commit) -> None:
    update = RefUpdate(
        branch_ref(transaction.branch),
        transaction.base.cid,
        theirs.cid,
        transaction.author,
        writer.clock(),
        transaction.message,
    )
    write_upon(writer.blocks, {}, update, [theirs.cid])
    transaction.result = theirs


def _unsettled(branch: str, theirs: Commit, conflicts: Sequence[Conflict]) -> ConflictError:
    return ConflictError(
        f"{theirs.id} and branch {branch!r} have changed {listed(conflicts)} in different ways; "
        "settle each with a resolution, or all with a strategy",
        conflicts,
    )

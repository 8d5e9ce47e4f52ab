"""Operations on a branch: merge, pull, revert, cherry-pick, restore, undo and retract.

All follow one algorithm. An operation is planned on the head of the branch, which gives changes and
conflicts; resolutions resolve the conflicts; the result is one commit, which lands only on that
head. If another writer has moved the branch meanwhile, the operation starts again on the new head.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NoReturn

from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.errors import ConflictError, RefConflictError
from mnemosyne_vcs.frozen import freeze
from mnemosyne_vcs.history.log import describe
from mnemosyne_vcs.merge.mixing import check_mixing
from mnemosyne_vcs.merge.resolutions import OnConflict, Resolution, Settled, check, listed, settle
from mnemosyne_vcs.merge.trees import Merged
from mnemosyne_vcs.model import Change, Commit, Conflict, Record
from mnemosyne_vcs.refs import branch_head, branch_ref, moved, write_ref
from mnemosyne_vcs.transaction.retries import until_it_lands
from mnemosyne_vcs.transaction.transaction import Transaction, Writer
from mnemosyne_vcs.trees import Tree

__all__ = ["RESOLVED", "Operation", "Options", "Plan", "Step", "unresolved_conflicts"]

RESOLVED = "Resolved"
"""The trailer of a commit that says how each conflict was resolved: JSON, key to word."""

PlanKind = Literal["up-to-date", "fast-forward", "merge", "commit", "new-branch"]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of an operation.

    Attributes:
        author: the author; the repository's if not given.
        message: the commit message.
        allow_mixed_vectors: allow vectors side by side that no search can compare.
        expect: the commit that the branch must point at, if given.
        resolutions: how to resolve the conflict of each key.
        on_conflict: how to resolve the others.
        trailers: further facts by name for the commit.

    Raises:
        ValidationError: a resolution or `on_conflict` is malformed.
    """

    author: str | None = None
    message: str = ""
    allow_mixed_vectors: bool = False
    expect: Commit | None = None
    resolutions: Mapping[str, Resolution] | None = None
    on_conflict: OnConflict | None = None
    trailers: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        check(self.resolutions or {}, self.on_conflict)


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of an operation on one head.

    Attributes:
        commits: the commits that it is about, newest first.
        merged: the changes and the conflicts.
        message: the default message of the commit.
        trailers: further facts for the commit.
        bases: ids of the commits that both sides of a merge started from.
        parent: the second parent of the commit, if it is a merge.
        moves_to: the commit that the branch moves to instead of a new one, if it does.
        changes: the changes to show, if comparing records does not give them.
    """

    commits: Sequence[Commit]
    merged: Merged
    message: str = ""
    trailers: Mapping[str, str] = field(default_factory=dict[str, str])
    bases: Sequence[str] = ()
    parent: Commit | None = None
    moves_to: Commit | None = None
    changes: Sequence[Change] | None = None


@dataclass(frozen=True)
class Plan:
    """The effect of a merge, pull, revert, cherry-pick, restore, undo or retraction on a branch.

    Attributes:
        branch: the branch.
        head: the commit of the branch that this was planned on.
        kind: what `apply` makes: a `merge` commit with two parents, or a `commit` with one;
            `fast-forward`: no commit, the branch moves to the merged one; `new-branch`: the branch
            is created; `up-to-date`: nothing, since the branch already contains it.
        commits: the commits that are merged, taken back, picked or restored from, newest first.
        bases: for a merge, ids of the commits that both sides started from; several where histories
            cross.
        changes: what changes on the branch, in order of key; a record that would be written has
            the transaction id of no commit.
        conflicts: the conflicts that are not resolved, in order of key; a plan with conflicts
            cannot be applied.
        resolved: how each of the other conflicts is resolved, by key: `ours`, `theirs`, `base`,
            `delete` or `value`.
    """

    branch: str
    head: Commit
    kind: PlanKind
    commits: tuple[Commit, ...]
    bases: tuple[str, ...]
    changes: tuple[Change, ...]
    conflicts: tuple[Conflict, ...]
    resolved: Mapping[str, str]
    _apply: Callable[[], Commit] = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        freeze(self, "resolved")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a plan cannot be pickled or copied: it belongs to one repository")

    @property
    def can_fast_forward(self) -> bool:
        """Whether this merges into a branch that has no commits of its own and could be moved."""
        return self.bases == (self.head.id,)

    def apply(self) -> Commit:
        """Apply exactly this plan, if the branch still points at `head`.

        Returns:
            The commit that the branch now points at.

        Raises:
            RefConflictError: the branch has moved; nothing was written, so plan again.
            ConflictError: a conflict is not resolved; nothing was written.
            NotFoundError: the branch, or an object that is needed, is gone.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the store failed, and the commit is not in it.
        """
        return self._apply()


@dataclass(frozen=True, slots=True)
class _Planned:
    """A step with its conflicts resolved, and its transaction."""

    head: Commit
    step: Step
    settled: Settled
    transaction: Transaction


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on a branch.

    Attributes:
        writer: the repository's side.
        branch: the branch.
        plan_on: computes the step for a head of it.
        options: the options.
    """

    writer: Writer
    branch: str
    plan_on: Callable[[Commit], Step]
    options: Options

    def plan(self, head: Commit | None = None) -> Plan:
        """The plan of this operation; writes nothing.

        Args:
            head: the head to plan on; that of the branch if not given.

        Raises:
            DimensionError: it would mix vectors that no search can compare.
            NotFoundError: the branch does not exist.
            RefConflictError: the branch does not point at the commit that is expected.
            ValidationError: a resolution names a key without a conflict.
        """
        planned = self._planned(head or self.head())
        step, settled = planned.step, planned.settled
        changes = describe(self._edits(planned)) if step.changes is None else step.changes

        def apply() -> Commit:
            transaction = self._transaction(planned.head, step, settled)
            return self._land(replace(planned, transaction=transaction))

        return Plan(
            self.branch,
            planned.head,
            _kind(planned),
            tuple(step.commits),
            tuple(step.bases),
            tuple(changes),
            tuple(settled.conflicts),
            settled.resolved,
            apply,
        )

    def run(self, done: Callable[[Step], object] = lambda step: None) -> Commit:
        """Run this, again on the new head until it lands.

        Args:
            done: called with what was done.

        Returns:
            The commit that the branch now points at; the head if there is nothing to change.

        Raises:
            ConflictError: a conflict is not resolved; nothing was written.
            RefConflictError: the branch does not point at the commit that is expected.
            MnemosyneError: as `plan` and the engine raise.
        """

        def once() -> Commit:
            planned = self._planned(self.head())
            commit = self._land(planned)
            done(planned.step)
            return commit

        if self.options.expect is not None:
            return once()
        return until_it_lands(self.writer.blocks.can, once, RefConflictError)

    def head(self) -> Commit:
        """The commit that the branch points at.

        Raises:
            NotFoundError: the branch does not exist.
            RefConflictError: it is not the one that is expected.
        """
        head, expect = branch_head(self.writer.blocks, self.branch), self.options.expect
        if expect is not None and head.id != expect.id:
            raise moved(self.branch, expect, head)
        return head

    def _planned(self, head: Commit) -> _Planned:
        step, options = self.plan_on(head), self.options
        settled = settle(step.merged, options.resolutions or {}, options.on_conflict)
        transaction = self._transaction(head, step, settled)
        if not (settled.conflicts or step.moves_to or options.allow_mixed_vectors):
            check_mixing(self.writer.blocks, transaction)
        return _Planned(head, step, settled, transaction)

    def _transaction(self, head: Commit, step: Step, settled: Settled) -> Transaction:
        """A transaction with all changes of a step, which lands only on its head."""
        options = self.options
        trailers = {**(options.trailers or {}), **step.trailers}
        if settled.resolved:
            trailers[RESOLVED] = json.dumps(
                settled.resolved, ensure_ascii=False, separators=(",", ":"), sort_keys=True
            )
        transaction = Transaction(
            self.writer,
            self.branch,
            author=options.author,
            message=options.message or step.message,
            trailers=trailers,
            base=head,
            expect=head,
            changes=settled.changes,
            merges=step.parent,
        )
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
        return transaction

    def _edits(self, planned: _Planned) -> Iterator[tuple[str, Record | None, Record | None]]:
        """The changes of a step: key, record before and record after."""
        tree = Tree.of(self.writer.blocks, planned.head)
        for key in sorted(planned.transaction.changed_keys()):
            yield key, tree.record(key), planned.transaction.get(key)

    def _land(self, planned: _Planned) -> Commit:
        step, transaction, conflicts = planned.step, planned.transaction, planned.settled.conflicts
        if conflicts:
            raise unresolved_conflicts(self.branch, conflicts, step.parent)
        if step.moves_to is None:
            return transaction.commit()
        blocks, new = self.writer.blocks, step.moves_to
        now, why = self.writer.clock(), transaction.message
        ref, old = branch_ref(self.branch), planned.head
        update = RefUpdate(ref, old.cid, new.cid, transaction.author, now, why)
        try:
            write_ref(blocks, {}, update, [new.cid])
        except RefConflictError:
            raise moved(self.branch, old, branch_head(blocks, self.branch)) from None
        return new


def _kind(planned: _Planned) -> PlanKind:
    if planned.step.moves_to is not None:
        return "fast-forward"
    if planned.step.parent is not None:
        return "merge"
    changes = planned.settled.conflicts or planned.transaction.changed_keys()
    return "commit" if changes else "up-to-date"


def unresolved_conflicts(
    branch: str, conflicts: Sequence[Conflict], merging: Commit | None = None
) -> ConflictError:
    """The error for conflicts that are not resolved.

    Args:
        branch: the branch.
        conflicts: the conflicts.
        merging: the commit to merge, for a merge.
    """
    if merging is not None:
        return ConflictError(
            f"{merging.id} and branch {branch!r} have changed {listed(conflicts)} in different "
            "ways; resolve each with `resolutions`, or all with `on_conflict`",
            conflicts,
        )
    return ConflictError(
        f"the branch has other changes: {listed(conflicts)}; resolve each with a "
        "resolution, take later commits back first, or put the values you want",
        conflicts,
    )

"""The part of `Repository` that finds records from a source, and takes them back."""

from collections.abc import Collection, Iterator

from mnemosyne_vcs.history.trace import Origin, TracedRecord, trace
from mnemosyne_vcs.merge.operation import Operation, Options, Plan, Step
from mnemosyne_vcs.merge.retract import Retraction, retract
from mnemosyne_vcs.model import Change, Commit, Revision
from mnemosyne_vcs.refs import BRANCH, branch_head, ref_names
from mnemosyne_vcs.repository.base import RepositoryBase

__all__ = ["_Trace"]


class _Trace(RepositoryBase):
    """Finding and taking back what came from a bad source."""

    def trace(
        self,
        *,
        source: str | None = None,
        agent: str | None = None,
        run: str | None = None,
        tool_call: str | None = None,
        commit: Revision | None = None,
        branches: Collection[str] | None = None,
    ) -> Iterator[TracedRecord]:
        """The live records that came from an origin, directly or through `Provenance.derived_from`.

        A record is derived from a version, by key and commit, even if that version was replaced
        since. The version that came from the origin must match every given argument.

        In SQLite files and in memory, records are found by the index of facts, and each is read; a
        fact that was lost from the index hides its record until `verify` tells of it. With
        `commit`, and in other stores, every live record is read.

        Args:
            source: `Provenance.source` of what to look for.
            agent: `Provenance.agent` of what to look for.
            run: `Provenance.run` of what to look for.
            tool_call: `Provenance.tool_call` of what to look for.
            commit: a revision; matches what that commit's transaction wrote.
            branches: the branches to search; all if not given.

        Returns:
            The records, branch by branch in the given order or by name, then in order of key.

        Raises:
            NotFoundError: the branch or commit does not exist.
            InvalidRevisionError: `commit` is not a valid revision.
            ValidationError: no origin is given.
        """
        origin = self._origin(source, agent, run, tool_call, commit)
        heads = {name: branch_head(self.blocks, name) for name in self._named(branches)}
        return trace(self.blocks, heads, origin)

    def retract(
        self,
        *,
        source: str | None = None,
        agent: str | None = None,
        run: str | None = None,
        tool_call: str | None = None,
        commit: Revision | None = None,
        branches: Collection[str] | None = None,
        author: str | None = None,
        message: str = "",
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Retraction:
        """Take back exactly the records that `trace` finds, in one commit for each branch.

        Each gets its newest earlier value that did not come from the origin; a record without one
        is deleted. Later records stay, unless they were derived from what is taken back. Every live
        record is read, so that no fault of an index can hide one.

        Args:
            source: as in `trace`.
            agent: as in `trace`.
            run: as in `trace`.
            tool_call: as in `trace`.
            commit: as in `trace`.
            branches: the branches to change; all if not given.
            author: the author; the repository's if not given.
            message: the commit message.
            allow_mixed_vectors: allow vectors of several dimensions or models side by side where
                there was only one kind before; no search can compare them.
            expect: the commit that each of the branches must point at, which is checked before any
                of them is changed.

        Returns:
            What changed, and the commits.

        Raises:
            DimensionError: it would mix vectors, and that is not allowed; branches before the one
                where it would are changed.
            RefConflictError: a branch does not point at `expect`; branches before one that has
                moved meanwhile are changed.
            NotFoundError: the branch or commit does not exist.
            InvalidRevisionError: `commit` is not a valid revision.
            ValidationError: no origin is given.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the store failed; branches before the one it failed at are changed.
        """
        origin = self._origin(source, agent, run, tool_call, commit)
        options = Options(author, message, allow_mixed_vectors, self._expected(expect))
        self._check_writable()
        changes: dict[str, tuple[Change, ...]] = {}
        commits: dict[str, Commit] = {}
        for operation in self._retracting(origin, branches, options):

            def note(step: Step, branch: str = operation.branch) -> None:
                changes[branch] = tuple(step.changes or ())

            made = operation.run(note)
            if changes[operation.branch]:
                commits[operation.branch] = made
        return Retraction({name: each for name, each in changes.items() if each}, commits)

    def plan_retract(
        self,
        *,
        source: str | None = None,
        agent: str | None = None,
        run: str | None = None,
        tool_call: str | None = None,
        commit: Revision | None = None,
        branches: Collection[str] | None = None,
        author: str | None = None,
        message: str = "",
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> dict[str, Plan]:
        """A plan of `retract` for each branch, by name; writes nothing. Arguments as for `retract`.

        Records are found as `trace` finds them, which is quicker than `retract`.

        Returns:
            A plan for each branch with records to take back.

        Raises:
            MnemosyneError: as `retract` raises.
        """
        origin = self._origin(source, agent, run, tool_call, commit)
        options = Options(author, message, allow_mixed_vectors, self._expected(expect))
        operations = self._retracting(origin, branches, options, by_index=True)
        plans = [each.plan() for each in operations]
        return {plan.branch: plan for plan in plans if plan.changes}

    def _retracting(
        self,
        origin: Origin,
        branches: Collection[str] | None,
        options: Options,
        *,
        by_index: bool = False,
    ) -> list[Operation]:
        def plan_on(head: Commit) -> Step:
            return retract(self.blocks, head, origin, by_index=by_index)

        operations = [
            Operation(self._writer, branch, plan_on, options) for branch in self._named(branches)
        ]
        if options.expect is not None:
            for operation in operations:
                operation.head()
        return operations

    def _named(self, branches: Collection[str] | None) -> Collection[str]:
        return ref_names(self.blocks, BRANCH) if branches is None else dict.fromkeys(branches)

    def _origin(
        self,
        source: str | None,
        agent: str | None,
        run: str | None,
        tool_call: str | None,
        commit: Revision | None,
    ) -> Origin:
        transaction_id = None if commit is None else self.resolve(commit).transaction_id
        return Origin(source, agent, run, tool_call, transaction_id)

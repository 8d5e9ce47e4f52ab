"""The part of `Repository` that acts on history: merge, revert, cherry-pick, restore, undo."""

from collections.abc import Mapping
from dataclasses import replace

from mnemosyne_vcs.format.validation import check_text
from mnemosyne_vcs.merge import branches, undo
from mnemosyne_vcs.merge.operation import Operation, Options, Plan
from mnemosyne_vcs.merge.resolutions import Resolution, Strategy
from mnemosyne_vcs.model import Commit, Revision, named
from mnemosyne_vcs.refs import DEFAULT_BRANCH
from mnemosyne_vcs.repository.base import RepositoryBase

__all__ = ["_Undo"]


class _Undo(RepositoryBase):
    """What a repository can do with its history. Each method makes one commit, or none."""

    def merge(
        self,
        source: Revision,
        into: str = DEFAULT_BRANCH,
        *,
        author: str | None = None,
        message: str = "",
        trailers: Mapping[str, str] | None = None,
        resolutions: Mapping[str, Resolution] | None = None,
        strategy: Strategy | None = None,
        fast_forward: bool = False,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Commit:
        """Bring what a revision has changed since it left a branch into that branch.

        A record that only one side has changed is taken as it is; records that both have changed
        are merged field by field. What clashes is settled by the resolutions, or nothing is
        written. The merge commit has the trailer `Resolved`: how each conflict was settled, as a
        JSON object by key.

        Args:
            source: the revision to merge.
            into: the branch.
            author: who merges; the repository's author if not given.
            message: why.
            trailers: further facts by name for the commit.
            resolutions: how to settle the conflict of each key: `ours` (as on the branch),
                `theirs`, `base` (as both started), `delete`, or `mnemosyne_vcs.value(...)`.
            strategy: how to settle all other conflicts: one of the words, or a function that is
                given the conflict and returns a resolution, or None to leave it. It is asked again
                if the branch moves meanwhile.
            fast_forward: if the branch has nothing of its own, move it to the revision and write
                no commit.
            allow_mixed_vectors: leave vectors of several dimensions or models side by side, where
                there were only such of one kind before; no search can compare them.
            expect: the commit that the branch must point at, such as the head of a plan.

        Returns:
            The merge commit; the head, if the branch has all of the revision already.

        Raises:
            ConflictError: a conflict is not settled; its `conflicts` holds all of them.
            DimensionError: it would mix vectors so, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: there is no such branch or revision.
            InvalidRevisionError: the revision is none.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the store failed, and the merge is not in it.
            ValidationError: a resolution is malformed, or names a key without a conflict.
        """
        options = Options(
            author,
            message,
            allow_mixed_vectors,
            self._expected(expect),
            resolutions,
            strategy,
            trailers,
        )
        return self._run(self._merging(source, into, options, fast_forward=fast_forward))

    def plan_merge(
        self,
        source: Revision,
        into: str = DEFAULT_BRANCH,
        *,
        author: str | None = None,
        message: str = "",
        trailers: Mapping[str, str] | None = None,
        resolutions: Mapping[str, Resolution] | None = None,
        strategy: Strategy | None = None,
        fast_forward: bool = False,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Plan:
        """What `merge` would do; writes nothing. Arguments as there.

        Raises:
            MnemosyneError: as `merge` raises, except for conflicts, which the plan holds.
        """
        options = Options(
            author,
            message,
            allow_mixed_vectors,
            self._expected(expect),
            resolutions,
            strategy,
            trailers,
        )
        return self._merging(source, into, options, fast_forward=fast_forward).plan()

    def _merging(
        self, source: Revision, into: str, options: Options, *, fast_forward: bool
    ) -> Operation:
        theirs = self.resolve(source)
        message = options.message or f"merge {named(source)} into {into}"
        return Operation(
            self._writer,
            into,
            lambda head: branches.merge(self.blocks, head, theirs, fast_forward=fast_forward),
            replace(options, message=message),
        )

    def undo(
        self,
        n: int = 1,
        *,
        run: str | None = None,
        save: str | None = None,
        branch: str = DEFAULT_BRANCH,
        author: str | None = None,
        message: str = "",
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Commit:
        """Take commits back in one new commit; the history keeps them.

        What later commits have changed in other records, or in other fields of the same, stays.
        The trailer `Undoes` names the commits.

        Args:
            n: how many of the branch's newest commits.
            run: instead, every commit whose trailer `Run-Id` is this.
            save: instead, every commit whose trailer `Save-Id` is this.
            branch: the branch.
            author: who undoes; the repository's author if not given.
            message: why.
            allow_mixed_vectors: leave vectors of several dimensions or models side by side, where
                there were only such of one kind before; no search can compare them.
            expect: the commit that the branch must point at, such as the head of a plan.

        Returns:
            The new commit, or the head if what they wrote is gone already.

        Raises:
            ConflictError: a later commit has changed what one of them wrote; nothing is undone.
            DimensionError: it would mix vectors so, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: there is no such commit or branch.
            ReadOnlyError: the repository was opened for reading.
            ValidationError: `n` is less than 1.
        """
        options = Options(author, message, allow_mixed_vectors, self._expected(expect))
        return self._run(self._undoing(n, run, save, branch, options))

    def plan_undo(
        self,
        n: int = 1,
        *,
        run: str | None = None,
        save: str | None = None,
        branch: str = DEFAULT_BRANCH,
        author: str | None = None,
        message: str = "",
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Plan:
        """What `undo` would do; writes nothing. Arguments as there.

        Raises:
            MnemosyneError: as `undo` raises, except for conflicts, which the plan holds.
        """
        options = Options(author, message, allow_mixed_vectors, self._expected(expect))
        return self._undoing(n, run, save, branch, options).plan()

    def _undoing(
        self, n: int, run: str | None, save: str | None, branch: str, options: Options
    ) -> Operation:
        trailer = ("Run-Id", run) if run is not None else None
        trailer = ("Save-Id", save) if save is not None else trailer
        return Operation(
            self._writer, branch, lambda head: undo.undo(self.blocks, head, n, trailer), options
        )

    def revert(
        self,
        revision: Revision,
        *,
        branch: str = DEFAULT_BRANCH,
        parent: int = 1,
        author: str | None = None,
        message: str = "",
        resolutions: Mapping[str, Resolution] | None = None,
        strategy: Strategy | None = None,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Commit:
        """Take one commit back in a new commit; what changed since in other fields stays.

        The trailer `Reverts` names the commit.

        Args:
            revision: the commit.
            branch: the branch to change.
            parent: of a merge, the number of the parent whose state it goes back to, from 1.
            author: who reverts; the repository's author if not given.
            message: why.
            resolutions: how to settle the conflict of each key: `ours` is what the branch has,
                `theirs` what was there before the commit, `base` what the commit made; or
                `delete`, or `mnemosyne_vcs.value(...)`.
            strategy: how to settle the other conflicts: one of those words, or a function that is
                given the conflict and returns a resolution, or None to leave it.
            allow_mixed_vectors: leave vectors of several dimensions or models side by side, where
                there were only such of one kind before; no search can compare them.
            expect: the commit that the branch must point at, such as the head of a plan.

        Returns:
            The new commit, or the head if nothing of it is left to take back.

        Raises:
            ConflictError: a conflict is not settled; nothing was written.
            DimensionError: it would mix vectors so, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: there is no such commit or branch.
            ReadOnlyError: the repository was opened for reading.
            ValidationError: the commit has no such parent, a resolution is malformed, or names a
                key without a conflict.
        """
        options = Options(
            author, message, allow_mixed_vectors, self._expected(expect), resolutions, strategy
        )
        return self._run(self._reverting(revision, branch, parent, options))

    def plan_revert(
        self,
        revision: Revision,
        *,
        branch: str = DEFAULT_BRANCH,
        parent: int = 1,
        author: str | None = None,
        message: str = "",
        resolutions: Mapping[str, Resolution] | None = None,
        strategy: Strategy | None = None,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Plan:
        """What `revert` would do; writes nothing. Arguments as there.

        Raises:
            MnemosyneError: as `revert` raises, except for conflicts, which the plan holds.
        """
        options = Options(
            author, message, allow_mixed_vectors, self._expected(expect), resolutions, strategy
        )
        return self._reverting(revision, branch, parent, options).plan()

    def _reverting(
        self, revision: Revision, branch: str, parent: int, options: Options
    ) -> Operation:
        commit = self.resolve(revision)
        return Operation(
            self._writer,
            branch,
            lambda head: undo.revert(self.blocks, head, commit, parent),
            options,
        )

    def cherry_pick(
        self,
        revision: Revision,
        *,
        branch: str = DEFAULT_BRANCH,
        parent: int = 1,
        author: str | None = None,
        message: str = "",
        resolutions: Mapping[str, Resolution] | None = None,
        strategy: Strategy | None = None,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Commit:
        """Make the changes of one commit on another branch, in a new commit.

        Records that are taken over as they are keep their writer, whom blame still names. The
        trailer `Cherry-Picked-From` names the commit.

        Args:
            revision: the commit.
            branch: the branch to change.
            parent: of a merge, the number of the parent that its changes are against, from 1.
            author: who picks; the repository's author if not given.
            message: why; the commit's own message if not given.
            resolutions: how to settle the conflict of each key: `ours` is what the branch has,
                `theirs` what the commit made, `base` what was there before the commit; or
                `delete`, or `mnemosyne_vcs.value(...)`.
            strategy: how to settle the other conflicts: one of those words, or a function that is
                given the conflict and returns a resolution, or None to leave it.
            allow_mixed_vectors: leave vectors of several dimensions or models side by side, where
                there were only such of one kind before; no search can compare them.
            expect: the commit that the branch must point at, such as the head of a plan.

        Returns:
            The new commit, or the head if it has all of the changes already.

        Raises:
            ConflictError: a conflict is not settled; nothing was written.
            DimensionError: it would mix vectors so, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: there is no such commit or branch.
            ReadOnlyError: the repository was opened for reading.
            ValidationError: the commit has no such parent, a resolution is malformed, or names a
                key without a conflict.
        """
        options = Options(
            author, message, allow_mixed_vectors, self._expected(expect), resolutions, strategy
        )
        return self._run(self._picking(revision, branch, parent, options))

    def plan_cherry_pick(
        self,
        revision: Revision,
        *,
        branch: str = DEFAULT_BRANCH,
        parent: int = 1,
        author: str | None = None,
        message: str = "",
        resolutions: Mapping[str, Resolution] | None = None,
        strategy: Strategy | None = None,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Plan:
        """What `cherry_pick` would do; writes nothing. Arguments as there.

        Raises:
            MnemosyneError: as `cherry_pick` raises, except for conflicts, which the plan holds.
        """
        options = Options(
            author, message, allow_mixed_vectors, self._expected(expect), resolutions, strategy
        )
        return self._picking(revision, branch, parent, options).plan()

    def _picking(self, revision: Revision, branch: str, parent: int, options: Options) -> Operation:
        commit = self.resolve(revision)
        return Operation(
            self._writer,
            branch,
            lambda head: undo.cherry_pick(self.blocks, head, commit, parent),
            options,
        )

    def restore(
        self,
        from_: Revision,
        prefix: str = "",
        *,
        branch: str = DEFAULT_BRANCH,
        author: str | None = None,
        message: str = "",
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Commit:
        """Make everything below a prefix as it was at a revision, in a new commit.

        The records come back as they were written then. The trailer `Restored-From` names the
        commit.

        Args:
            from_: the revision.
            prefix: only keys that start with this; a whole key is one too.
            branch: the branch to change.
            author: who restores; the repository's author if not given.
            message: why.
            allow_mixed_vectors: leave vectors of several dimensions or models side by side, where
                there were only such of one kind before; no search can compare them.
            expect: the commit that the branch must point at, such as the head of a plan.

        Returns:
            The new commit, or the head if it is so already.

        Raises:
            ConflictError: a record would come back beside one with the same id (see `Conflict`)
                that is outside the prefix; nothing was written.
            DimensionError: it would mix vectors so, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: there is no such revision or branch.
            InvalidRevisionError: the revision is not one.
            ValidationError: the prefix is not a string, or cannot be encoded.
            ReadOnlyError: the repository was opened for reading.
        """
        options = Options(author, message, allow_mixed_vectors, self._expected(expect))
        return self._run(self._restoring(from_, prefix, branch, options))

    def plan_restore(
        self,
        from_: Revision,
        prefix: str = "",
        *,
        branch: str = DEFAULT_BRANCH,
        author: str | None = None,
        message: str = "",
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Plan:
        """What `restore` would do; writes nothing. Arguments as there.

        Raises:
            MnemosyneError: as `restore` raises, except for conflicts, which the plan holds.
        """
        options = Options(author, message, allow_mixed_vectors, self._expected(expect))
        return self._restoring(from_, prefix, branch, options).plan()

    def _restoring(self, from_: Revision, prefix: str, branch: str, options: Options) -> Operation:
        source, prefix = self.resolve(from_), check_text(prefix, "prefix")
        return Operation(
            self._writer,
            branch,
            lambda head: undo.restore(self.blocks, head, source, prefix),
            options,
        )

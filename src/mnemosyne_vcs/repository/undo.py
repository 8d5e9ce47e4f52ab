"""The part of `Repository` that acts on history: merge, revert, cherry-pick, restore, undo."""

from collections.abc import Mapping
from typing import Literal, overload

from mnemosyne_vcs.format.validation import check_text
from mnemosyne_vcs.merge import branches as merging
from mnemosyne_vcs.merge import undo
from mnemosyne_vcs.merge.resolutions import Resolution, Strategy
from mnemosyne_vcs.merge.undo import Prepare, Wishes
from mnemosyne_vcs.model import ActionPlan, Commit, MergePlan, Revision, named
from mnemosyne_vcs.refs import DEFAULT_BRANCH
from mnemosyne_vcs.repository.base import RepositoryBase

__all__ = ["_Undo"]


class _Undo(RepositoryBase):
    """What a repository can do with its history. Each method makes one commit, or none."""

    @overload
    def merge(
        self,
        source: Revision,
        into: str = ...,
        *,
        author: str | None = ...,
        message: str = ...,
        trailers: Mapping[str, str] | None = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        fast_forward: bool = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[False] = ...,
    ) -> Commit: ...

    @overload
    def merge(
        self,
        source: Revision,
        into: str = ...,
        *,
        author: str | None = ...,
        message: str = ...,
        trailers: Mapping[str, str] | None = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        fast_forward: bool = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[True],
    ) -> MergePlan: ...

    @overload
    def merge(
        self,
        source: Revision,
        into: str = ...,
        *,
        author: str | None = ...,
        message: str = ...,
        trailers: Mapping[str, str] | None = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        fast_forward: bool = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: bool,
    ) -> Commit | MergePlan: ...

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
        dry_run: bool = False,
    ) -> Commit | MergePlan:
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
            dry_run: write nothing and say what would happen.

        Returns:
            The merge commit; the head, if the branch has all of the revision already. With
            `dry_run` the plan.

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
        wishes = merging.Wishes(
            author,
            message or f"merge {named(source)} into {into}",
            trailers or {},
            resolutions or {},
            strategy,
            fast_forward,
            allow_mixed_vectors,
            self._expected(expect),
        )
        theirs = self.resolve(source)
        if dry_run:
            return merging.plan(self._writer, theirs, into, wishes)
        self._check_writable()
        return merging.merge(self._writer, theirs, into, wishes)

    @overload
    def undo(
        self,
        n: int = ...,
        *,
        run: str | None = ...,
        save: str | None = ...,
        branch: str = ...,
        author: str | None = ...,
        message: str = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[False] = ...,
    ) -> Commit: ...

    @overload
    def undo(
        self,
        n: int = ...,
        *,
        run: str | None = ...,
        save: str | None = ...,
        branch: str = ...,
        author: str | None = ...,
        message: str = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[True],
    ) -> ActionPlan: ...

    @overload
    def undo(
        self,
        n: int = ...,
        *,
        run: str | None = ...,
        save: str | None = ...,
        branch: str = ...,
        author: str | None = ...,
        message: str = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: bool,
    ) -> Commit | ActionPlan: ...

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
        dry_run: bool = False,
    ) -> Commit | ActionPlan:
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
            dry_run: only say what would change.

        Returns:
            The new commit, or the head if what they wrote is gone already. With `dry_run` the
            plan.

        Raises:
            ConflictError: a later commit has changed what one of them wrote; nothing is undone.
            DimensionError: it would mix vectors so, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: there is no such commit or branch.
            ReadOnlyError: the repository was opened for reading.
            ValidationError: `n` is less than 1.
        """
        trailer = ("Run-Id", run) if run is not None else None
        trailer = ("Save-Id", save) if save is not None else trailer

        def prepare(head: Commit) -> undo.Act:
            return undo.undo(self.blocks, head, n, trailer)

        return self._act(
            branch,
            prepare,
            Wishes(
                author,
                message,
                allow_mixed_vectors=allow_mixed_vectors,
                expect=self._expected(expect),
            ),
            dry_run,
        )

    @overload
    def revert(
        self,
        revision: Revision,
        *,
        branch: str = ...,
        parent: int = ...,
        author: str | None = ...,
        message: str = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[False] = ...,
    ) -> Commit: ...

    @overload
    def revert(
        self,
        revision: Revision,
        *,
        branch: str = ...,
        parent: int = ...,
        author: str | None = ...,
        message: str = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[True],
    ) -> ActionPlan: ...

    @overload
    def revert(
        self,
        revision: Revision,
        *,
        branch: str = ...,
        parent: int = ...,
        author: str | None = ...,
        message: str = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: bool,
    ) -> Commit | ActionPlan: ...

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
        dry_run: bool = False,
    ) -> Commit | ActionPlan:
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
            dry_run: only say what would change.

        Returns:
            The new commit, or the head if nothing of it is left to take back. With `dry_run` the
            plan.

        Raises:
            ConflictError: a conflict is not settled; nothing was written.
            DimensionError: it would mix vectors so, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: there is no such commit or branch.
            ReadOnlyError: the repository was opened for reading.
            ValidationError: the commit has no such parent, a resolution is malformed, or names a
                key without a conflict.
        """
        commit = self.resolve(revision)

        def prepare(head: Commit) -> undo.Act:
            return undo.revert(self.blocks, head, commit, parent)

        wishes = Wishes(
            author,
            message,
            resolutions or {},
            strategy,
            allow_mixed_vectors,
            self._expected(expect),
        )
        return self._act(branch, prepare, wishes, dry_run)

    @overload
    def cherry_pick(
        self,
        revision: Revision,
        *,
        branch: str = ...,
        parent: int = ...,
        author: str | None = ...,
        message: str = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[False] = ...,
    ) -> Commit: ...

    @overload
    def cherry_pick(
        self,
        revision: Revision,
        *,
        branch: str = ...,
        parent: int = ...,
        author: str | None = ...,
        message: str = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[True],
    ) -> ActionPlan: ...

    @overload
    def cherry_pick(
        self,
        revision: Revision,
        *,
        branch: str = ...,
        parent: int = ...,
        author: str | None = ...,
        message: str = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: bool,
    ) -> Commit | ActionPlan: ...

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
        dry_run: bool = False,
    ) -> Commit | ActionPlan:
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
            dry_run: only say what would change.

        Returns:
            The new commit, or the head if it has all of the changes already. With `dry_run` the
            plan.

        Raises:
            ConflictError: a conflict is not settled; nothing was written.
            DimensionError: it would mix vectors so, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: there is no such commit or branch.
            ReadOnlyError: the repository was opened for reading.
            ValidationError: the commit has no such parent, a resolution is malformed, or names a
                key without a conflict.
        """
        commit = self.resolve(revision)

        def prepare(head: Commit) -> undo.Act:
            return undo.cherry_pick(self.blocks, head, commit, parent)

        wishes = Wishes(
            author,
            message,
            resolutions or {},
            strategy,
            allow_mixed_vectors,
            self._expected(expect),
        )
        return self._act(branch, prepare, wishes, dry_run)

    @overload
    def restore(
        self,
        from_: Revision,
        prefix: str = ...,
        *,
        branch: str = ...,
        author: str | None = ...,
        message: str = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[False] = ...,
    ) -> Commit: ...

    @overload
    def restore(
        self,
        from_: Revision,
        prefix: str = ...,
        *,
        branch: str = ...,
        author: str | None = ...,
        message: str = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[True],
    ) -> ActionPlan: ...

    @overload
    def restore(
        self,
        from_: Revision,
        prefix: str = ...,
        *,
        branch: str = ...,
        author: str | None = ...,
        message: str = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: bool,
    ) -> Commit | ActionPlan: ...

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
        dry_run: bool = False,
    ) -> Commit | ActionPlan:
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
            dry_run: only say what would change.

        Returns:
            The new commit, or the head if it is so already. With `dry_run` the plan.

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
        source, prefix = self.resolve(from_), check_text(prefix, "prefix")

        def prepare(head: Commit) -> undo.Act:
            return undo.restore(self.blocks, head, source, prefix)

        return self._act(
            branch,
            prepare,
            Wishes(
                author,
                message,
                allow_mixed_vectors=allow_mixed_vectors,
                expect=self._expected(expect),
            ),
            dry_run,
        )

    def _act(
        self, branch: str, prepare: Prepare, wishes: Wishes, dry_run: bool
    ) -> Commit | ActionPlan:
        if dry_run:
            return undo.plan(self._writer, branch, prepare, wishes)
        self._check_writable()
        return undo.carry_out(self._writer, branch, prepare, wishes)

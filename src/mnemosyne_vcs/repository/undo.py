"""The part of `Repository` that merges and undoes: merge, revert, cherry-pick, restore, undo."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.format.validation import check_text, check_trailer
from mnemosyne_vcs.merge import branches, undo
from mnemosyne_vcs.merge.operation import Operation, Options, Plan, Step
from mnemosyne_vcs.merge.resolutions import OnConflict, Resolution
from mnemosyne_vcs.model import Commit, Revision, named
from mnemosyne_vcs.refs import DEFAULT_BRANCH
from mnemosyne_vcs.repository.base import RepositoryBase

__all__ = ["_Undo"]


class _Undo(RepositoryBase):
    """Merging and undoing. Each method makes one commit, or none."""

    def merge(
        self,
        revision: Revision,
        into: str = DEFAULT_BRANCH,
        *,
        author: str | None = None,
        message: str = "",
        trailers: Mapping[str, str] | None = None,
        resolutions: Mapping[str, Resolution] | None = None,
        on_conflict: OnConflict | None = None,
        fast_forward: bool = False,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Commit:
        """Merge the changes of a revision since the merge base into a branch.

        A record that only one side has changed is taken as it is; records that both have changed
        are merged field by field. Conflicts must be resolved by the arguments, or nothing is
        written. The merge commit has the trailer `Resolved`: how each conflict was resolved, as
        a JSON object by key.

        Args:
            revision: the revision to merge.
            into: the branch.
            author: the author; the repository's if not given.
            message: the commit message.
            trailers: further facts by name for the commit.
            resolutions: how to resolve the conflict of each key: `ours` (as on the branch),
                `theirs`, `base` (as both started), `delete`, or a `Replacement`.
            on_conflict: how to resolve all other conflicts: one of the words, or a function of the
                conflict that returns a resolution, or None to leave it. It is called again if the
                branch moves meanwhile.
            fast_forward: if the branch has no commits of its own, move it to the revision without a
                merge commit.
            allow_mixed_vectors: allow vectors of several dimensions or models side by side where
                there was only one kind before; no search can compare them.
            expect: the commit that the branch must point at, such as the head of a plan.

        Returns:
            The merge commit, or the head if the branch already contains the revision.

        Raises:
            ConflictError: a conflict is not resolved; `conflicts` holds all of them.
            DimensionError: it would mix vectors, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: the branch or revision does not exist.
            InvalidRevisionError: the text is not a valid revision.
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
            on_conflict,
            trailers,
        )
        return self._run(self._merging(revision, into, options, fast_forward=fast_forward))

    def plan_merge(
        self,
        revision: Revision,
        into: str = DEFAULT_BRANCH,
        *,
        author: str | None = None,
        message: str = "",
        trailers: Mapping[str, str] | None = None,
        resolutions: Mapping[str, Resolution] | None = None,
        on_conflict: OnConflict | None = None,
        fast_forward: bool = False,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Plan:
        """The plan of a `merge`, with the same arguments; writes nothing.

        Raises:
            MnemosyneError: as `merge` raises, except for conflicts, which the plan holds.
        """
        options = Options(
            author,
            message,
            allow_mixed_vectors,
            self._expected(expect),
            resolutions,
            on_conflict,
            trailers,
        )
        return self._merging(revision, into, options, fast_forward=fast_forward).plan()

    def _merging(
        self, revision: Revision, into: str, options: Options, *, fast_forward: bool
    ) -> Operation:
        theirs = self.resolve(revision)
        message = options.message or f"merge {named(revision)} into {into}"
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
        trailer: tuple[str, str] | None = None,
        branch: str = DEFAULT_BRANCH,
        author: str | None = None,
        message: str = "",
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Commit:
        """Take commits back in one new commit; the history keeps them.

        Later changes to other records, or to other fields of the same records, stay.
        The trailer `Undoes` names the commits.

        Args:
            n: the number of newest commits of the branch to take back.
            trailer: instead, every commit with a trailer of this name and value, such as
                `("Run-Id", "run-118")`.
            branch: the branch.
            author: the author; the repository's if not given.
            message: the commit message.
            allow_mixed_vectors: allow vectors of several dimensions or models side by side where
                there was only one kind before; no search can compare them.
            expect: the commit that the branch must point at, such as the head of a plan.

        Returns:
            The new commit, or the head if nothing is left of what they wrote.

        Raises:
            ConflictError: a later commit has changed what one of them wrote; nothing is undone.
            DimensionError: it would mix vectors, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: the commit or branch does not exist.
            ReadOnlyError: the repository was opened for reading.
            ValidationError: `n` is less than 1, or the trailer is not a pair of texts.
        """
        options = Options(author, message, allow_mixed_vectors, self._expected(expect))
        return self._run(self._undoing(n, trailer, branch, options))

    def plan_undo(
        self,
        n: int = 1,
        *,
        trailer: tuple[str, str] | None = None,
        branch: str = DEFAULT_BRANCH,
        author: str | None = None,
        message: str = "",
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Plan:
        """The plan of an `undo`, with the same arguments; writes nothing.

        Raises:
            MnemosyneError: as `undo` raises, except for conflicts, which the plan holds.
        """
        options = Options(author, message, allow_mixed_vectors, self._expected(expect))
        return self._undoing(n, trailer, branch, options).plan()

    def _undoing(
        self, n: int, trailer: tuple[str, str] | None, branch: str, options: Options
    ) -> Operation:
        wanted = None if trailer is None else check_trailer(trailer)
        return Operation(
            self._writer, branch, lambda head: undo.undo(self.blocks, head, n, wanted), options
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
        on_conflict: OnConflict | None = None,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Commit:
        """Take one commit back in a new commit; later changes to other fields stay.

        The trailer `Reverts` names the commit.

        Args:
            revision: the commit.
            branch: the branch to change.
            parent: for a merge, the number of the parent whose state it goes back to, from 1.
            author: the author; the repository's if not given.
            message: the commit message.
            resolutions: how to resolve the conflict of each key: `ours` is what the branch has,
                `theirs` what was there before the commit, `base` what the commit made; or
                `delete`, or a `Replacement`.
            on_conflict: how to resolve the other conflicts: one of those words, or a function of
                the conflict that returns a resolution, or None to leave it.
            allow_mixed_vectors: allow vectors of several dimensions or models side by side where
                there was only one kind before; no search can compare them.
            expect: the commit that the branch must point at, such as the head of a plan.

        Returns:
            The new commit, or the head if nothing is left to take back.

        Raises:
            ConflictError: a conflict is not resolved; nothing was written.
            DimensionError: it would mix vectors, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: the commit or branch does not exist.
            ReadOnlyError: the repository was opened for reading.
            ValidationError: the commit has no such parent, a resolution is malformed, or names a
                key without a conflict.
        """
        options = Options(
            author, message, allow_mixed_vectors, self._expected(expect), resolutions, on_conflict
        )
        return self._run(self._with_one_commit(undo.revert, revision, branch, parent, options))

    def plan_revert(
        self,
        revision: Revision,
        *,
        branch: str = DEFAULT_BRANCH,
        parent: int = 1,
        author: str | None = None,
        message: str = "",
        resolutions: Mapping[str, Resolution] | None = None,
        on_conflict: OnConflict | None = None,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Plan:
        """The plan of a `revert`, with the same arguments; writes nothing.

        Raises:
            MnemosyneError: as `revert` raises, except for conflicts, which the plan holds.
        """
        options = Options(
            author, message, allow_mixed_vectors, self._expected(expect), resolutions, on_conflict
        )
        return self._with_one_commit(undo.revert, revision, branch, parent, options).plan()

    def cherry_pick(
        self,
        revision: Revision,
        *,
        branch: str = DEFAULT_BRANCH,
        parent: int = 1,
        author: str | None = None,
        message: str = "",
        resolutions: Mapping[str, Resolution] | None = None,
        on_conflict: OnConflict | None = None,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Commit:
        """Apply the changes of one commit to another branch, in a new commit.

        Records that are taken over unchanged keep their writer, so that blame still finds it. The
        trailer `Cherry-Picked-From` names the commit.

        Args:
            revision: the commit.
            branch: the branch to change.
            parent: for a merge, the number of the parent that its changes are against, from 1.
            author: the author; the repository's if not given.
            message: the commit message; that of the picked commit if not given.
            resolutions: how to resolve the conflict of each key: `ours` is what the branch has,
                `theirs` what the commit made, `base` what was there before the commit; or
                `delete`, or a `Replacement`.
            on_conflict: how to resolve the other conflicts: one of those words, or a function of
                the conflict that returns a resolution, or None to leave it.
            allow_mixed_vectors: allow vectors of several dimensions or models side by side where
                there was only one kind before; no search can compare them.
            expect: the commit that the branch must point at, such as the head of a plan.

        Returns:
            The new commit, or the head if it already has all of the changes.

        Raises:
            ConflictError: a conflict is not resolved; nothing was written.
            DimensionError: it would mix vectors, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: the commit or branch does not exist.
            ReadOnlyError: the repository was opened for reading.
            ValidationError: the commit has no such parent, a resolution is malformed, or names a
                key without a conflict.
        """
        options = Options(
            author, message, allow_mixed_vectors, self._expected(expect), resolutions, on_conflict
        )
        return self._run(self._with_one_commit(undo.cherry_pick, revision, branch, parent, options))

    def plan_cherry_pick(
        self,
        revision: Revision,
        *,
        branch: str = DEFAULT_BRANCH,
        parent: int = 1,
        author: str | None = None,
        message: str = "",
        resolutions: Mapping[str, Resolution] | None = None,
        on_conflict: OnConflict | None = None,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Plan:
        """The plan of a `cherry_pick`, with the same arguments; writes nothing.

        Raises:
            MnemosyneError: as `cherry_pick` raises, except for conflicts, which the plan holds.
        """
        options = Options(
            author, message, allow_mixed_vectors, self._expected(expect), resolutions, on_conflict
        )
        return self._with_one_commit(undo.cherry_pick, revision, branch, parent, options).plan()

    def _with_one_commit(
        self,
        act: Callable[[Blocks, Commit, Commit, int], Step],
        revision: Revision,
        branch: str,
        parent: int,
        options: Options,
    ) -> Operation:
        """A revert or a cherry-pick: what is done to a head with the changes of one commit."""
        commit = self.resolve(revision)
        return Operation(
            self._writer, branch, lambda head: act(self.blocks, head, commit, parent), options
        )

    def restore(
        self,
        prefix: str = "",
        *,
        source: Revision,
        branch: str = DEFAULT_BRANCH,
        author: str | None = None,
        message: str = "",
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Commit:
        """Restore everything below a prefix to what it was at a revision, in a new commit.

        The records keep their writers. The trailer `Restored-From` names the
        commit.

        Args:
            prefix: only keys that start with this; it may be a whole key.
            source: the revision to take the records from.
            branch: the branch to change.
            author: the author; the repository's if not given.
            message: the commit message.
            allow_mixed_vectors: allow vectors of several dimensions or models side by side where
                there was only one kind before; no search can compare them.
            expect: the commit that the branch must point at, such as the head of a plan.

        Returns:
            The new commit, or the head if nothing changes.

        Raises:
            ConflictError: a record would be restored beside one with the same id (see `Conflict`)
                outside the prefix; nothing was written.
            DimensionError: it would mix vectors, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: the revision or branch does not exist.
            InvalidRevisionError: the text is not a valid revision.
            ValidationError: the prefix is not a string, or cannot be encoded.
            ReadOnlyError: the repository was opened for reading.
        """
        options = Options(author, message, allow_mixed_vectors, self._expected(expect))
        return self._run(self._restoring(prefix, source, branch, options))

    def plan_restore(
        self,
        prefix: str = "",
        *,
        source: Revision,
        branch: str = DEFAULT_BRANCH,
        author: str | None = None,
        message: str = "",
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
    ) -> Plan:
        """The plan of a `restore`, with the same arguments; writes nothing.

        Raises:
            MnemosyneError: as `restore` raises, except for conflicts, which the plan holds.
        """
        options = Options(author, message, allow_mixed_vectors, self._expected(expect))
        return self._restoring(prefix, source, branch, options).plan()

    def _restoring(self, prefix: str, source: Revision, branch: str, options: Options) -> Operation:
        commit, prefix = self.resolve(source), check_text(prefix, "prefix")
        return Operation(
            self._writer,
            branch,
            lambda head: undo.restore(self.blocks, head, commit, prefix),
            options,
        )

"""The part of `Repository` that exchanges history with other stores."""

from collections.abc import Collection, Generator, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import RefConflictError
from mnemosyne_vcs.interrupts import guarded
from mnemosyne_vcs.merge.branches import merge, require_related
from mnemosyne_vcs.merge.operation import Operation, Options, Plan, Step
from mnemosyne_vcs.merge.resolutions import OnConflict, Resolution
from mnemosyne_vcs.model import Commit, Revision
from mnemosyne_vcs.refs import DEFAULT_BRANCH, ROOT_COMMIT, branch_ref, ref_names, remote_ref
from mnemosyne_vcs.repository.base import RepositoryBase
from mnemosyne_vcs.repository.branches import _Branches
from mnemosyne_vcs.sync import branches as sync
from mnemosyne_vcs.sync import remotes
from mnemosyne_vcs.sync.branches import RefWriter, TransferReport
from mnemosyne_vcs.sync.remotes import DEFAULT_REMOTE
from mnemosyne_vcs.sync.transfer import Progress

if TYPE_CHECKING:
    from mnemosyne_vcs.repository.repository import Repository

__all__ = ["_Remotes"]


class _Remotes(_Branches):
    """Fetch, push and pull.

    Wherever a remote is expected it can be the name of one, the URL or path of a store, or a
    `Repository`, which is left open. Only what is named is remembered: a branch `main` of a remote
    `origin` is the revision `origin/main` here.
    """

    def remotes(self) -> dict[str, str]:
        """The URL of each remote, by name."""
        return remotes.remotes(self.blocks.engine)

    def add_remote(self, name: str, url: str | PathLike[str]) -> str:
        """Give another store a name. Nothing is opened.

        Args:
            name: the name, without `/`.
            url: the store, as `mnemosyne_vcs.open` takes it.

        Returns:
            The URL as it is kept: canonical, and without a password.

        Raises:
            ValidationError: the name is not a valid remote name, or the URL is not of a lasting
                store.
            AlreadyExistsError: a remote with that name exists already.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the engine keeps no remotes, or failed.
        """
        return remotes.add_remote(self.blocks.engine, name, url)

    def remove_remote(self, name: str) -> None:
        """Forget a remote and its branches.

        Raises:
            NotFoundError: there is no remote with that name.
            ReadOnlyError: the repository was opened for reading.
        """
        remotes.remove_remote(self.blocks, name, self._writer.author, self._writer.clock())

    def remote_branches(self, remote: str = DEFAULT_REMOTE) -> dict[str, str]:
        """The id of the commit that each branch of a remote named when last heard of.

        Raises:
            ValidationError: the name is not a valid remote name.
        """
        return ref_names(self.blocks, remote_ref(remote))

    def fetch(
        self,
        remote: "str | PathLike[str] | Repository" = DEFAULT_REMOTE,
        *,
        branches: Collection[str] | None = None,
        prune: bool = False,
        progress: Progress | None = None,
    ) -> TransferReport:
        """Copy the history of another store here, without moving branches.

        Only missing objects are copied, and all are checked. If this is interrupted, the next
        one continues from there. Tags come along with the commits that they name.

        Args:
            remote: the other store. If it has no name here, branches are not remembered, and
                `gc` may collect what came; see `pull`.
            branches: the branches to fetch; all of them, and all tags, if not given.
            prune: where all are fetched, forget here what is remembered of branches that are gone
                there.
            progress: called from time to time with how many objects have been looked at.

        Returns:
            The branches of the other store, and the size of the transfer.

        Raises:
            NotFoundError: the remote, store or branch does not exist, or an object is missing.
            ConflictError: a tag names one commit here and another there.
            CorruptObjectError: an object of the other store is damaged; no ref was moved.
            ReadOnlyError: this repository was opened for reading.
            EngineError: one of the stores failed; try again.
        """
        with self._other(remote, read_only=True) as (name, other):
            return sync.fetch(
                self.blocks,
                other,
                self._mover(),
                remote=name,
                branches=branches,
                prune=prune,
                progress=progress,
            )

    def push(
        self,
        remote: "str | PathLike[str] | Repository" = DEFAULT_REMOTE,
        branch: str = DEFAULT_BRANCH,
        *,
        progress: Progress | None = None,
    ) -> TransferReport:
        """Copy a branch to another store, whose branch must be in the past of this one.

        Only missing objects are copied, and all are checked. If this is interrupted, the next
        one continues from there. Tags of commits that are there then come along.

        Args:
            remote: the other store.
            branch: the branch; it is made there if it is missing.
            progress: called from time to time with how many objects have been looked at.

        Returns:
            The commit of the branch there, and the size of the transfer.

        Raises:
            RefConflictError: the branch there has commits that are not in this one: pull first.
            ConflictError: a tag names one commit here and another there.
            NotFoundError: the remote, store or branch does not exist, or an object is missing.
            CorruptObjectError: an object of this store is damaged; no ref was moved.
            ReadOnlyError: the other store does not accept writes.
            EngineError: one of the stores failed; try again.
        """
        with self._other(remote, read_only=False) as (name, other):
            return sync.push(
                self.blocks,
                other,
                self._mover(),
                remote=name,
                branch=branch,
                progress=progress,
            )

    def pull(
        self,
        remote: "str | PathLike[str] | Repository" = DEFAULT_REMOTE,
        branch: str = DEFAULT_BRANCH,
        *,
        into: str | None = None,
        author: str | None = None,
        message: str = "",
        trailers: Mapping[str, str] | None = None,
        resolutions: Mapping[str, Resolution] | None = None,
        on_conflict: OnConflict | None = None,
        allow_mixed_vectors: bool = False,
        allow_unrelated: bool = False,
        progress: Progress | None = None,
        expect: Revision | None = None,
    ) -> Commit:
        """Fetch a branch of another store and merge it into one here.

        The branch here is made if it is missing, and moved on if it has nothing of its own.
        Otherwise both are merged as `merge` does.

        Args:
            remote: the other store.
            branch: its branch.
            into: the branch here; that of the same name if not given.
            author: who merges; the repository's author if not given.
            message: why, if there is a merge commit.
            trailers: further facts by name for that commit.
            resolutions: how to resolve the conflict of each key, as in `merge`.
            on_conflict: how to resolve all other conflicts, as in `merge`.
            allow_mixed_vectors: as in `merge`; a branch that is made or moved on is taken as it is.
            allow_unrelated: merge also what has nothing in common with the branch here but the
                first commit, as is so of a store that was named by mistake.
            progress: called from time to time with how many objects have been looked at.
            expect: the commit that the branch here must point at before it is moved; it must be
                there then.

        Returns:
            The commit that the branch here now points at.

        Raises:
            ConflictError: a conflict is not resolved; what was fetched stays.
            RefConflictError: the branch here does not point at `expect`; what was fetched stays.
            ValidationError: the two have no history in common; what was fetched stays.
            MnemosyneError: as `fetch` and `merge` raise.
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
        operation, missing = self._pulling(
            remote, branch, into or branch, options, allow_unrelated, progress
        )
        if missing is not None:
            return self.create_branch(operation.branch, revision=missing)
        return self._run(operation)

    def plan_pull(
        self,
        remote: "str | PathLike[str] | Repository" = DEFAULT_REMOTE,
        branch: str = DEFAULT_BRANCH,
        *,
        into: str | None = None,
        author: str | None = None,
        message: str = "",
        trailers: Mapping[str, str] | None = None,
        resolutions: Mapping[str, Resolution] | None = None,
        on_conflict: OnConflict | None = None,
        allow_mixed_vectors: bool = False,
        allow_unrelated: bool = False,
        progress: Progress | None = None,
        expect: Revision | None = None,
    ) -> Plan:
        """Fetch, and plan what `pull` would then do here. Arguments as there.

        Returns:
            The plan, which moves no branch before it is applied. If the branch here is missing, it
            starts from the empty memory.

        Raises:
            MnemosyneError: as `pull` raises, except for conflicts, which the plan holds.
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
        operation, missing = self._pulling(
            remote, branch, into or branch, options, allow_unrelated, progress
        )
        if missing is None:
            return operation.plan()
        made, name = missing, operation.branch
        return replace(
            operation.plan(ROOT_COMMIT),
            kind="new-branch",
            _apply=lambda: self.create_branch(name, revision=made),
        )

    def _pulling(
        self,
        remote: "str | PathLike[str] | Repository",
        branch: str,
        into: str,
        options: Options,
        allow_unrelated: bool,
        progress: Progress | None,
    ) -> tuple[Operation, Commit | None]:
        """Fetch; the operation on the branch here, and what to make it at if it is missing."""
        fetched = self.fetch(remote, branches=[branch], progress=progress)
        theirs, source = self.resolve(fetched.branches[branch]), fetched.called(branch)
        missing = self._engine.ref(branch_ref(into)) is None
        if missing and options.expect is not None:
            raise RefConflictError(
                f"there is no branch {into!r} here, which is expected to point at "
                f"{options.expect.id}"
            )

        def plan_on(head: Commit) -> Step:
            if not allow_unrelated:
                require_related(self.blocks, head, theirs, source)
            return merge(self.blocks, head, theirs, fast_forward=True)

        options = replace(options, message=options.message or f"merge {source} into {into}")
        return Operation(self._writer, into, plan_on, options), theirs if missing else None

    @guarded
    def _other(
        self, remote: "str | PathLike[str] | Repository", *, read_only: bool
    ) -> Generator[tuple[str | None, Blocks]]:
        if isinstance(remote, RepositoryBase):
            yield None, remote.blocks
            return
        with remotes.opened(self.blocks.engine, remote, read_only=read_only) as found:
            yield found

    def _mover(self) -> RefWriter:
        return RefWriter(self._writer.author, self._writer.clock())

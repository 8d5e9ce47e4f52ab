"""The part of `Repository` that names commits: branches and tags."""

from collections.abc import Iterator

from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.errors import AlreadyExistsError, EngineError, NotFoundError, RefConflictError
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Commit, ReflogEntry, Revision, named
from mnemosyne_vcs.refs import (
    BRANCH,
    DEFAULT_BRANCH,
    TAG,
    branch_head,
    branch_ref,
    check_new_name,
    moved,
    ref_names,
    tag_ref,
    write_ref,
)
from mnemosyne_vcs.repository.base import RepositoryBase

__all__ = ["_Branches"]


class _Branches(RepositoryBase):
    """Branches and tags."""

    def branches(self) -> dict[str, str]:
        """The id of the commit that each branch points at, by name."""
        return ref_names(self.blocks, BRANCH)

    def create_branch(self, name: str, revision: Revision = DEFAULT_BRANCH) -> Commit:
        """Create a branch. It costs nothing, however large the memory is.

        Args:
            name: its name.
            revision: where it starts.

        Raises:
            AlreadyExistsError: one with that name exists already.
            NotFoundError: the revision names nothing.
            ValidationError: the name is not valid for a branch, or has the form of a commit id.
        """
        return self._create(branch_ref(name), "branch", name, revision)

    def delete_branch(self, name: str, *, expect: Revision | None = None) -> None:
        """Delete a branch; its commits stay in the reflog.

        Args:
            name: its name.
            expect: the commit that the branch must point at.

        Raises:
            NotFoundError: the branch, or the expected commit, does not exist.
            RefConflictError: the branch does not point at `expect`, or moved meanwhile; it is not
                deleted.
            ReadOnlyError: the repository was opened for reading.
        """
        ref, expected = branch_ref(name), self._expected(expect)
        if expected is not None:
            head = branch_head(self.blocks, name)
            if head.id != expected.id:
                raise moved(name, expected, head)
        self._delete(ref, f"branch {name!r}", None if expected is None else expected.cid)

    def tags(self) -> dict[str, str]:
        """The id of the commit that each tag names, by name."""
        return ref_names(self.blocks, TAG)

    def create_tag(self, name: str, revision: Revision = DEFAULT_BRANCH) -> Commit:
        """Give a commit a permanent name; arguments and errors as in `create_branch`."""
        return self._create(tag_ref(name), "tag", name, revision)

    def delete_tag(self, name: str) -> None:
        """Delete a tag; errors as in `delete_branch`."""
        self._delete(tag_ref(name), f"tag {name!r}")

    def reflog(self, branch: str = DEFAULT_BRANCH) -> Iterator[ReflogEntry]:
        """The moves of a branch, newest first, even if it was deleted.

        Raises:
            EngineError: the engine keeps no reflog.
            ValidationError: the name is not a valid branch name.
        """
        if self.blocks.can.reflog is None:
            raise EngineError(f"{self.url} keeps no reflog")
        return self.blocks.can.reflog.reflog(branch_ref(branch))

    def _create(self, ref: str, kind: str, name: str, revision: Revision) -> Commit:
        self._check_writable()
        check_new_name(name, kind)
        commit, what = self.resolve(revision), f"{kind} {name!r}"
        try:
            update = self._update(ref, None, commit.cid, f"create {what} at {named(revision)}")
            write_ref(self.blocks, {}, update, [commit.cid])
        except RefConflictError:
            raise AlreadyExistsError(f"{self.url} already has a {what}") from None
        return commit

    def _delete(self, ref: str, what: str, expected: Id | None = None) -> None:
        self._check_writable()
        old = expected or self._engine.ref(ref)
        if old is None:
            raise NotFoundError(f"there is no {what} in {self.url}")
        write_ref(self.blocks, {}, self._update(ref, old, None, f"delete {what}"))

    def _update(self, ref: str, old: bytes | None, new: bytes | None, why: str) -> RefUpdate:
        return RefUpdate(ref, old, new, self.author, self._clock(), why)

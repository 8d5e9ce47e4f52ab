"""The part of `Repository` that exports to files and imports from them."""

from collections.abc import Callable, Collection

from mnemosyne_vcs.blocks import while_it_lasts
from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.files import File, as_given, name_of
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Commit, Revision
from mnemosyne_vcs.refs import BRANCH, DEFAULT_BRANCH, TAG, branch_ref, tag_ref
from mnemosyne_vcs.repository.base import RepositoryBase
from mnemosyne_vcs.sync import bundles, jsonl
from mnemosyne_vcs.sync.bundles import Bundle

__all__ = ["_Files"]

Progress = Callable[[int], object]


class _Files(RepositoryBase):
    """Export and import."""

    def export_bundle(
        self,
        path: File,
        *,
        branches: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        progress: Progress | None = None,
    ) -> Bundle:
        """Write branches and tags with their whole history to a new CAR file.

        Args:
            path: where to write: a path, or a stream of bytes, which gets all or nothing.
            branches: the branches to export; if neither these nor tags are given, all of both.
            tags: the tags to export.
            progress: called from time to time with how many objects have been written.

        Raises:
            NotFoundError: the branch or tag does not exist.
            ValidationError: there is nothing to export, or the path is not a path.
            AlreadyExistsError: the path exists already.
            EngineError: it cannot be written.
        """
        return while_it_lasts(
            lambda: bundles.export_bundle(
                self.blocks, as_given(path), self._chosen(branches, tags), progress
            )
        )

    def import_bundle(
        self, path: File, *, prefix: str = "", progress: Progress | None = None
    ) -> Bundle:
        """Read the branches and tags of a CAR file that `export_bundle` wrote; ids stay the same.

        Everything in it is checked first; then all of it is imported, or nothing. A branch or tag
        that does not exist is created. A branch that exists is moved forward if its commit is in
        the past of the bundle's.

        Args:
            path: the file: a path or a stream of bytes.
            prefix: what to put before the names of branches and tags, such as `theirs/`.
            progress: called from time to time with how many objects have been checked.

        Raises:
            NotFoundError: the file does not exist.
            ValidationError: it is not a bundle, the path is not one, or the prefix does not fit in
                a name.
            CorruptObjectError: it is damaged or incomplete.
            ConflictError: a branch or tag is at a commit that the bundle's commit does not follow.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the file cannot be read, or the store failed.
        """
        return bundles.import_bundle(
            self.blocks,
            as_given(path),
            prefix=prefix,
            who=self._writer.author,
            when=self._writer.clock(),
            progress=progress,
        )

    def export_jsonl(
        self,
        path: File,
        revision: Revision = DEFAULT_BRANCH,
        *,
        prefix: str = "",
        progress: Progress | None = None,
    ) -> int:
        """Write the records of one revision to a new file, one JSON object a line.

        Args:
            path: where to write: a path, or a stream of bytes, which gets all or nothing.
            revision: the revision.
            prefix: only keys that start with this.
            progress: called from time to time with how many records have been written.

        Returns:
            The number of records that were written.

        Raises:
            NotFoundError: the revision names nothing.
            InvalidRevisionError: it is not a valid revision.
            ValidationError: the prefix is not a string, or the path is not a path.
            AlreadyExistsError: the path exists already.
            EngineError: it cannot be written.
        """
        return jsonl.export_jsonl(as_given(path), self.at(revision).scan(prefix), progress)

    def import_jsonl(
        self,
        path: File,
        branch: str = DEFAULT_BRANCH,
        *,
        author: str | None = None,
        message: str = "",
    ) -> Commit:
        """Put the records of a file that `export_jsonl` wrote into a branch, in one commit.

        Records under other keys stay. Values are unchanged; ids and history are new.

        Args:
            path: the file: a path or a stream of bytes.
            branch: the branch.
            author: the author; the repository's if not given.
            message: the commit message.

        Returns:
            The commit, or the head if the branch already has these values.

        Raises:
            NotFoundError: the file or branch does not exist.
            ValidationError: a line is not a record; file and line are named; or the path is
                not a path.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the file cannot be read, or the store failed.
        """
        file = as_given(path)
        name, lines = name_of(file), jsonl.read_jsonl(file)
        return self.transact(
            lambda transaction: jsonl.put_lines(transaction, lines, name),
            branch,
            author=author,
            message=message or f"import {name}",
        )

    def _chosen(
        self, branches: Collection[str] | None, tags: Collection[str] | None
    ) -> dict[str, Id]:
        engine = self.blocks.engine
        if branches is None and tags is None:
            return {**engine.refs(BRANCH), **engine.refs(TAG)}
        names = [*map(branch_ref, branches or ()), *map(tag_ref, tags or ())]
        refs = engine.refs()
        for name in names:
            if name not in refs:
                raise NotFoundError(f"there is no {name.replace('/', ' ', 1)} in {engine.url}")
        return {name: refs[name] for name in names}

"""The part of `Repository` that maintains its store."""

from datetime import timedelta
from os import PathLike

from mnemosyne_vcs.files import file_path
from mnemosyne_vcs.history.facts import add_facts
from mnemosyne_vcs.history.index import rebuild_index
from mnemosyne_vcs.maintenance import backup, gc, verify
from mnemosyne_vcs.maintenance.backup import Stats
from mnemosyne_vcs.maintenance.gc import GcReport
from mnemosyne_vcs.maintenance.verify import Progress, VerifyReport
from mnemosyne_vcs.repository.base import RepositoryBase

__all__ = ["_Maintenance"]


class _Maintenance(RepositoryBase):
    """Verification, garbage collection, backup and statistics."""

    def verify(self, progress: Progress | None = None) -> VerifyReport:
        """Read and check everything; see `mnemosyne_vcs.maintenance.verify.verify`."""
        return verify.verify(self.blocks, progress)

    def rebuild_index(self) -> int:
        """Rebuild the index of the history from the commits, if `verify` finds it wrong.

        The index only makes `blame`, `history`, `log`, `runs` and `trace` quick. It is compared
        with the commits when it is used, so that a wrong index makes them slow but not wrong; only
        a fact that was lost from it can hide a commit where agents, runs and sources are looked
        for.

        Returns:
            The number of commits that it holds then: all that refs reach.

        Raises:
            ReadOnlyError: the repository was opened for reading.
            NotFoundError: an object is missing; the index is as it was.
            CorruptObjectError: an object is damaged; the index is as it was.
            EngineError: the engine keeps no such index, or failed.
        """
        self._check_writable()
        indexed = rebuild_index(self.blocks)
        add_facts(self.blocks)
        return indexed

    def stats(self) -> Stats:
        """The size of the repository."""
        return backup.stats(self.blocks)

    def gc(
        self,
        *,
        keep_reflog: timedelta = timedelta(days=30),
        dry_run: bool = False,
        compact: bool = False,
        progress: Progress | None = None,
    ) -> GcReport:
        """Remove what no branch, tag or recent reflog line reaches; others may write meanwhile.

        It also adds to the index of the history what a store of an earlier version lacks there.

        Args:
            keep_reflog: the age up to which lines of the reflog keep what they name. A line that
                is dated in the future counts as made at the time of the next one, or now.
            dry_run: remove nothing, only report.
            compact: also return the space to the file system, by copying the store.
            progress: called from time to time with how many objects have been visited.

        Raises:
            EngineError: the engine cannot list and delete objects, or failed.
            ReadOnlyError: the repository was opened for reading.
            NotFoundError: an object that is needed is missing; nothing was removed.
            CorruptObjectError: an object that is needed is damaged; nothing was removed.
        """
        now = self._clock()
        report = gc.collect(
            self.blocks,
            since=now - keep_reflog // timedelta(milliseconds=1),
            now=now,
            dry_run=dry_run,
            compact=compact,
            progress=progress,
        )
        if not dry_run:
            self._views.forget_collected()
            add_facts(self.blocks)
        return report

    def backup(self, path: str | PathLike[str]) -> None:
        """Write a consistent copy to a new file, which opens as a store, while this one is in use.

        Raises:
            AlreadyExistsError: the path exists already.
            ValidationError: the path surely means something else, as with `~`.
            EngineError: the copy cannot be written.
        """
        backup.backup(self.blocks, file_path(path), self._clock())

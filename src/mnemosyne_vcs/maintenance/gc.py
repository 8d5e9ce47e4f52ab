"""Garbage collection: removing the objects that nothing reaches any more.

Other writers can continue meanwhile. Four rules keep what they depend on; ADR 0017 explains them.

* Reached are the objects that refs and retained lines of the reflog lead to, and those that were
  stored since the collection began, with everything that they lead to.
* Most of them are found without a lock. Under the write lock only the rest is: what refs that have
  moved since lead to, and what was stored since. The removal is part of the same transaction.
* A transaction writes every object that it makes or restores from the past with its commit, so
  that a removed one is there again.
* A caller that points a ref at a commit that perhaps no ref reaches checks under the write lock
  that it is there.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Enumerates
from mnemosyne_vcs.errors import EngineError, NotFoundError, ReadOnlyError
from mnemosyne_vcs.format.objects import decode_commit, decode_node, decode_record
from mnemosyne_vcs.ids import Id, parse_id
from mnemosyne_vcs.maintenance.repack import repack
from mnemosyne_vcs.model import ReflogEntry
from mnemosyne_vcs.reach import links
from mnemosyne_vcs.refs import ROOT_COMMIT
from mnemosyne_vcs.tree import EMPTY_ROOT

__all__ = ["GcReport", "collect"]

ATTEMPTS = 3
Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class GcReport:
    """What a garbage collection removed, or would remove.

    Attributes:
        objects: how many objects.
        bytes: their size, which is about the disk space that is saved.
        kept: how many objects stay.
        dry_run: whether nothing was removed.
    """

    objects: int
    bytes: int
    kept: int
    dry_run: bool


def collect(
    blocks: Blocks,
    *,
    since: int,
    now: int,
    dry_run: bool,
    compact: bool,
    progress: Progress | None,
) -> GcReport:
    """Remove the objects that neither refs nor recent lines of the reflog reach.

    Args:
        blocks: the objects.
        since: lines of the reflog after this time, in UTC milliseconds, keep what they name.
        now: the present time in UTC milliseconds.
        dry_run: remove nothing, only report.
        compact: also store old versions as differences, in engines that do, and return the space to
            the file system, by copying the store.
        progress: called from time to time with how many objects have been visited.

    Raises:
        EngineError: the engine cannot list and delete objects, or failed.
        ReadOnlyError: the store does not accept writes.
        BusyError: other writers held the store for longer than the busy timeout.
        NotFoundError: an object that is reached is missing; nothing was removed.
        CorruptObjectError: an object that is reached is damaged; nothing was removed.
    """
    engine = blocks.engine
    deleting, listing = blocks.can.delete, blocks.can.enumerate
    if deleting is None or listing is None:
        raise EngineError(f"{engine.url} cannot list and delete objects, which gc needs")
    if engine.read_only and not dry_run:
        raise ReadOnlyError(f"{engine.url} was opened read-only; gc would write to it")
    if compact and blocks.can.space is None:
        raise EngineError(f"{engine.url} cannot be compacted; call gc without compact")
    locks = blocks.can.lock is not None and not dry_run
    stored, reached = _look(blocks, listing, since, now, progress, leave_to_lock=locks)
    sizes = blocks.can.sizes(stored - reached.ids)
    if not dry_run:
        with blocks.can.exclusive():
            before, stored = stored, set(listing.ids())
            reached.add(_roots(blocks.can, since, now))
            reached.add_stored(stored - before)
            for block in sizes.keys() - (stored - reached.ids):
                del sizes[block]
            deleting.delete(sizes.keys())
        blocks.renew()
        if compact and blocks.can.space is not None:
            repack(blocks)
            blocks.can.space.compact()
    return GcReport(len(sizes), sum(sizes.values()), len(stored) - len(sizes), dry_run)


def _look(
    blocks: Blocks,
    listing: Enumerates,
    since: int,
    now: int,
    progress: Progress | None,
    *,
    leave_to_lock: bool,
) -> tuple[set[Id], "_Reached"]:
    """The stored and the reached objects, found without a lock.

    Another collector may remove what this one is about to read, once its ref is gone. So if
    something is missing, this starts again from the present refs; if they have not moved, it is
    damage.

    Args:
        blocks: the objects.
        listing: lists them.
        since: see `collect`.
        now: see `collect`.
        progress: see `collect`.
        leave_to_lock: whether to return nothing as reached if refs move each time, because a walk
            under the lock follows.
    """
    for attempt in range(1, ATTEMPTS + 1):
        stored, reached = set(listing.ids()), _Reached(blocks, progress)
        roots = _roots(blocks.can, since, now)
        try:
            reached.add(roots)
        except NotFoundError:
            if set(roots) == set(_roots(blocks.can, since, now)):
                raise
            if attempt == ATTEMPTS and not leave_to_lock:
                raise
        else:
            return stored, reached
    return set(listing.ids()), _Reached(blocks, progress)


def _roots(can: Capabilities, since: int, now: int) -> list[Id]:
    """Commits to keep with all that they reach; those of the reflog only if still there."""
    named: set[Id] = {ROOT_COMMIT.cid}
    if can.reflog is not None:
        for move in _later(can.reflog.reflog(None), since, now):
            named.update(parse_id(commit) for commit in (move.old, move.new) if commit)
    refs = set(can.engine.refs().values())
    return [*refs, *can.exists(named - refs)]


def _later(moves: Iterable[ReflogEntry], since: int, now: int) -> Iterator[ReflogEntry]:
    """The moves after a time, from moves with the newest first.

    One that is dated in the future counts as made at the time of the next one, or now.
    """
    made = now
    for move in moves:
        if move.timestamp_ms <= now:
            made = move.timestamp_ms
        if made > since:
            yield move


@dataclass(slots=True)
class _Reached:
    """The objects found so far, each with everything that it leads to."""

    blocks: Blocks
    progress: Progress | None
    ids: set[Id] = field(default_factory=lambda: {EMPTY_ROOT})

    def add(self, commits: Iterable[Id]) -> None:
        """Follow commits to their parents and trees."""
        level = list(commits)
        while level:
            found = [decode_commit(*each) for each in self._fresh(level)]
            self._add_nodes([commit.tree_cid for commit in found])
            level = [parent for commit in found for parent in commit.parent_cids]

    def add_stored(self, ids: Collection[Id]) -> None:
        """Follow objects of any kind, as far as the objects that they lead to are stored yet."""
        engine = self.blocks.engine
        level = [block for block in ids if block not in self.ids]
        while level:
            self.ids.update(level)
            found = (each for batch in batches(level) for each in engine.read(batch).items())
            level = [link for each in found for link in links(*each) if link not in self.ids]

    def _add_nodes(self, roots: Iterable[Id]) -> None:
        records: list[Id] = []
        level = list(roots)
        while level:
            found = [decode_node(*each) for each in self._fresh(level)]
            level = [link for node in found if node.level for link in node.links]
            records += (link for node in found if not node.level for link in node.links)
        for each in self._fresh(records):
            self.ids.update(decode_record(*each).vectors.values())

    def _fresh(self, ids: Iterable[Id]) -> Iterator[tuple[Id, bytes]]:
        """Read the objects that have not been visited, and mark them as visited."""
        for batch in batches(block for block in dict.fromkeys(ids) if block not in self.ids):
            yield from self.blocks.read(batch).items()
            self.ids.update(batch)
            if self.progress:
                self.progress(len(self.ids))

"""Copying history from one store to another: only what is missing there, and all of it checked.

Objects go in batches, children before parents and old commits before new ones, and refs move at
the end. So a transfer that is interrupted leaves objects that no ref reaches, and the next one
continues from there. ADR 0021 explains why a commit that is present is complete, even with
garbage collectors.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Engine, IndexEntry
from mnemosyne_vcs.errors import BusyError, ReadOnlyError
from mnemosyne_vcs.format.objects import decode_record
from mnemosyne_vcs.history.index import complete_index, index_entry
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.maintenance.strict import check_block
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.sync.new_objects import additions

__all__ = ["Progress", "Sent", "missing", "transfer"]

T = TypeVar("T")
BATCH = 256
WINDOW = 32
ATTEMPTS = 3
Progress = Callable[[int], object]


@dataclass(slots=True)
class Sent:
    """What a transfer has written.

    Attributes:
        commits: how many commits.
        objects: how many objects, commits included.
        bytes: their size.
    """

    commits: int = 0
    objects: int = 0
    bytes: int = 0


def missing(source: Blocks, target: Capabilities, heads: Iterable[Id]) -> list[Commit]:
    """The commits that some heads reach and a store lacks, oldest first.

    If the store has a commit, it has the commit's past. Each query asks for more commits than the
    last, so that there are few queries, and few commits are asked for if little is missing.

    Args:
        source: the store with the commits.
        target: the capabilities of the store that may lack some.
        heads: the commits to start from.
    """
    lookup = source.walk()
    absent: dict[Id, Commit] = {}
    asked: set[Id] = set()
    frontier: list[Id] = list(heads)
    size = 1
    while frontier:
        queue, found = deque(frontier), dict[Id, Commit]()
        while queue and len(found) < size:
            cid = queue.popleft()
            if cid not in asked:
                asked.add(cid)
                found[cid] = lookup(cid)
                queue.extend(found[cid].parent_cids)
        there = target.exists(found.keys())
        lacking = {cid: commit for cid, commit in found.items() if cid not in there}
        absent |= lacking
        frontier += (parent for commit in lacking.values() for parent in commit.parent_cids)
        frontier = [cid for cid in dict.fromkeys(frontier) if cid not in asked]
        size = min(size * 2, BATCH)
    return sorted(absent.values(), key=lambda c: (c.generation, c.timestamp_ms, c.id))


def transfer(
    source: Blocks,
    target: Engine,
    heads: Collection[Id],
    land: Callable[[], object],
    progress: Progress | None = None,
) -> Sent:
    """Write the objects that some commits reach and a store lacks, then move its refs.

    Every block is checked before it is written: hash, canonical form, schema, and
    agreement with the objects that link to it.

    Args:
        source: the store with the objects.
        target: the store to write to.
        heads: the commits.
        land: moves the refs; called under the write lock, where the engine has one, once the
            commits and everything that they reach are there.
        progress: called from time to time with how many objects have been looked at.

    Raises:
        CorruptObjectError: an object of the source is damaged or does not fit; no ref was moved.
        NotFoundError: an object is missing in the source; no ref was moved.
        ReadOnlyError: the store does not accept writes.
        BusyError: other writers held the store for too long, or garbage collectors removed what
            was sent, again and again.
        EngineError: one of the stores failed.
    """
    if target.read_only:
        raise ReadOnlyError(f"{target.url} was opened read-only; open it for writing")
    can = Capabilities.of(target)
    for _ in range(ATTEMPTS):
        shipment = _Transfer(source, can, progress)
        try:
            for batch in shipment.batches(missing(source, can, heads)):
                shipment.send(batch)
            with can.exclusive():
                shipment.require(heads)
                land()
        except _CollectedError:
            continue
        return shipment.sent
    raise BusyError(
        f"objects sent to {target.url} are garbage collected there before the transfer is "
        "complete; try again when no collection runs"
    )


class _CollectedError(Exception):
    """Objects that were there before are there no more."""


@dataclass(frozen=True, slots=True)
class _Item:
    """An object to send.

    Attributes:
        block: its id.
        needs: what must be there before it.
        held: of a record, the vectors that come with the parents of its commit.
        commit: of a commit, the commit.
    """

    block: Id
    needs: tuple[Id, ...]
    held: Set[Id] | None = None
    commit: Commit | None = None

    def after(self, earlier: "_Item | None") -> "_Item":
        """The item to use for an object that was met before: the first, when less was there yet."""
        if earlier is None:
            return self
        held = self.held if earlier.held is None else earlier.held
        return replace(earlier, held=held)


class _Transfer:
    """One transfer under way."""

    def __init__(self, source: Blocks, target: Capabilities, progress: Progress | None) -> None:
        self.sent = Sent()
        self._source = source
        self._target = target
        self._progress = progress
        self._seen = 0

    def batches(self, commits: Iterable[Commit]) -> Iterator[list[_Item]]:
        """All items to look at, in an order in which they may be written."""
        items = (item for window in _split(commits, WINDOW) for item in self._items(window))
        return batches(items, BATCH)

    def _items(self, commits: Sequence[Commit]) -> Iterator[_Item]:
        found = additions(self._source, commits)
        vectors = self._vectors(set[Id]().union(*(added.replaced for added in found)))
        for commit, added in zip(commits, found, strict=True):
            parents = commit.parent_cids
            held = set[Id]().union(*(vectors[record] for record in added.replaced))
            for block, links in added.ordered():
                yield _Item(block, parents + links, held if block in added.records else None)
            root = (added.root,) if added.root in added.nodes else ()
            yield _Item(commit.cid, parents + root, commit=commit)

    def _vectors(self, records: Iterable[Id]) -> dict[Id, Collection[Id]]:
        """The vectors of each record."""
        return {
            block: decode_record(block, data).vectors.values()
            for batch in batches(records, BATCH)
            for block, data in self._source.read(batch).items()
        }

    def send(self, batch: list[_Item]) -> None:
        """Check and write the objects of a batch that the target lacks, and index the history."""
        there = self._target.exists([item.block for item in batch])
        absent: dict[Id, _Item] = {}
        for item in batch:
            if item.block not in there:
                absent[item.block] = item.after(absent.get(item.block))
        self._seen += len(batch)
        if absent:
            self._write(absent)
        if self._progress:
            self._progress(self._seen)

    def _write(self, items: Mapping[Id, _Item]) -> None:
        needs = {need for item in items.values() for need in item.needs}
        objects = self._checked(items)
        vectors: set[Id] = set()
        for item in items.values():
            if item.held is not None:
                named = decode_record(item.block, objects[item.block]).vectors.values()
                vectors.update(set(named) - item.held)
        present = self._target.exists(vectors)
        objects = self._checked(vectors - present) | objects
        commits = [item.commit for item in items.values() if item.commit]
        entries = [index_entry(self._source, commit) for commit in commits]
        with self._target.exclusive():
            self.require((needs | present) - objects.keys())
            self._target.engine.write(objects)
            self._index(commits, entries)
        self.sent.commits += len(commits)
        self.sent.objects += len(objects)
        self.sent.bytes += sum(map(len, objects.values()))

    def _checked(self, ids: Collection[Id]) -> dict[Id, bytes]:
        """Objects of the source, in the given order, each checked for the strict form."""
        found = self._source.read(ids)
        for block in ids:
            check_block(block, found[block])
        return {block: found[block] for block in ids}

    def _index(self, commits: Collection[Commit], entries: Iterable[IndexEntry]) -> None:
        """Add commits to the history index, and their past if it lacks that."""
        index, ids = self._target.history, [commit.cid for commit in commits]
        if index is not None and commits:
            past = {parent for commit in commits for parent in commit.parent_cids}.difference(ids)
            if all(index.indexed(parent) for parent in past):
                index.add_to_index(entries)
            else:
                complete_index(Blocks(self._target.engine), ids)

    def require(self, ids: Collection[Id]) -> None:
        """Raise unless objects are in the target."""
        if len(self._target.exists(ids)) < len(set(ids)):
            raise _CollectedError


def _split(things: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(things)
    while part := list(islice(remaining, size)):
        yield part

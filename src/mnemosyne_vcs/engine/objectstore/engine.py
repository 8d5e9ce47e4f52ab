"""The engine for fleets: one repository below a prefix of a bucket."""

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock, get_ident
from typing import TypeVar

from mnemosyne_vcs.engine.objectstore import packs
from mnemosyne_vcs.engine.objectstore.bucket import Bucket, NoBucketError
from mnemosyne_vcs.engine.objectstore.cache import BlockCache, DiskCache
from mnemosyne_vcs.engine.objectstore.compaction import Compaction
from mnemosyne_vcs.engine.objectstore.head import Head, new_token
from mnemosyne_vcs.engine.objectstore.history_index import History
from mnemosyne_vcs.engine.objectstore.logs import Log, LogCache, Row, Segments
from mnemosyne_vcs.engine.objectstore.manifest import Manifest, index_row
from mnemosyne_vcs.engine.objectstore.pack_index import Places
from mnemosyne_vcs.engine.objectstore.pack_reader import PackReader
from mnemosyne_vcs.engine.objectstore.url import ObjectStoreUrl
from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.engine.shared import reflog_entry
from mnemosyne_vcs.errors import EngineError, NotFoundError, ReadOnlyError, RefConflictError
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.interrupts import guarded, locked
from mnemosyne_vcs.model import ReflogEntry

__all__ = ["ObjectStoreEngine"]

T = TypeVar("T")
TURNS = 64
PORTION_BYTES = 16_000_000


@dataclass(slots=True)
class _Draft:
    """The state inside `exclusive`, which only its thread sees.

    Attributes:
        base: the state of the repository before.
        manifest: its state now, without what is pending.
        pending: objects that are to be stored.
        deleted: objects that are to be removed.
        history: the history index, once it differs from that before.
    """

    base: Manifest
    manifest: Manifest
    history: LogCache[History]
    pending: dict[Id, bytes] = field(default_factory=dict[Id, bytes])
    deleted: set[Id] = field(default_factory=set[Id])


class ObjectStoreEngine:
    """A store in a bucket. It cannot copy itself.

    A write is one pack of the objects and one conditional put of the manifest; it is as durable as
    the answer of the store says. Writers of one repository wait for each other, even if they move
    different refs.
    `exclusive` collects the changes and puts them at the end. Threads that move the same ref take
    turns before they put anything, so that a thread that is too late has nothing to remove.

    Args:
        url: the bucket, the prefix, timeouts and caches.
        create: create the repository if it does not exist.
        read_only: refuse every write.
        busy_timeout: seconds to wait for other writers.

    Raises:
        MnemosyneError: as `mnemosyne_vcs.engine.urls.open_engine` raises.
    """

    def __init__(
        self,
        url: ObjectStoreUrl,
        *,
        create: bool = False,
        read_only: bool = False,
        busy_timeout: float = 30.0,
    ) -> None:
        self.url = url.canonical
        self.read_only = read_only
        self._busy_timeout = busy_timeout
        self._bucket = Bucket(url)
        self._segments = Segments(self._bucket, self.url)
        self._head = Head(self._bucket, self._segments, self.url, busy_timeout, url.retry_for)
        self._cache_directory = Path(url.cache, "views") if url.cache else None
        disk = DiskCache(url.cache, round(url.disk_mb * 1_000_000)) if url.cache else None
        self._cache = BlockCache(round(url.cache_mb * 1_000_000), disk)
        self._reader = PackReader(self._bucket, self._cache, self.url)
        self._places = self._following(Places, Places.add)
        self._history = self._new_history()
        self._drafts: dict[int, _Draft] = {}
        self._turns = [Lock() for _ in range(TURNS)]
        try:
            self._head.newest()
        except NotFoundError as error:
            if not create or read_only or isinstance(error, NoBucketError):
                raise
            self._head.create()

    @property
    def cache_directory(self) -> Path | None:
        """See `HasCacheDirectory`: in the directory of the URL's option `cache`."""
        return self._cache_directory

    def read(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        """See `Engine.read`."""
        draft = self._draft()
        if draft is None:
            return self._get(ids, self._head.known(), self._read_by, fresh=False)
        pending = {block: draft.pending[block] for block in ids if block in draft.pending}
        others = [block for block in ids if block not in pending and block not in draft.deleted]
        return {**self._get(others, draft.base, self._read_by, fresh=True), **pending}

    def sizes(self, ids: Collection[Id]) -> Mapping[Id, int]:
        """See `TellsSizes.sizes`."""
        draft = self._draft()
        if draft is None:
            return self._get(ids, self._head.known(), self._sizes_by, fresh=False)
        pending = {block: len(draft.pending[block]) for block in ids if block in draft.pending}
        others = [block for block in ids if block not in pending and block not in draft.deleted]
        return {**self._get(others, draft.base, self._sizes_by, fresh=True), **pending}

    def ref(self, name: str) -> Id | None:
        """See `Engine.ref`."""
        return self._now().refs.get(name)

    def refs(self, prefix: str = "") -> Mapping[str, Id]:
        """See `Engine.refs`."""
        refs = self._now().refs
        return {name: refs[name] for name in sorted(refs) if name.startswith(prefix)}

    def write(self, objects: Mapping[Id, bytes], update: RefUpdate | None = None) -> None:
        """See `Engine.write`."""
        self._require_writable()
        draft = self._draft()
        if draft is not None:
            manifest = draft.manifest.written((), update, self.url)
            there = self.sizes(objects.keys())
            draft.manifest = manifest
            draft.pending.update(
                (block, bytes(data)) for block, data in objects.items() if block not in there
            )
            return
        if update is not None:
            turn = self._turns[hash(update.name) % len(self._turns)]
            with locked(turn, self._busy_timeout, self._head.busy):
                self._write(objects, update)
        elif objects:
            self._write(objects, None)

    def _write(self, objects: Mapping[Id, bytes], update: RefUpdate | None) -> None:
        self._require_possible(update)
        began = time.time()
        rows = self._store(objects, None if update is None else update.new)

        def edit(manifest: Manifest) -> Manifest:
            packs.require_recent(began, self.url)
            return manifest.written(rows, update, self.url)

        try:
            now = self._head.change(edit)
        except RefConflictError:
            with suppress(EngineError):  # compaction finds the rest
                self._bucket.delete([f"{packs.FOLDER}/{row[0]}" for row in rows])
            raise
        self._cache.keep(self._from(rows, objects, now))

    def close(self) -> None:
        """See `Engine.close`. Idle connections to the store are closed automatically."""
        self._cache.close()

    @guarded
    def exclusive(self) -> Generator[None]:
        """See `Exclusive.exclusive`. Inside another one of the same thread it joins that one.

        Raises:
            BusyError: also if this process stalled for so long that others broke its lease; the
                changes are undone.
        """
        self._require_writable()
        draft, me = self._draft(), get_ident()
        if draft is not None:
            kept = replace(
                draft,
                history=self._new_history(),
                pending=dict(draft.pending),
                deleted=set(draft.deleted),
            )
            try:
                yield
            except BaseException:
                self._drafts[me] = kept
                raise
            return
        with self._head.lease() as lease:
            now = lease.manifest
            draft = _Draft(now, now, self._new_history())
            try:
                self._drafts[me] = draft
                yield
                draft = self._drafts[me]
            finally:
                self._drafts.pop(me, None)
            lease.manifest = draft.manifest.written(self._store(draft.pending), None, self.url)
        self._cache.keep(draft.pending)

    def reflog(self, name: str | None) -> Iterator[ReflogEntry]:
        """See `HasReflog.reflog`."""
        manifest = self._now()
        rows = self._head.read_with_retry(
            lambda now: list(self._segments.rows(now.reflog)), manifest
        )
        for ref, old, new, who, when, why in reversed(rows):
            if name is None or ref == name:
                yield reflog_entry(RefUpdate(ref, old, new, who, when, why))

    def settings(self, prefix: str = "") -> Mapping[str, str]:
        """See `HasSettings.settings`."""
        settings = self._now().settings
        return {name: settings[name] for name in sorted(settings) if name.startswith(prefix)}

    def set_setting(self, name: str, value: str | None) -> None:
        """See `HasSettings.set_setting`."""

        def edit(manifest: Manifest) -> Manifest:
            settings = {key: text for key, text in manifest.settings.items() if key != name}
            if value is not None:
                settings[name] = value
            return replace(manifest, settings=settings)

        self._change(edit)

    def indexed(self, commit: Id) -> bool:
        """See `HasHistoryIndex.indexed`."""
        return self._ask_history(lambda history: commit in history)

    def commits_of_transaction(self, transaction: str) -> list[Id]:
        """See `HasHistoryIndex.commits_of_transaction`."""
        return self._ask_history(lambda history: history.of_transaction(transaction))

    def commits_of_key(self, key: str) -> list[Id]:
        """See `HasHistoryIndex.commits_of_key`."""
        return self._ask_history(lambda history: history.of_key(key))

    def commits_of_keys(self, first: str, end: str | None) -> list[Id]:
        """See `HasHistoryIndex.commits_of_keys`."""
        return self._ask_history(lambda history: history.of_keys(first, end))

    def commits_before(self, commit: Id, limit: int) -> list[Id]:
        """See `HasHistoryIndex.commits_before`."""
        return self._ask_history(lambda history: history.before(commit, limit))

    def read_many(self, ids: Collection[Id]) -> Iterator[Mapping[Id, bytes]]:
        """See `ReadsMany.read_many`: pack by pack."""
        draft = self._draft()
        now = draft.base if draft else self._head.known()
        for portion in self._head.read_with_retry(lambda now: self._portions(ids, now), now):
            yield self.read(portion)

    def add_to_index(self, entries: Iterable[IndexEntry]) -> None:
        """See `HasHistoryIndex.add_to_index`."""
        rows = [index_row(entry) for entry in entries]
        self._change(lambda manifest: replace(manifest, history=manifest.history.with_rows(rows)))

    def index_entries(self) -> Iterator[IndexEntry]:
        """See `ListsHistoryIndex.index_entries`."""
        return iter(self._ask_history(lambda history: history.entries()))

    def clear_index(self) -> None:
        """See `HasHistoryIndex.clear_index`."""
        self._change(lambda manifest: replace(manifest, history=Log(new_token())))

    def ids(self, prefix: bytes = b"") -> Iterator[Id]:
        """See `Enumerates.ids`."""
        draft = self._draft()
        stored = self._head.read_with_retry(
            self._stored, draft.base if draft else self._head.newest()
        )
        if draft is not None:
            stored = (stored - draft.deleted) | draft.pending.keys()
        return (block for block in stored if block.startswith(prefix))

    def size(self) -> int:
        """See `HasSpace.size`: all packs, and the segments of the logs."""

        def ask(now: Manifest) -> int:
            logs = (now.packs, now.reflog, now.history)
            with self._places.at(now.packs) as places:
                stored = sum(size for _, size in places.packs)
            return stored + sum(segment.size for log in logs for segment in log.sealed)

        return self._head.read_with_retry(ask, self._now())

    def delete(self, ids: Collection[Id]) -> None:
        """See `Deletes.delete`. `compact` returns the space."""
        gone = set(ids)
        self._require_writable()
        draft = self._draft()
        if draft is None:
            with self.exclusive():
                self.delete(gone)
            return
        for block in gone:
            draft.pending.pop(block, None)
        rows, now = self._segments.rows, draft.manifest
        kept = (packs.pack_of_row(row).without(gone).row for row in rows(now.packs))
        indexed = (row for row in rows(now.history) if row[0] not in gone)
        draft.manifest = replace(
            now,
            packs=Log(new_token(), recent=tuple(kept)),
            history=Log(new_token(), recent=tuple(indexed)),
        )
        draft.deleted |= gone

    def compact(self) -> None:
        """See `HasSpace.compact`: merges small packs, and removes unnamed objects."""
        self._require_writable()
        if self._draft() is not None:
            raise EngineError(f"{self.url} cannot be compacted inside a transaction")
        Compaction(self._bucket, self._segments, self._head, self.url).run()

    def _now(self) -> Manifest:
        """The state that this thread sees: that of its `exclusive`, else the newest."""
        draft = self._draft()
        return draft.manifest if draft else self._head.newest()

    def _draft(self) -> _Draft | None:
        self._bucket.require_own_process()
        return self._drafts.get(get_ident())

    def _require_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"{self.url} was opened for reading; open it for writing")

    def _require_possible(self, update: RefUpdate | None) -> None:
        """Raise, before anything is stored, if the ref is not where the update expects it."""
        if update is not None and self._head.known().refs.get(update.name) != update.old:
            self._head.newest().written((), update, self.url)

    def _store(self, objects: Mapping[Id, bytes], root: Id | None = None) -> list[Row]:
        """Put objects in packs, which are not part of the store until the manifest names them."""
        rows: list[Row] = []
        for pack, data in packs.make_packs(objects, new_token(), root):
            self._bucket.put(f"{packs.FOLDER}/{pack.name}", data)
            rows.append(pack.row)
        return rows

    def _from(
        self, rows: list[Row], objects: Mapping[Id, bytes], now: Manifest
    ) -> Mapping[Id, bytes]:
        """Those of the objects that were not there before some packs."""
        names = {row[0] for row in rows}
        with self._places.at(now.packs) as places:
            found = places.find(objects.keys())
            return {
                b: objects[b] for b, place in found.items() if places.packs[place.pack][0] in names
            }

    def _change(self, edit: Callable[[Manifest], Manifest]) -> None:
        self._require_writable()
        draft = self._draft()
        if draft is None:
            self._head.change(edit)
        else:
            draft.manifest = edit(draft.manifest)

    def _ask_history(self, ask: Callable[[History], T]) -> T:
        draft = self._draft()
        if draft is not None and draft.manifest.history is not draft.base.history:
            with draft.history.at(draft.manifest.history) as history:
                return ask(history)

        def asked(now: Manifest) -> T:
            with self._history.at(now.history) as history:
                return ask(history)

        return self._head.read_with_retry(asked, draft.base if draft else self._head.newest())

    def _new_history(self) -> LogCache[History]:
        return self._following(History, History.add)

    def _following(
        self, make: Callable[[], T], add: Callable[[T, Iterator[Row]], object]
    ) -> LogCache[T]:
        return LogCache(self._segments, make, add, self._busy_timeout, self._head.busy)

    def _stored(self, now: Manifest) -> set[Id]:
        with self._places.at(now.packs) as places:
            return set(places.ids())

    def _portions(self, ids: Collection[Id], now: Manifest) -> list[list[Id]]:
        """Objects in the order in which they are stored, in batches."""
        with self._places.at(now.packs) as places:
            found = places.find(ids)
        ordered = sorted(found, key=lambda block: (found[block].pack, found[block].start))
        elsewhere = [block for block in ids if block not in found]
        portions, size = [elsewhere] if elsewhere else list[list[Id]](), PORTION_BYTES
        for block in ordered:
            if size >= PORTION_BYTES:
                portions.append([])
                size = 0
            portions[-1].append(block)
            size += found[block].size
        return portions

    def _get(
        self,
        ids: Collection[Id],
        manifest: Manifest,
        get: Callable[[Collection[Id], Manifest], dict[Id, T]],
        *,
        fresh: bool,
    ) -> dict[Id, T]:
        """The known places of objects by a manifest; if it may be old, also by the newest."""
        if not ids:
            return {}
        found = self._head.read_with_retry(lambda now: get(ids, now), manifest)
        missing = [block for block in ids if block not in found]
        if missing and not fresh:
            newest = self._head.newest()
            if newest.packs != manifest.packs:
                found.update(self._head.read_with_retry(lambda now: get(missing, now), newest))
        return found

    def _sizes_by(self, ids: Collection[Id], now: Manifest) -> dict[Id, int]:
        with self._places.at(now.packs) as places:
            return {block: place.size for block, place in places.find(ids).items()}

    def _read_by(self, ids: Collection[Id], now: Manifest) -> dict[Id, bytes]:
        with self._places.at(now.packs) as places:
            found = places.find(ids)
            sizes = {place.pack: places.packs[place.pack] for place in found.values()}
        near = self._cache.get(found.keys())
        far = {block: place for block, place in found.items() if block not in near}
        return {**near, **self._reader.read(far, sizes)} if far else near

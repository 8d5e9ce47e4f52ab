"""Compaction: small packs become large ones, and unnamed objects are removed."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from mnemosyne_vcs.engine.objectstore import logs, packs
from mnemosyne_vcs.engine.objectstore.bucket import Bucket
from mnemosyne_vcs.engine.objectstore.head import Head, new_token
from mnemosyne_vcs.engine.objectstore.logs import Log, Row, Segments
from mnemosyne_vcs.engine.objectstore.manifest import NAME, Manifest, missing_object_error
from mnemosyne_vcs.engine.objectstore.packs import Pack
from mnemosyne_vcs.errors import BusyError, EngineError, NotFoundError
from mnemosyne_vcs.format.objects import check_id, is_vector
from mnemosyne_vcs.ids import Id

__all__ = ["Compaction"]

LARGE_BYTES = packs.PACK_BYTES // 2


class Compaction:
    """Compaction of one repository.

    Args:
        bucket: the bucket.
        segments: the segments of the logs.
        head: the manifest.
        url: the store, for messages.
    """

    def __init__(self, bucket: Bucket, segments: Segments, head: Head, url: str) -> None:
        self._bucket = bucket
        self._segments = segments
        self._head = head
        self._url = url

    def run(self) -> None:
        """Rewrite packs that are small or hold deleted objects, and remove unnamed objects.

        Other writers can continue meanwhile. A reader that finds a pack gone reads the manifest
        again.

        Raises:
            BusyError: another process compacted it, or deleted from it, at the same time.
            CorruptObjectError: a pack is damaged.
            EngineError: the store failed.
        """
        rows = self._segments.rows
        before, stored, commits = self._head.read_with_retry(
            lambda now: (now, list(rows(now.packs)), list(rows(now.history))), self._head.newest()
        )
        packed = [packs.pack_of_row(row) for row in stored]
        old = [pack for pack in packed if pack.size < LARGE_BYTES or min(pack.sizes) < 0]
        if len(old) > 1 or any(min(pack.sizes) < 0 for pack in old):
            names = {pack.name for pack in old}
            kept = [pack.row for pack in packed if pack.name not in names]
            order = {row[0]: number for number, row in enumerate(commits)}
            self._replace(before, kept, old, order)
        self._sweep()

    def _replace(
        self, before: Manifest, kept: list[Row], old: list[Pack], commits: dict[Id, int]
    ) -> None:
        """Copy what is left in old packs into new ones, placed after those that are kept."""
        began, rows = time.time(), list(kept)
        try:
            for objects in _gathered(self._bucket, old, commits):
                for pack, data in packs.make_packs(objects, new_token()):
                    self._bucket.put(f"{packs.FOLDER}/{pack.name}", data)
                    rows.append(pack.row)
        except NotFoundError as error:
            self._require_same(before, self._head.newest())
            raise missing_object_error(error) from None

        def edit(manifest: Manifest) -> Manifest:
            self._require_same(before, manifest)
            packs.require_recent(began, self._url)
            later = self._segments.rows(manifest.packs, before.packs.count)
            return replace(manifest, packs=Log(new_token(), recent=(*rows, *later)))

        self._head.change(edit)
        with suppress(EngineError):  # the rest is removed another time
            self._bucket.delete([f"{packs.FOLDER}/{pack.name}" for pack in old])

    def _require_same(self, before: Manifest, now: Manifest) -> None:
        if now.packs.epoch != before.packs.epoch:
            raise BusyError(f"{self._url} was compacted or cleaned by others meanwhile; try again")

    def _sweep(self) -> None:
        """Remove objects that no manifest names, once no writer can be about to name them."""
        listed = [*self._bucket.list(packs.FOLDER), *self._bucket.list(logs.FOLDER)]
        oldest = self._bucket.modified(NAME) - packs.ORPHAN_AGE
        named = self._head.read_with_retry(self._named, self._head.newest())
        self._bucket.delete(
            [each.name for each in listed if each.name not in named and each.modified < oldest]
        )

    def _named(self, now: Manifest) -> set[str]:
        """The names of all segments and packs of a manifest."""
        return {f"{logs.FOLDER}/{name}" for name in now.segments} | {
            f"{packs.FOLDER}/{row[0]}" for row in self._segments.rows(now.packs)
        }


def _gathered(bucket: Bucket, old: list[Pack], commits: dict[Id, int]) -> Iterator[dict[Id, bytes]]:
    """The objects of packs, each once, a pack at a time, ordered by kind."""
    seen: set[Id] = set()
    objects: dict[Id, bytes] = {}
    size = 0
    for pack in old:
        data = bucket.get(f"{packs.FOLDER}/{pack.name}")
        for block, start, length in pack.places():
            if block not in seen:
                seen.add(block)
                objects[block] = data[start : start + length]
                check_id(block, objects[block])
                size += length
        if size >= packs.PACK_BYTES:
            yield _ordered(objects, commits)
            objects, size = {}, 0
    if objects:
        yield _ordered(objects, commits)


def _ordered(objects: dict[Id, bytes], commits: dict[Id, int]) -> dict[Id, bytes]:
    """Commits, oldest first, then nodes and records, then vectors: as they are read together."""

    def rank(block: Id) -> tuple[int, int]:
        if block in commits:
            return 0, commits[block]
        return (2 if is_vector(block) else 1), 0

    return {block: objects[block] for block in sorted(objects, key=rank)}

"""Compaction: small packs become large ones, and what nothing names any more is removed."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from mnemosyne.engine.objectstore import logs, packs
from mnemosyne.engine.objectstore.bucket import Bucket
from mnemosyne.engine.objectstore.head import Head, new_token
from mnemosyne.engine.objectstore.logs import Log, Row, Segments
from mnemosyne.engine.objectstore.manifest import NAME, Manifest, lost
from mnemosyne.engine.objectstore.packs import Pack
from mnemosyne.errors import BusyError, EngineError, NotFoundError
from mnemosyne.objects import Id, check_id, is_vector

__all__ = ["compact"]

LARGE_BYTES = packs.PACK_BYTES // 2


def compact(bucket: Bucket, segments: Segments, head: Head, url: str) -> None:
    """Rewrite packs that are small or hold deleted objects, and remove what nothing names.

    Other writers go on meanwhile. A reader that finds a pack gone looks into the manifest again.

    Args:
        bucket: where the packs are.
        segments: the segments of the logs.
        head: the manifest.
        url: the store, for messages.

    Raises:
        BusyError: another process compacted it, or deleted from it, at the same time.
        CorruptObjectError: a pack is damaged.
        EngineError: the store failed.
    """
    before, rows, commits = head.steadily(
        lambda now: (now, list(segments.rows(now.packs)), list(segments.rows(now.history))),
        head.newest(),
    )
    stored = [packs.pack_of_row(row) for row in rows]
    old = [pack for pack in stored if pack.size < LARGE_BYTES or min(pack.sizes) < 0]
    if len(old) > 1 or any(min(pack.sizes) < 0 for pack in old):
        order = {row[0]: number for number, row in enumerate(commits)}
        _replace(bucket, segments, head, url, before, stored, old, order)
    _sweep(bucket, segments, head)


def _replace(
    bucket: Bucket,
    segments: Segments,
    head: Head,
    url: str,
    before: Manifest,
    stored: list[Pack],
    old: list[Pack],
    commits: dict[Id, int],
) -> None:
    began = time.time()
    names = {pack.name for pack in old}
    rows: list[Row] = [pack.row for pack in stored if pack.name not in names]

    def require_same(manifest: Manifest) -> None:
        if manifest.packs.epoch != before.packs.epoch:
            raise BusyError(f"{url} was compacted or cleaned by others meanwhile; try again")

    try:
        for objects in _gathered(bucket, old, commits):
            for pack, data in packs.make_packs(objects, new_token()):
                bucket.put(f"{packs.FOLDER}/{pack.name}", data)
                rows.append(pack.row)
    except NotFoundError as error:
        require_same(head.newest())
        raise lost(error) from None

    def edit(manifest: Manifest) -> Manifest:
        require_same(manifest)
        packs.require_recent(began, url)
        later = segments.rows(manifest.packs, before.packs.count)
        return replace(manifest, packs=Log(new_token(), recent=(*rows, *later)))

    head.change(edit)
    with suppress(EngineError):  # what stays is swept another time
        bucket.delete([f"{packs.FOLDER}/{name}" for name in names])


def _gathered(bucket: Bucket, old: list[Pack], commits: dict[Id, int]) -> Iterator[dict[Id, bytes]]:
    """The objects of packs, each once, as much at a time as a pack holds, like beside like."""
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
    """Commits, oldest first, then nodes and records, then vectors: what is read together."""

    def rank(block: Id) -> tuple[int, int]:
        if block in commits:
            return 0, commits[block]
        return (2 if is_vector(block) else 1), 0

    return {block: objects[block] for block in sorted(objects, key=rank)}


def _sweep(bucket: Bucket, segments: Segments, head: Head) -> None:
    """Remove what no manifest names, once no writer can be about to name it."""
    listed = [*bucket.list(packs.FOLDER), *bucket.list(logs.FOLDER)]
    oldest = bucket.modified(NAME) - packs.ORPHAN_AGE
    named = head.steadily(lambda now: _named(segments, now), head.newest())
    bucket.delete(
        [each.name for each in listed if each.name not in named and each.modified < oldest]
    )


def _named(segments: Segments, now: Manifest) -> set[str]:
    """The names of all segments and packs of a manifest."""
    return {f"{logs.FOLDER}/{name}" for name in now.segments} | {
        f"{packs.FOLDER}/{row[0]}" for row in segments.rows(now.packs)
    }

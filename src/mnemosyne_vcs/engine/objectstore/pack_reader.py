"""Reading objects out of packs: those that are requested together are fetched together."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

from mnemosyne_vcs.engine.objectstore import packs
from mnemosyne_vcs.engine.objectstore.bucket import Bucket
from mnemosyne_vcs.engine.objectstore.cache import BlockCache
from mnemosyne_vcs.engine.objectstore.pack_index import Place
from mnemosyne_vcs.ids import Id

__all__ = ["WHOLE_BYTES", "PackReader"]

WHOLE_BYTES = 262_144
GAP_BYTES = 262_144
SPAN_BYTES = 8_000_000
PARALLEL = 16
_Part: TypeAlias = dict[Id, Place]
_Task: TypeAlias = Callable[[], Mapping[Id, bytes]]


class PackReader:
    """Reads objects where they are, several packs at once.

    Args:
        bucket: the bucket.
        cache: takes up what was read.
        url: the store, for messages.
    """

    def __init__(self, bucket: Bucket, cache: BlockCache, url: str) -> None:
        self._bucket = bucket
        self._cache = cache
        self._url = url

    def read(
        self, places: Mapping[Id, Place], sizes: Mapping[int, tuple[str, int]]
    ) -> dict[Id, bytes]:
        """The bytes of objects, unchecked.

        Args:
            places: where they are.
            sizes: name and size of each pack, by number.

        Raises:
            NotFoundError: a pack is gone; its objects were moved to another one.
            CorruptObjectError: a pack is damaged.
            EngineError: the store failed.
        """
        wanted: dict[int, _Part] = {}
        for block, place in places.items():
            wanted.setdefault(place.pack, {})[block] = place
        tasks: list[_Task] = []
        for number, part in wanted.items():
            name, size = sizes[number]
            path = f"{packs.FOLDER}/{name}"
            if size <= WHOLE_BYTES:
                tasks.append(partial(self._whole, path, part))
            else:
                tasks.extend(partial(self._span, path, span) for span in _spans(part))
        found: dict[Id, bytes] = {}
        for blocks in _done(tasks):
            self._cache.put(blocks)
            found.update((block, blocks[block]) for block in places.keys() & blocks.keys())
        return found

    def _whole(self, path: str, part: _Part) -> Mapping[Id, bytes]:
        """All objects of a pack, among them those that are wanted."""
        found = packs.contents(self._bucket.get(path), f"{self._url}: {path}")
        if not found.keys() >= part.keys():
            raise packs.damaged(f"{self._url}: {path}")
        return found

    def _span(self, path: str, part: _Part) -> Mapping[Id, bytes]:
        """Objects that lie close together."""
        first = min(place.start for place in part.values())
        end = max(place.start + place.size for place in part.values())
        data = self._bucket.get_range(path, first, end - first) if first < end else b""
        return _sliced(data, first, part)


def _sliced(data: bytes, first: int, part: _Part) -> dict[Id, bytes]:
    """The objects in a piece of a pack.

    Args:
        data: the piece.
        first: where in the pack it begins.
        part: the objects, all inside.
    """
    return {
        block: data[place.start - first : place.start - first + place.size]
        for block, place in part.items()
    }


def _spans(part: _Part) -> Iterator[_Part]:
    """The objects of a pack, in the groups that are fetched together."""
    span: _Part = {}
    first = end = 0
    for block, place in sorted(part.items(), key=lambda each: each[1].start):
        behind = place.start + place.size
        if span and (place.start - end > GAP_BYTES or behind - first > SPAN_BYTES):
            yield span
            span = {}
        if not span:
            first = place.start
        span[block] = place
        end = behind
    yield span


def _done(tasks: Sequence[_Task]) -> Iterable[Mapping[Id, bytes]]:
    """The results of functions that are called concurrently."""
    if len(tasks) == 1:
        return [tasks[0]()]
    with ThreadPoolExecutor(PARALLEL, "mnemosyne-read") as pool:
        return list(pool.map(_call, tasks))


def _call(task: _Task) -> Mapping[Id, bytes]:
    return task()

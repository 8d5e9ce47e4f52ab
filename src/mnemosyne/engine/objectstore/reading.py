"""Reading objects out of packs: what is asked for together is fetched together."""

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from mnemosyne.engine.cache import BlockCache
from mnemosyne.engine.objectstore import packs
from mnemosyne.engine.objectstore.bucket import Bucket
from mnemosyne.engine.objectstore.places import Place
from mnemosyne.objects import Id

__all__ = ["PackReader"]

WHOLE_BYTES = 262_144
PARALLEL = 16


class PackReader:
    """Reads objects where they are, several packs at once.

    Args:
        bucket: where the packs are.
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
        wanted: dict[int, list[Id]] = {}
        for block, place in places.items():
            wanted.setdefault(place.pack, []).append(block)
        found: dict[Id, bytes] = {}
        for part in self._each(wanted, places, sizes):
            self._cache.put(part)
            found.update((block, part[block]) for block in places.keys() & part.keys())
        return found

    def _each(
        self,
        wanted: Mapping[int, Collection[Id]],
        places: Mapping[Id, Place],
        sizes: Mapping[int, tuple[str, int]],
    ) -> Iterator[Mapping[Id, bytes]]:
        def fetch(pack: int) -> Mapping[Id, bytes]:
            name, size = sizes[pack]
            if size > WHOLE_BYTES:
                return self._parts(name, {block: places[block] for block in wanted[pack]})
            path = f"{packs.FOLDER}/{name}"
            found = packs.contents(self._bucket.get(path), f"{self._url}: {path}")
            if not found.keys() >= set(wanted[pack]):
                raise packs.damaged(f"{self._url}: {path}")
            return found

        if len(wanted) <= 1:
            return map(fetch, wanted)
        with ThreadPoolExecutor(PARALLEL, "mnemosyne-read") as pool:
            return iter(list(pool.map(fetch, wanted)))

    def _parts(self, name: str, places: Mapping[Id, Place]) -> dict[Id, bytes]:
        ordered = sorted(places.items(), key=lambda each: each[1].start)
        parts = self._bucket.get_ranges(
            f"{packs.FOLDER}/{name}",
            [place.start for _, place in ordered],
            [place.size for _, place in ordered],
        )
        return {block: part for (block, _), part in zip(ordered, parts, strict=True)}

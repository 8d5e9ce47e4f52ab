"""Packs: CAR files of the objects of one write, and where in them each object is."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO

from mnemosyne_vcs.engine.objectstore.logs import Row
from mnemosyne_vcs.errors import CorruptObjectError, EngineError, MnemosyneError
from mnemosyne_vcs.format.car import index_car, write_car
from mnemosyne_vcs.ids import Id

__all__ = [
    "FOLDER",
    "ORPHAN_AGE",
    "Pack",
    "contents",
    "damaged",
    "make_packs",
    "pack_of_row",
    "require_recent",
]

FOLDER = "packs"
PACK_BYTES = 64_000_000
ORPHAN_AGE = timedelta(days=1)
ID_BYTES = 36
_Places = dict[Id, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Pack:
    """Where the objects of a pack are.

    Attributes:
        name: its name in its folder.
        size: its size in bytes.
        first: where its first object begins, after the header of the file.
        ids: its objects, in order.
        sizes: their sizes in bytes; less than 0 where an object was deleted.
    """

    name: str
    size: int
    first: int
    ids: list[Id]
    sizes: list[int]

    @property
    def row(self) -> Row:
        """The pack as a row of a log."""
        return [self.name, self.size, self.first, self.ids, self.sizes]

    def places(self) -> Iterator[tuple[Id, int, int]]:
        """Each object that was not deleted: its id, where its bytes start, how many they are."""
        position = self.first
        for block, signed in zip(self.ids, self.sizes, strict=True):
            size = ~signed if signed < 0 else signed
            start = position + _digits(ID_BYTES + size) + ID_BYTES
            if signed >= 0:
                yield block, start, size
            position = start + size

    def without(self, gone: set[Id]) -> "Pack":
        """The pack with more objects marked as deleted."""
        if gone.isdisjoint(self.ids):
            return self
        sizes = [
            ~size if size >= 0 and block in gone else size
            for block, size in zip(self.ids, self.sizes, strict=True)
        ]
        return Pack(self.name, self.size, self.first, self.ids, sizes)


def pack_of_row(row: Row) -> Pack:
    """The pack that a row of a log describes."""
    return Pack(*row)


def make_packs(
    objects: Mapping[Id, bytes], name: str, root: Id | None = None
) -> Iterator[tuple[Pack, bytes]]:
    """Packs that hold the objects, and their bytes.

    Args:
        objects: the objects.
        name: what the names of the packs begin with.
        root: the root of the file, if it is one of the objects; the first one is otherwise.
    """
    for number, part in enumerate(_parts(objects)):
        head = root if root in part else next(iter(part))
        file = BytesIO()
        write_car(file, head, part.items())
        data = file.getvalue()
        sizes = [len(each) for each in part.values()]
        behind = sum(_digits(ID_BYTES + size) + ID_BYTES + size for size in sizes)
        yield Pack(f"{name}-{number}", len(data), len(data) - behind, list(part), sizes), data


def contents(data: bytes, name: str) -> dict[Id, bytes]:
    """The objects of a pack, unchecked.

    Args:
        data: the bytes of the pack.
        name: what to call it in messages.

    Raises:
        CorruptObjectError: they are damaged or cut short.
    """
    try:
        places: _Places = index_car(BytesIO(data), name).places
    except MnemosyneError as error:
        raise damaged(name) from error
    return {block: data[start : start + size] for block, (start, size) in places.items()}


def damaged(name: str) -> CorruptObjectError:
    """The error for a pack that is not what it was."""
    return CorruptObjectError(
        f"{name} is damaged; restore an older version of it, or clone the repository from elsewhere"
    )


def require_recent(began: float, url: str) -> None:
    """Raise if others may have removed packs meanwhile, because no manifest named them.

    Args:
        began: when the first of them was put, by `time.time`.
        url: the store, for messages.

    Raises:
        EngineError: half of the time after which they are removed is over.
    """
    if time.time() - began > ORPHAN_AGE.total_seconds() / 2:
        raise EngineError(f"{url}: this write was halted for half a day; begin again")


def _parts(objects: Mapping[Id, bytes]) -> Iterator[dict[Id, bytes]]:
    part: dict[Id, bytes] = {}
    size = 0
    for block, data in objects.items():
        part[block] = data
        size += len(data)
        if size >= PACK_BYTES:
            yield part
            part, size = {}, 0
    if part:
        yield part


def _digits(number: int) -> int:
    """How many bytes the length of a section takes."""
    return max(1, -(-number.bit_length() // 7))

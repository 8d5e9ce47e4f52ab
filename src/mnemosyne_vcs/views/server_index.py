"""Keeping an engine's index of vectors up to date with a ref."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from mnemosyne_vcs import tree
from mnemosyne_vcs.batches import BATCH
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.engine.vector_index import (
    IndexesVectors,
    VectorMove,
    VectorPart,
    VectorRow,
)
from mnemosyne_vcs.errors import CorruptObjectError, NotFoundError
from mnemosyne_vcs.format.objects import decode_record, decode_vector
from mnemosyne_vcs.ids import Id

__all__ = ["MOST_BEHIND", "index_is_current", "plan_index_update", "update_index"]

MOST_BEHIND = 1000
"""How many keys an index may differ in for a commit to update it, or a search to allow for it."""

_Changes: TypeAlias = Iterable[tuple[str, Id | None]]


def plan_index_update(
    blocks: Blocks,
    ref: str,
    head: Id,
    new: Id,
    changes: Mapping[str, Id | None],
    objects: Mapping[Id, bytes],
    *,
    in_full: bool,
) -> VectorMove | None:
    """The update of the index of a ref's vectors for the write that moves the ref.

    Args:
        blocks: the objects.
        ref: the ref.
        head: the ref's tree before the write.
        new: the ref's tree after it.
        changes: the records of the keys that differ between the two; None for no record.
        objects: the objects that are written. Other vectors were under the same key before.
        in_full: whether other vectors may also have been elsewhere.

    Returns:
        None if there is no index, or if it is too far behind.
    """
    vectors = blocks.can.vectors
    if vectors is None:
        return None
    old = vectors.known_vector_root(ref)
    if old is None:
        return None
    try:
        behind = list(islice(tree.diff(blocks.node, old, head), MOST_BEHIND + 1))
        if len(behind) > MOST_BEHIND:
            return None
        every = {**{key: after for key, _, after in behind}, **changes}
        keeps = not (behind or in_full)
        return VectorMove(old, new, list(_parts(blocks, every.items(), objects, keeps=keeps)))
    except (NotFoundError, CorruptObjectError):
        return None  # damage elsewhere is found where it is read, and must not stop this write


def index_is_current(blocks: Blocks, update: RefUpdate) -> bool:
    """Whether a write has updated the index of its ref's vectors, if it had to."""
    vectors = blocks.can.vectors
    if update.vectors is None or vectors is None:
        return True
    return vectors.known_vector_root(update.name) == update.vectors.new


def update_index(blocks: Blocks, engine: IndexesVectors, ref: str, old: Id, new: Id) -> bool:
    """Update the index of a ref's vectors from one tree to another, in a write of its own.

    Returns:
        Whether it did; not if the index is of another tree, or being updated already.

    Raises:
        NotFoundError: an object that is needed is missing.
        CorruptObjectError: an object that is needed is damaged.
        ReadOnlyError: the store does not accept writes.
        EngineError: the store cannot be written.
    """
    changes = ((key, after) for key, _, after in tree.diff(blocks.node, old, new))
    return engine.move_vector_index(ref, VectorMove(old, new, _parts(blocks, changes, {})))


def _parts(
    blocks: Blocks, changes: _Changes, objects: Mapping[Id, bytes], *, keeps: bool = False
) -> Iterator[VectorPart]:
    """The contents of an index for keys afterwards; at least one part, which may be empty.

    Args:
        blocks: the objects that are in the store.
        changes: keys and their records.
        objects: the objects that are not there yet.
        keeps: whether the index keeps the vectors that are not among those.
    """
    remaining = iter(changes)
    batch = list(islice(remaining, BATCH))
    while True:
        rows = _rows(blocks, batch, objects, keeps=keeps)
        yield VectorPart([key for key, _ in batch], rows)
        batch = list(islice(remaining, BATCH))
        if not batch:
            return


def _rows(
    blocks: Blocks, changes: _Changes, objects: Mapping[Id, bytes], *, keeps: bool
) -> list[VectorRow]:
    records = [(key, record) for key, record in changes if record is not None]
    found = _read(blocks, [record for _, record in records], objects)
    linked = [
        (key, name, vector)
        for key, record in records
        for name, vector in decode_record(record, found[record]).vectors.items()
    ]
    needed = [vector for _, _, vector in linked if vector in objects or not keeps]
    directions = {
        vector: _direction(vector, data) for vector, data in _read(blocks, needed, objects).items()
    }
    return [VectorRow(key, name, each, directions.get(each)) for key, name, each in linked]


def _read(blocks: Blocks, ids: list[Id], objects: Mapping[Id, bytes]) -> dict[Id, bytes]:
    stored = [block for block in ids if block not in objects]
    found = {block: objects[block] for block in ids if block in objects}
    return {**found, **(blocks.read(stored) if stored else {})}


def _direction(block: Id, data: bytes) -> bytes:
    from mnemosyne_vcs.views.cosine import direction_of

    return direction_of(decode_vector(block, data)).astype("<f4", copy=False).tobytes()

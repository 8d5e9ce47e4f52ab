"""Comparing an engine's indexes of vectors with the records that they are derived from."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from mnemosyne_vcs import tree
from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.vector_index import (
    IndexesVectors,
    VectorIndex,
    VectorQuery,
)
from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.format.objects import decode_record, decode_vector
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.views.cosine import Query, direction_of

__all__ = ["wrong_vectors"]

_ATTEMPTS = 4
_SPARE = 8


@dataclass(frozen=True, slots=True)
class _Sample:
    """The vectors of one name and dimension.

    Attributes:
        asked: a random vector, whose product with each of them is compared.
        rows: the id of the vector, and that product, by key.
    """

    asked: Query
    rows: dict[str, tuple[Id, float]] = field(default_factory=dict[str, tuple[Id, float]])


def wrong_vectors(blocks: Blocks) -> dict[str, int]:
    """The number of wrong vectors in the indexes of refs, by ref, without those that are right.

    It finds rows that are missing, superfluous or of another vector, and wrong directions with a
    probability of almost 1. Other processes may update the indexes meanwhile.

    Args:
        blocks: the objects.

    Raises:
        CorruptObjectError: an object is damaged.
        EngineError: the store cannot be read.
    """
    engine = blocks.can.vectors
    if engine is None:
        return {}
    found = {index.ref: _wrong(blocks, engine, index.ref) for index in engine.vector_indexes()}
    return {ref: wrong for ref, wrong in found.items() if wrong}


def _wrong(blocks: Blocks, engine: IndexesVectors, ref: str) -> int:
    for _ in range(_ATTEMPTS):
        index = _index_of(engine, ref)
        if index is None:
            return 0
        try:
            samples = _samples(blocks, index.root)
        except NotFoundError:
            return 0  # the tree of the index was collected, which does no harm
        wrong = [
            _difference(engine, index, name, dimension, sample)
            for (name, dimension), sample in samples.items()
        ]
        wrong += [_unknown(engine, index, samples)]
        if _index_of(engine, ref) == index:
            return sum(each for each in wrong if each is not None)
    return 0


def _index_of(engine: IndexesVectors, ref: str) -> VectorIndex | None:
    return next((each for each in engine.vector_indexes() if each.ref == ref), None)


def _samples(blocks: Blocks, root: Id) -> dict[tuple[str, int], _Sample]:
    rng = np.random.default_rng()
    samples: dict[tuple[str, int], _Sample] = {}
    for key, name, vector, data in _vectors(blocks, root):
        values = decode_vector(vector, data)
        dimension = len(values)
        if (name, dimension) not in samples:
            asked = Query(rng.standard_normal(dimension).astype(np.float32))
            samples[name, dimension] = _Sample(asked)
        sample = samples[name, dimension]
        direction = direction_of(values).astype(np.float64)
        product = float(direction @ sample.asked.direction.astype(np.float64))
        sample.rows[key] = vector, product
    return samples


def _vectors(blocks: Blocks, root: Id) -> Iterator[tuple[str, str, Id, bytes]]:
    for batch in batches(tree.scan(blocks.node, root)):
        records = blocks.read([record for _, record in batch])
        linked = [
            (key, name, vector)
            for key, record in batch
            for name, vector in decode_record(record, records[record]).vectors.items()
        ]
        data = blocks.read([vector for *_, vector in linked])
        yield from ((key, name, vector, data[vector]) for key, name, vector in linked)


def _difference(
    engine: IndexesVectors, index: VectorIndex, name: str, dimension: int, sample: _Sample
) -> int | None:
    """The number of wrong rows; None if the index has moved or holds no such vectors."""
    asked = sample.asked
    direction = asked.direction.astype("<f4", copy=False).tobytes()
    query = VectorQuery(name, direction, len(sample.rows) + _SPARE)
    matches = engine.nearest_vectors(index.ref, index.root, query)
    if matches is None:
        return None
    true = [
        match.key
        for match in matches
        if match.key in sample.rows
        and match.vector == sample.rows[match.key][0]
        and abs(match.product - sample.rows[match.key][1]) <= 2 * asked.margin_of_directions
    ]
    return len(matches) - len(true) + len(sample.rows.keys() - set(true))


def _unknown(
    engine: IndexesVectors, index: VectorIndex, samples: dict[tuple[str, int], _Sample]
) -> int:
    """The number of dimensions in the index of a name that no vector has."""
    names = {"", *(name for name, _ in samples)}
    return sum(
        (name, dimension) not in samples
        for name in names
        for dimension in engine.vector_dimensions(index.ref, index.root, name) or ()
    )

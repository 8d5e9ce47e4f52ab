"""The vector view: exact search by cosine similarity over the records of one root."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from sys import getsizeof
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.format.objects import decode_record, decode_vector
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.views.cache import Changes
from mnemosyne_vcs.views.cosine import Query, best
from mnemosyne_vcs.views.keys import (
    KeyFilter,
    Selection,
    pack_keys,
    places_among,
    span,
    splice,
    unpack_keys,
)
from mnemosyne_vcs.views.quantized import Vector
from mnemosyne_vcs.views.rows import Claim, Rows, RowStore

if TYPE_CHECKING:
    from mnemosyne_vcs.views.files import Arrays

__all__ = ["Part", "VectorView", "VectorViewBuilder"]

_Block: TypeAlias = tuple[Id, bytes]


class Part:
    """The records whose vector has one dimension: their keys, in order, and their rows."""

    __slots__ = ("_aligned", "claim", "keys", "rows", "store")

    def __init__(self, store: RowStore, keys: list[str], rows: Rows) -> None:
        self.store = store
        self.keys = keys
        self.rows = rows
        self.claim = store.claim(rows)
        self._aligned: tuple[Sequence[str], NDArray[np.intp] | None] | None = None

    def mask(self, selection: Selection) -> NDArray[np.bool_]:
        """Which of the keys are chosen by a selection over other keys."""
        aligned = self._aligned
        if aligned is None or aligned[0] is not selection.keys:
            aligned = self._aligned = selection.keys, places_among(self.keys, selection.keys)
        at = aligned[1]
        return selection.chosen if at is None else np.append(selection.chosen, False)[at]


class VectorView:
    """The vectors of one name of all records of a root.

    Args:
        by_dimension: the records by the dimension of their vector.
    """

    __slots__ = ("by_dimension",)

    def __init__(self, by_dimension: Mapping[int, Part]) -> None:
        self.by_dimension = by_dimension

    def dimensions(self) -> dict[int, int]:
        """The number of records with a vector of each dimension."""
        return {dimension: len(part.keys) for dimension, part in self.by_dimension.items()}

    def search(
        self,
        query: Vector,
        *,
        prefix: str = "",
        within: Selection | None = None,
        keep: KeyFilter | None = None,
        limit: int = 10,
        min_score: float | None = None,
    ) -> list[tuple[str, float]]:
        """The records whose vectors are most similar to a query, among those that pass all filters.

        Args:
            query: finite float32 numbers, shape `(dimension,)`. Records whose vector has another
                dimension are never found.
            prefix: what the keys start with.
            within: the keys to search.
            keep: a test, applied after the other filters, to the most similar records first and to
                many at once, until there are enough.
            limit: how many to return at most.
            min_score: the least score to return.

        Returns:
            `(key, score)`, the greatest score first and equal ones by key. A score is the cosine
            similarity, from -1 to 1, and 0 where either vector is zero.

        Raises:
            NotFoundError: a vector is no longer in the store.
            CorruptObjectError: a vector is not what its id says.
            EngineError: the store cannot be read.
        """
        part = self.by_dimension.get(len(query))
        if part is None or limit <= 0:
            return []
        start, stop = span(part.keys, prefix)
        positions: NDArray[np.intp] = np.arange(start, stop)
        if within is not None:
            positions = positions[part.mask(within)[start:stop]]
        rows = part.rows[positions]
        asked = Query(query)

        def passing(some: list[int]) -> Iterator[int]:
            places = {part.keys[int(positions[at])]: at for at in some}
            return (places[key] for key in keep(list(places))) if keep else iter(some)

        def alike(some: NDArray[np.intp]) -> NDArray[np.int64]:
            return part.store.alike(rows[some])

        known: dict[int, float] = {}

        def exact(some: NDArray[np.intp]) -> NDArray[np.float64]:
            kinds, numbers = alike(some).tolist(), rows[some].tolist()
            new = {kind: row for kind, row in zip(kinds, numbers, strict=True) if kind not in known}
            vectors = part.store.vectors(list(new.values()))
            known.update(zip(new, asked.exact(vectors), strict=True))
            return np.array([known[kind] for kind in kinds])

        found, scores = best(
            *asked.approximate(part.store, rows),
            exact,
            limit,
            min_score,
            None if keep is None else passing,
            alike,
        )
        foremost = np.lexsort((found, -scores))[:limit]
        hits = zip(positions[found[foremost]].tolist(), scores[foremost].tolist(), strict=True)
        return [
            (part.keys[at], score) for at, score in hits if min_score is None or score >= min_score
        ]

    def sizes(self) -> Mapping[int, int]:
        """The row numbers, the list of keys without the keys themselves, and the shared stores."""
        sizes: dict[int, int] = {}
        for part in self.by_dimension.values():
            sizes[id(part.keys)] = getsizeof(part.keys)
            sizes[id(part.rows)] = part.rows.nbytes
            sizes[id(part.store)] = part.store.nbytes
        return sizes


class VectorViewBuilder:
    """Views of the vectors of one name. All of them share one store of rows for each dimension.

    Args:
        name: the name of the vectors.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._stores: dict[int, RowStore] = {}
        self._lock = Lock()

    def empty(self) -> VectorView:
        """The view of a tree without records."""
        return VectorView({})

    def update(self, blocks: Blocks, view: VectorView, changes: Changes) -> VectorView:
        """The view of another root; reads new records, and vectors that no other view has."""
        claims: dict[int, Claim] = {}
        places: dict[Id, tuple[int, int]] = {}
        placed: list[tuple[str, tuple[int, int] | None]] = []
        linked = self._linked(blocks, changes)
        in_order = (linked[after] for _, _, after in changes if after in linked)
        self._place(blocks, claims, places, dict.fromkeys(in_order))
        for key, _, after in changes:
            vector = linked.get(after) if after is not None else None
            placed.append((key, None if vector is None else places[vector]))
        parts = dict(view.by_dimension)
        for dimension in sorted(parts.keys() | claims.keys()):
            edits = [(key, at is not None and at[0] == dimension) for key, at in placed]
            rows = [at[1] for _, at in placed if at is not None and at[0] == dimension]
            parts[dimension] = self._edited(dimension, parts.get(dimension), edits, rows)
        return VectorView({dimension: part for dimension, part in parts.items() if part.keys})

    def label(self, blocks: Blocks) -> str:
        """See `StoresViews.label`."""
        exact = "" if blocks.can.local else " with values"
        return f"vectors 1{exact}: {self._name}"

    def pack(self, view: VectorView) -> "Arrays":
        """See `StoresViews.pack`."""
        arrays: dict[str, NDArray[Any]] = {}
        for dimension, part in view.by_dimension.items():
            columns = {"keys": pack_keys(part.keys), **part.store.pack(part.rows)}
            arrays |= {f"{dimension} {name}": array for name, array in columns.items()}
        return arrays

    def unpack(self, blocks: Blocks, arrays: "Arrays") -> VectorView:
        """See `StoresViews.unpack`."""
        columns: dict[int, dict[str, NDArray[Any]]] = {}
        for name, array in arrays.items():
            dimension, _, column = name.partition(" ")
            columns.setdefault(int(dimension), {})[column] = array
        parts: dict[int, Part] = {}
        for dimension, each in columns.items():
            store = self._store(blocks, dimension)
            claim = store.claim()
            parts[dimension] = Part(store, unpack_keys(each["keys"]), store.adopt(claim, each))
        return VectorView(parts)

    def trim(self) -> None:
        """Free the rows that no living view refers to."""
        for store in self._known_stores():
            store.trim()

    def _linked(self, blocks: Blocks, changes: Changes) -> dict[Id, Id]:
        """The vectors of those records that have one, by record."""
        records = {after for _, _, after in changes if after is not None}
        stored = ((block, decode_record(block, data)) for block, data in blocks.read_each(records))
        return {
            block: record.vectors[self._name]
            for block, record in stored
            if self._name in record.vectors
        }

    def _place(
        self,
        blocks: Blocks,
        claims: dict[int, Claim],
        places: dict[Id, tuple[int, int]],
        vectors: Collection[Id],
    ) -> None:
        """Find vectors in the stores or read them into rows, and claim those.

        Rows in the order of their keys are quick to gather: those of a subtree are adjacent.
        """
        missing = dict.fromkeys(vectors)
        for store in self._known_stores():
            claim = claims.get(store.dimension) or store.claim()
            found = store.find(claim, missing.keys())
            if found:
                claims[store.dimension] = claim
                places |= {each: (store.dimension, row) for each, row in found.items()}
                missing = {each: None for each in missing if each not in found}
        order = {block: at for at, block in enumerate(missing)}
        for batch in batches(blocks.read_each(missing)):
            read: dict[int, list[tuple[Id, Vector]]] = {}
            for block, data in sorted(batch, key=lambda each: order[each[0]]):
                values = decode_vector(block, data)
                read.setdefault(len(values), []).append((block, values))
            for dimension, new in read.items():
                store = self._store(blocks, dimension)
                claim = claims.setdefault(dimension, store.claim())
                rows = store.add(claim, new)
                places |= {e: (dimension, row) for (e, _), row in zip(new, rows, strict=True)}

    def _edited(
        self, dimension: int, part: Part | None, edits: list[tuple[str, bool]], rows: list[int]
    ) -> Part:
        store = self._stores[dimension]
        keys, old = (part.keys, part.rows) if part else (list[str](), np.empty(0, np.int32))
        change = splice(keys, edits)
        return Part(store, change.keys, change.column(old, np.array(rows, dtype=np.int32)))

    def _store(self, blocks: Blocks, dimension: int) -> RowStore:
        with self._lock:
            exact = None if blocks.can.local is None else blocks
            return self._stores.setdefault(dimension, RowStore(dimension, exact))

    def _known_stores(self) -> list[RowStore]:
        with self._lock:
            return list(self._stores.values())

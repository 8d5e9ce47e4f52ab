"""An engine in memory that indexes vectors, by looking at every one of them."""

from collections.abc import Collection, Mapping

import numpy as np

from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.engine.vector_index import (
    VectorIndex,
    VectorMatch,
    VectorMove,
    VectorQuery,
    VectorRow,
)
from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.ids import Id


class IndexingEngine(MemoryEngine):
    """It counts the questions to its indexes; a row is found by its key and name."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self._indexes: dict[str, tuple[Id, dict[tuple[str, str], VectorRow]]] = {}

    def write(self, objects: Mapping[Id, bytes], update: RefUpdate | None = None) -> None:
        super().write(objects, update)
        if update is not None and update.new is None:
            self._indexes.pop(update.name, None)
        elif update is not None and update.vectors is not None:
            self.move_vector_index(update.name, update.vectors)

    def vector_indexes(self) -> list[VectorIndex]:
        heads = self.refs()
        return [
            VectorIndex(ref, self._indexes[ref][0], heads[ref]) for ref in sorted(self._indexes)
        ]

    def known_vector_root(self, ref: str) -> Id | None:
        return self._indexes[ref][0] if ref in self._indexes else None

    def add_vector_index(self, ref: str, root: Id) -> None:
        if self.ref(ref) is None:
            raise NotFoundError(f"there is no ref {ref}")
        self._indexes.setdefault(ref, (root, {}))

    def drop_vector_index(self, ref: str) -> bool:
        return self._indexes.pop(ref, None) is not None

    def move_vector_index(self, ref: str, move: VectorMove) -> bool:
        if self.known_vector_root(ref) != move.old:
            return False
        before = self._indexes[ref][1]
        after = before.copy()
        for part in move.parts:
            after = {place: row for place, row in after.items() if place[0] not in part.keys}
            for row in part.rows:
                kept = row if row.direction is not None else before.get((row.key, row.name))
                if kept is None or kept.vector != row.vector:
                    return False
                after[row.key, row.name] = kept
        self._indexes[ref] = move.new, after
        return True

    def nearest_vectors(self, ref: str, root: Id, query: VectorQuery) -> list[VectorMatch] | None:
        self.asked += 1
        if self.known_vector_root(ref) != root:
            return None
        asked = np.frombuffer(query.direction, "<f4")
        found = [
            VectorMatch(row.key, row.vector, float(asked @ np.frombuffer(row.direction, "<f4")))
            for row in self._rows(ref, query.name, query.but)
            if len(row.direction) == len(query.direction)
            and row.key.startswith(query.prefix)
            and (query.only is None or row.key in query.only)
        ]
        return sorted(found, key=lambda match: (-match.product, match.key))[: query.limit]

    def vector_dimensions(
        self, ref: str, root: Id, name: str, but: Collection[str] = ()
    ) -> list[int] | None:
        if self.known_vector_root(ref) != root:
            return None
        return sorted({len(row.direction) // 4 for row in self._rows(ref, name, but)})

    def _rows(self, ref: str, name: str, but: Collection[str]) -> list[VectorRow]:
        rows = self._indexes[ref][1].values()
        return [row for row in rows if row.name == name and row.key not in but]

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.format.objects import (
    StoredRecord,
    encode_record,
    encode_vector,
    new_salt,
    object_id,
    vector_id,
)
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Record
from mnemosyne_vcs.views.scopes import ScopeRow


@dataclass(frozen=True)
class Entry:
    """What a test puts under a key."""

    vector: np.ndarray | None = None
    scope: str = "/"
    categories: tuple[str, ...] = ()
    created: int | None = 0


class ForgetfulEngine(MemoryEngine):
    """A memory engine that can lose objects and counts the reads of each."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: set[Id] = set()
        self.asked: list[Id] = []

    def read(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        self.asked += ids
        found = super().read(ids)
        return {block: data for block, data in found.items() if block not in self.lost}


class Store:
    """Trees of records in memory, and what stands in each by plain dictionaries."""

    def __init__(self) -> None:
        self.engine = ForgetfulEngine()
        self.blocks = Blocks(self.engine)
        self.states: dict[Id, dict[str, Entry]] = {tree.EMPTY_ROOT: {}}
        self.vectors: dict[tuple[str, bytes], Id] = {}

    def edit(
        self, root: Id, puts: Mapping[str, Entry] | None = None, deletes: Iterable[str] = ()
    ) -> Id:
        puts = puts or {}
        changes: dict[str, Id | None] = dict.fromkeys(deletes)
        objects: dict[Id, bytes] = {}
        for key, entry in puts.items():
            block = self._record(key, entry, objects)
            changes[key] = object_id(block)
            objects[changes[key]] = block
        edit = tree.edit(self.blocks.node, root, changes)
        self.engine.write({**objects, **edit.blocks})
        state = {**self.states[root], **puts}
        self.states[edit.root] = {k: v for k, v in state.items() if changes.get(k, b"") is not None}
        return edit.root

    def _record(self, key: str, entry: Entry, objects: dict[Id, bytes]) -> bytes:
        links: dict[str, Id] = {}
        if entry.vector is not None:
            floats = entry.vector.astype("<f4").tobytes()
            known = self.vectors.get((key, floats))
            if known is None:
                data = encode_vector(floats, new_salt())
                known = self.vectors[key, floats] = vector_id(data)
                objects[known] = data
            links[""] = known
        content = {
            "scope": entry.scope,
            "categories": list(entry.categories),
            "created": entry.created,
        }
        return encode_record(StoredRecord(content, "0" * 32, links), new_salt())


def facts(record: Record) -> ScopeRow:
    content = record.content
    return ScopeRow(content["scope"], tuple(content["categories"]), content["created"])


def dot_product(a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        total += x * y
    return total


def cosine_similarity(a: np.ndarray, b: np.ndarray) -> float:
    """By the definition, one operation after the other in float64."""
    norms = math.sqrt(dot_product(a, a) * dot_product(b, b))
    return max(-1.0, min(1.0, dot_product(a, b) / norms)) if norms else 0.0


@pytest.fixture(scope="session")
def cosine() -> Callable[[np.ndarray, np.ndarray], float]:
    return cosine_similarity


@pytest.fixture(scope="session")
def new_store() -> type[Store]:
    return Store


@pytest.fixture(scope="session")
def entry() -> type[Entry]:
    return Entry


@pytest.fixture(scope="session")
def read_facts() -> Callable[[Record], ScopeRow]:
    return facts

"""The seeded records, vectors and queries that every backend is measured on."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crewai.memory.types import MemoryRecord

SEED = 4821
DIMENSIONS = 1536
QUERIES = 20
TOP = 10
SCOPES = tuple(f"/crew/team-{number}" for number in range(10))
CATEGORIES = ("billing", "contract", "incident", "preference", "product")

_EPOCH = datetime(2026, 1, 5, 8, 0)
_CUSTOMERS = ("Arlen Foods", "Birch & Co", "Castor Labs", "Dunmore Rail", "Eastgate Clinic")
_EVENTS = (
    "moved to the Enterprise plan and asked for invoices in euros",
    "reported that exports stop after the first thousand rows",
    "prefers a call on Thursday mornings over written replies",
    "will renew in March if the audit log covers administrators",
)


@dataclass(frozen=True)
class Dataset:
    """Vectors of the stored rows, query vectors, and the true nearest rows of each query."""

    vectors: np.ndarray
    queries: np.ndarray
    nearest: np.ndarray

    @property
    def size(self) -> int:
        return len(self.vectors)

    def batches(self, length: int) -> Iterator[list[MemoryRecord]]:
        for start in range(0, self.size, length):
            rows = range(start, min(start + length, self.size))
            yield [record(row, self.vectors[row].tolist()) for row in rows]


def prepare(directory: Path, size: int, kind: str) -> None:
    """Write the dataset of ``size`` rows and its exact answers under ``directory``."""
    directory.mkdir(parents=True)
    vectors = random_vectors(SEED, size, kind)
    queries = random_vectors(SEED + 1, QUERIES, kind)
    np.save(directory / "vectors.npy", vectors)
    np.save(directory / "queries.npy", queries)
    np.save(directory / "nearest.npy", _nearest(vectors, queries))


def read(directory: Path) -> Dataset:
    return Dataset(
        vectors=np.load(directory / "vectors.npy", mmap_mode="r"),
        queries=np.load(directory / "queries.npy"),
        nearest=np.load(directory / "nearest.npy"),
    )


def record_id(row: int) -> str:
    return str(uuid.UUID(int=random.Random(f"{SEED}/{row}").getrandbits(128), version=4))


def record(row: int, embedding: list[float]) -> MemoryRecord:
    """The record of a row; a tenth of the rows share a scope and a fifth share a category."""
    from crewai.memory.types import MemoryRecord

    customer = _CUSTOMERS[row % len(_CUSTOMERS)]
    event = _EVENTS[row % len(_EVENTS)]
    time = _EPOCH + timedelta(seconds=row)
    return MemoryRecord(
        id=record_id(row),
        content=f"Ticket {row:06d}: {customer} {event}, as noted after the weekly review meeting.",
        scope=SCOPES[row % 10],
        categories=[CATEGORIES[row // 10 % 5]],
        metadata={"ticket": row, "channel": "email", "priority": row % 3},
        importance=0.3 + 0.1 * (row % 5),
        created_at=time,
        last_accessed=time,
        embedding=embedding,
        source=f"agent-{row % 4}",
    )


def fresh_records(first_row: int, count: int, kind: str = "normal") -> list[MemoryRecord]:
    """Records beyond a dataset, starting at row ``first_row``, with vectors of their own."""
    vectors = random_vectors(SEED + 2 + first_row, count, kind)
    return [record(first_row + n, vector.tolist()) for n, vector in enumerate(vectors)]


def random_vectors(seed: int, count: int, kind: str = "normal") -> np.ndarray:
    """Seeded vectors of ``DIMENSIONS`` components, each N(0, 1), or scaled to length 1."""
    vectors = np.random.default_rng(seed).standard_normal((count, DIMENSIONS), dtype=np.float32)
    if kind == "unit":
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _nearest(vectors: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Row numbers of each query's ``TOP`` rows by cosine, computed in float64."""
    targets = queries.astype(np.float64)
    scores = [
        targets @ rows.T / np.linalg.norm(rows, axis=1)
        for start in range(0, len(vectors), 10_000)
        if len(rows := vectors[start : start + 10_000].astype(np.float64))
    ]
    return np.argsort(-np.concatenate(scores, axis=1), axis=1, kind="stable")[:, :TOP]

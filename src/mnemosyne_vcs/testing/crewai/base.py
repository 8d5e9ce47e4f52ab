"""Shared by all groups of tests: opening stores, making records, keeping crewai offline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import pytest

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend
    from crewai.memory.types import MemoryRecord

Opener = Callable[[str], "StorageBackend"]
Hits = list[tuple["MemoryRecord", float]]

OFFLINE = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}

X = [1.0, 0.0, 0.0, 0.0]
Y = [0.0, 1.0, 0.0, 0.0]
NEAR_X = [0.8, 0.6, 0.0, 0.0]


class OpenBackend(Protocol):
    """Opens a backend on the store called `name`; the same name is the same store."""

    def __call__(self, name: str = "store") -> StorageBackend:
        """Open the store, creating it if missing."""
        ...


def load_opener(target: str) -> Opener:
    """Import the callable that opens a backend.

    Args:
        target: ``"module:callable"``; the callable takes a location and returns a backend.

    Returns:
        The callable.

    Raises:
        ImportError: The module is not importable.
        AttributeError: The module has no such name.
    """
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def make(record_id: str, embedding: list[float] | None = X, **fields: Any) -> MemoryRecord:
    """Make a record.

    Args:
        record_id: Its id.
        embedding: Its vector, or `None`.
        fields: Any other field of `MemoryRecord`; the content defaults to one made from the id.

    Returns:
        A new record.
    """
    from crewai.memory.types import MemoryRecord

    fields.setdefault("content", f"content of {record_id}")
    return MemoryRecord(id=record_id, embedding=embedding, **fields)


def must_get(backend: StorageBackend, record_id: str) -> MemoryRecord:
    """Return the record with this id, failing the test when there is none."""
    record = backend.get_record(record_id)
    assert record is not None, f"record {record_id!r} is missing"
    return record


def ids(records: Iterable[MemoryRecord]) -> list[str]:
    """Return the ids of records, in their order."""
    return [record.id for record in records]


def hit_ids(hits: Hits) -> list[str]:
    """Return the ids of search results, in their order."""
    return [record.id for record, _ in hits]


def stored_ids(backend: StorageBackend) -> set[str]:
    """Return the ids of every record in the store, checking that none occurs twice."""
    found = ids(backend.list_records(limit=10_000))
    assert len(found) == len(set(found)), "a record is listed twice"
    return set(found)


class BackendContract:
    """The base of every group: where stores are and how they are opened.

    Attributes:
        opener: ``"module:callable"``. The callable takes a location and returns a backend on the
            store there, creating it if missing. It is importable by name because some tests
            open the store in other processes.
    """

    opener: ClassVar[str]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def offline(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        """Keep crewai off the network and out of the user's home directory."""
        home = str(tmp_path_factory.mktemp("home"))
        with pytest.MonkeyPatch.context() as patch:
            for name, value in OFFLINE.items():
                patch.setenv(name, value)
            patch.setenv("HOME", home)
            patch.setenv("CREWAI_STORAGE_DIR", home)
            patch.delenv("OPENAI_API_KEY", raising=False)
            yield

    @pytest.fixture
    def locate(self, tmp_path: Path) -> Callable[[str], str]:
        """Turn a store's name into a location; override it when locations are not file paths."""
        return lambda name: str(tmp_path / name)

    @pytest.fixture
    def open_backend(self, locate: Callable[[str], str]) -> Iterator[OpenBackend]:
        """Open backends, and close those that can be closed after the test."""
        opened: list[Any] = []

        def open_store(name: str = "store") -> StorageBackend:
            backend = load_opener(self.opener)(locate(name))
            opened.append(backend)
            return backend

        yield open_store
        for backend in opened:
            if hasattr(backend, "close"):
                backend.close()

    @pytest.fixture
    def backend(self, open_backend: OpenBackend) -> StorageBackend:
        """Return a backend on an empty store."""
        return open_backend()

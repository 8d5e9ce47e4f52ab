"""The three storage backends behind one way to open, close and size them."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

OURS = "mnemosyne"
LANCEDB = "lancedb"
QDRANT = "qdrant-edge"
BACKENDS = (OURS, LANCEDB, QDRANT)
TITLES = {OURS: "Mnemosyne", LANCEDB: "LanceDB", QDRANT: "Qdrant Edge"}

_CLASSES = {
    OURS: ("mnemosyne_vcs.adapters.crewai", "MnemosyneStorageBackend"),
    LANCEDB: ("crewai.memory.storage.lancedb_storage", "LanceDBStorage"),
    QDRANT: ("crewai.memory.storage.qdrant_edge_storage", "QdrantEdgeStorage"),
}
_DISTRIBUTIONS = ("mnemosyne-vcs", "crewai", "lancedb", "qdrant-edge-py", "numpy", "apsw")


def import_backend(name: str) -> Any:
    """The backend's class, with everything that it imports."""
    module, attribute = _CLASSES[name]
    return getattr(importlib.import_module(module), attribute)


def open_backend(name: str, directory: Path) -> Any:
    """Open (or create) the backend's store under ``directory`` with its default settings."""
    return import_backend(name)(str(store_path(name, directory)))


def store_path(name: str, directory: Path) -> Path:
    return directory / "memory.mnem" if name == OURS else directory


def close_backend(backend: Any) -> None:
    """Close the backend if it can be closed: LanceDB's has no ``close``."""
    close = getattr(backend, "close", None)
    if close is not None:
        close()


def why_missing(name: str) -> str | None:
    """Why the backend cannot be measured here; None if it can."""
    try:
        import_backend(name)
    except (ImportError, AttributeError) as error:
        return f"{type(error).__name__}: {str(error).partition(' (')[0]}"
    return None


def versions(distributions: Sequence[str] = _DISTRIBUTIONS) -> dict[str, str]:
    """The versions of those of the distributions that are installed."""
    found: dict[str, str] = {}
    for distribution in distributions:
        try:
            found[distribution] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def disk_bytes(directory: Path) -> int:
    """Bytes of disk that the files under ``directory`` occupy."""
    return sum(path.stat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())

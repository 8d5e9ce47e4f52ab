"""Engines: where the bytes of a repository live."""

from mnemosyne_vcs.engine.urls import canonical_url, file_of, open_engine

__all__ = ["canonical_url", "file_of", "open_engine"]

"""Engines, which store the bytes of a repository."""

from mnemosyne_vcs.engine.urls import canonical_url, file_of, open_engine

__all__ = ["canonical_url", "file_of", "open_engine"]

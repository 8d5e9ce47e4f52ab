"""The repository: opening a store, and the class `Repository`."""

from mnemosyne_vcs.repository.repository import Durability, Repository, open_repository

__all__ = ["Durability", "Repository", "open_repository"]

"""The repository: the door to everything."""

from mnemosyne_vcs.repository.repository import Durability, Repository, open_repository

__all__ = ["Durability", "Repository", "open_repository"]

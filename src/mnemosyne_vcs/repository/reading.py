"""The part of `Repository` that reads `main` as a mapping."""

from collections.abc import Iterator
from typing import Any

from mnemosyne_vcs.model import Record
from mnemosyne_vcs.repository.base import RepositoryBase

__all__ = ["_Reading"]


class _Reading(RepositoryBase):
    """Short forms of `at("main")`; each call reads the newest commit."""

    def __getitem__(self, key: str) -> Record:
        return self.at()[key]

    def __contains__(self, key: object) -> bool:
        return key in self.at()

    def __iter__(self) -> Iterator[str]:
        return iter(self.at())

    def __len__(self) -> int:
        return len(self.at())

    def __bool__(self) -> bool:
        """True, even without records, so that `if repo` means: is there a repository."""
        return True

    def get(self, key: str, default: Any = None) -> Any:
        """The record under a key of `main`, else the default.

        Args:
            key: the key.
            default: what to return if there is no record.

        Raises:
            ValidationError: the key is not a string.
        """
        return self.at().get(key, default)

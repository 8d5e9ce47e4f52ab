"""Whole beginnings of a process: importing Mnemosyne, opening a store, and a first answer.

This module imports nothing that Mnemosyne imports too.
"""

from __future__ import annotations

from benchmarks.measure import timed


def first_read(url: str, key: str) -> dict[str, list[float]]:
    """Importing, opening the store and reading one record."""

    def read() -> None:
        import mnemosyne_vcs

        with mnemosyne_vcs.open(url) as repository:
            repository.at()[key]

    return {"first_read": [timed(read)]}


def first_search(url: str, query: list[float]) -> dict[str, list[float]]:
    """Importing, opening the store and searching."""

    def search() -> None:
        import mnemosyne_vcs

        with mnemosyne_vcs.open(url) as repository:
            repository.at().search(query, limit=10)

    return {"first_search": [timed(search)]}

"""Repositories to begin with, and an engine beside which something else happens."""

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager

from mnemosyne_vcs import Repository
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.protocol import Engine
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.refs import initialise
from mnemosyne_vcs.testing.faults import FaultyEngine

__all__ = ["Disturbed", "fresh"]


def fresh(engine: Engine | None = None, author: str = "tester") -> Repository:
    """A new and empty repository, in memory if no engine is given."""
    repo = Repository(engine or MemoryEngine(), author=author)
    initialise(repo.blocks.engine, when=0)
    return repo


class Disturbed(FaultyEngine):
    """Calls a function before those reads, outside of a lock, whose numbers are given."""

    def __init__(self, engine: Engine, disturb: Callable[[], object], at: Collection[int]) -> None:
        super().__init__(engine)
        self.disturb, self.at = disturb, at
        self.reads, self.inside = 0, False

    def read(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        """See `Engine.read`."""
        self._count()
        return super().read(ids)

    def sizes(self, ids: Collection[Id]) -> Mapping[Id, int]:
        """See `TellsSizes.sizes`."""
        self._count()
        return super().sizes(ids)

    def _count(self) -> None:
        if not self.inside:
            self.reads += 1
            if self.reads in self.at:
                self.disturb()

    @contextmanager
    def exclusive(self) -> Generator[None]:
        """See `Exclusive.exclusive`."""
        with super().exclusive():
            self.inside = True
            try:
                yield
            finally:
                self.inside = False

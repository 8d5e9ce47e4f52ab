"""The repository of a backend, opened when it is first needed."""

from collections.abc import Collection
from os import PathLike, fspath
from threading import Lock

from mnemosyne_vcs.adapters.crewai.contents import Contents
from mnemosyne_vcs.adapters.crewai.keys import ROOT
from mnemosyne_vcs.adapters.crewai.specs import canonical_url
from mnemosyne_vcs.adapters.crewai.translate import dimension_mismatch, is_memory
from mnemosyne_vcs.errors import BusyError
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.interrupts import locked
from mnemosyne_vcs.refs import DEFAULT_BRANCH
from mnemosyne_vcs.repository import Repository, open_repository

__all__ = ["Opened"]

PATIENCE = 60.0


class Opened:
    """A repository that is opened when it is first needed, shared by sibling backends.

    Args:
        url_or_repository: a path or URL as `mnemosyne_vcs.open` takes it, or an open repository.
    """

    def __init__(self, url_or_repository: str | PathLike[str] | Repository) -> None:
        given = url_or_repository
        self._repository = given if isinstance(given, Repository) else None
        self._url = "" if isinstance(given, Repository) else _checked(given)
        self._branches: set[str] = set()
        self._lock = Lock()
        self._known_dimension: tuple[Id, int | None] = (b"", None)

    @property
    def url(self) -> str:
        """The canonical URL of the store."""
        return self._repository.url if self._repository else canonical_url(self._url)

    def repository(self, branch: str) -> Repository:
        """The repository with the branch; both are created if they do not exist."""
        if branch in self._branches and self._repository:
            return self._repository
        with locked(self._lock, PATIENCE, self._busy):
            if self._repository is None:
                self._repository = open_repository(self._url, create=True)
            if branch != DEFAULT_BRANCH and branch not in self._repository.branches():
                self._repository.create_branch(branch)
            self._branches.add(branch)
            return self._repository

    def _busy(self) -> BusyError:
        return BusyError(
            f"another thread has been opening {self.url} for {PATIENCE:g} s; try again"
        )

    def close(self) -> None:
        """Close the repository, if it was opened."""
        if self._repository:
            self._repository.close()

    def dimension_at(self, root: Id, dimension: int) -> None:
        """Remember the dimension of the embeddings below a root."""
        self._known_dimension = root, dimension

    def check_dimension(
        self, contents: Contents, dimension: int, replaced: Collection[str]
    ) -> None:
        """Raise if embeddings of another dimension would remain.

        Args:
            contents: the memory.
            dimension: the dimension of the embeddings that are to be saved.
            replaced: the ids of the records that are to be replaced.
        """
        root, known = self._known_dimension
        snapshot = contents.snapshot
        if root != snapshot.root:
            vectors = (each.embedding for each in snapshot.scan(ROOT) if is_memory(each))
            known = next((len(vector) for vector in vectors if vector is not None), None)
            self._known_dimension = snapshot.root, known
        if known is None or known == dimension:
            return
        other = contents.other_dimension(dimension, replaced)
        if other is not None:
            raise dimension_mismatch(other, dimension)


def _checked(url: str | PathLike[str]) -> str:
    """A URL, checked now because an error in the background would go unnoticed."""
    canonical_url(url)
    return fspath(url)

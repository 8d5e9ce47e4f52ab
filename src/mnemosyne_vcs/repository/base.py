"""What the methods of a repository, which live in modules by subject, rest on."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.model import Commit, Revision
from mnemosyne_vcs.refs import DEFAULT_BRANCH
from mnemosyne_vcs.snapshot import Snapshot
from mnemosyne_vcs.transaction.transaction import Transaction, Writer

__all__ = ["BaseMethods"]


class BaseMethods(ABC):
    """The part of `Repository` that its other methods call.

    Attributes:
        blocks: the objects, for code that works below the level of records.
    """

    blocks: Blocks
    _writer: Writer
    _clock: Callable[[], int]

    @abstractmethod
    def resolve(self, revision: Revision = DEFAULT_BRANCH) -> Commit:
        """The commit that a revision names."""

    @abstractmethod
    def at(self, revision: Revision = DEFAULT_BRANCH) -> Snapshot:
        """The memory as it stood at a revision."""

    @abstractmethod
    def create_branch(self, name: str, at: Revision = DEFAULT_BRANCH) -> Commit:
        """Make a branch."""

    @abstractmethod
    def transact(
        self,
        fn: Callable[[Transaction], object],
        branch: str = DEFAULT_BRANCH,
        *,
        author: str | None = None,
        message: str = "",
        trailers: Mapping[str, str] | None = None,
        expect: Revision | None = None,
    ) -> Commit:
        """Run a function in a transaction, again on the new head until it lands."""

    @abstractmethod
    def _expected(self, expect: Revision | None) -> Commit | None:
        """The commit that a branch is expected to point at, if one is."""

    @abstractmethod
    def _check_writable(self) -> None:
        """Raise `ReadOnlyError` if the repository was opened for reading."""

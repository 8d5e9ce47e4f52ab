"""The state of a repository, and what all of its methods need."""

import time
from collections.abc import Callable, Mapping

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.embedding import Embed
from mnemosyne_vcs.engine.protocol import Engine
from mnemosyne_vcs.errors import ReadOnlyError
from mnemosyne_vcs.format.validation import check_text
from mnemosyne_vcs.merge.operation import Operation
from mnemosyne_vcs.model import Commit, Revision
from mnemosyne_vcs.refs import DEFAULT_BRANCH
from mnemosyne_vcs.revision import resolve
from mnemosyne_vcs.snapshot import Snapshot
from mnemosyne_vcs.transaction.transact import transact
from mnemosyne_vcs.transaction.transaction import Transaction, Writer
from mnemosyne_vcs.views.cache import ViewCache

__all__ = ["RepositoryBase", "now"]


def now() -> int:
    """The time as UTC milliseconds."""
    return time.time_ns() // 1_000_000


class RepositoryBase:
    """The state of a repository, reading a revision, and writing a branch.

    The rest of `Repository` lives in private classes by subject, which derive from this.

    Args:
        engine: the engine that stores the bytes.
        author: the author of commits that name no other.
        embed: turns a list of texts into vectors.
        clock: gives the time as UTC milliseconds.
        cache: whether what searches need is kept in files, where the engine has a place for them.

    Attributes:
        blocks: the objects, for code that works below the level of records.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        author: str = "unknown",
        embed: Embed | None = None,
        clock: Callable[[], int] = now,
        cache: bool = True,
    ) -> None:
        self.blocks = Blocks(engine)
        self._engine = engine
        self._writer = Writer(self.blocks, check_text(author, "author"), clock, embed)
        self._clock = clock
        place = self.blocks.can.cache if cache else None
        self._views = ViewCache(self.blocks, directory=place.cache_directory if place else None)

    @property
    def url(self) -> str:
        """The canonical URL, which opens the same store again."""
        return self._engine.url

    @property
    def author(self) -> str:
        """The author of commits that name no other."""
        return self._writer.author

    @property
    def read_only(self) -> bool:
        """Whether writes are refused."""
        return self._engine.read_only

    def resolve(self, revision: Revision = DEFAULT_BRANCH) -> Commit:
        """The commit that a revision names; see `mnemosyne_vcs.revision` for the forms.

        Raises:
            NotFoundError: it names nothing that exists.
            InvalidRevisionError: it is not a valid revision, or a prefix of several commit ids.
        """
        return resolve(self.blocks, revision, self._clock())

    def at(self, revision: Revision = DEFAULT_BRANCH) -> Snapshot:
        """The memory at a revision; raises as `resolve` does."""
        return Snapshot(self.blocks, self.resolve(revision), self._views, self._writer.embed)

    def transaction(
        self,
        branch: str = DEFAULT_BRANCH,
        *,
        author: str | None = None,
        message: str = "",
        trailers: Mapping[str, str] | None = None,
        expect: Revision | None = None,
    ) -> Transaction:
        """Begin a transaction, which commits at the end of its `with` block.

        Args:
            branch: the branch to commit to.
            author: the author; the repository's if not given.
            message: the commit message.
            trailers: further facts by name, such as `Run-Id`.
            expect: the commit that the branch must point at, now and when this commits.

        Raises:
            NotFoundError: the branch does not exist.
            RefConflictError: the branch does not point at `expect`.
            ReadOnlyError: the repository was opened for reading.
        """
        self._check_writable()
        return Transaction(
            self._writer,
            branch,
            author=author,
            message=message,
            trailers=trailers,
            expect=self._expected(expect),
        )

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
        """Run a function in a transaction, again on the new head until it lands.

        Args:
            fn: called with a fresh `Transaction` each time.
            branch: the branch to commit to.
            author: the author; the repository's if not given.
            message: the commit message.
            trailers: further facts by name, such as `Run-Id`.
            expect: the commit that the branch must point at; the function is then run once.

        Returns:
            The commit, or the head if the function changed nothing.

        Raises:
            NotFoundError: the branch does not exist.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            ReadOnlyError: the repository was opened for reading.
            ConflictError: it lost every race, on an engine without a write lock.
            EngineError: the store failed, and the commit is not in it.
        """
        self._check_writable()
        return transact(
            self._writer,
            fn,
            branch,
            author=author,
            message=message,
            trailers=trailers,
            expect=self._expected(expect),
        )

    def _expected(self, expect: Revision | None) -> Commit | None:
        """The commit that a branch is expected to point at, or None."""
        return None if expect is None else self.resolve(expect)

    def _run(self, operation: Operation) -> Commit:
        self._check_writable()
        return operation.run()

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"{self.url} was opened read-only; open it without read_only")

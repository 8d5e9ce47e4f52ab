"""The repository: the door to everything."""

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Literal, NoReturn, Self, overload

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.protocol import Engine, HasReflog, RefUpdate
from mnemosyne_vcs.errors import (
    AlreadyExistsError,
    EngineError,
    NotFoundError,
    ReadOnlyError,
    RefConflictError,
)
from mnemosyne_vcs.format.validation import check_text
from mnemosyne_vcs.graph import merge_bases
from mnemosyne_vcs.merge import branches as merging
from mnemosyne_vcs.merge.resolutions import Resolution, Strategy
from mnemosyne_vcs.model import JSON, Commit, MergePlan, Provenance, ReflogEntry, Revision, named
from mnemosyne_vcs.refs import (
    BRANCH,
    DEFAULT_BRANCH,
    TAG,
    branch_ref,
    check_new_name,
    initialise,
    ref_names,
    tag_ref,
    write_upon,
)
from mnemosyne_vcs.repository.files import ExchangeMethods
from mnemosyne_vcs.repository.history import HistoryMethods
from mnemosyne_vcs.repository.maintenance import MaintenanceMethods
from mnemosyne_vcs.repository.remotes import SyncMethods
from mnemosyne_vcs.repository.trace import TraceMethods
from mnemosyne_vcs.repository.undo import ActionMethods
from mnemosyne_vcs.repository.vector_index import IndexMethods
from mnemosyne_vcs.revision import resolve
from mnemosyne_vcs.snapshot import Snapshot
from mnemosyne_vcs.transaction.transact import transact
from mnemosyne_vcs.transaction.transaction import Embed, Transaction, VectorLike, Writer
from mnemosyne_vcs.views.cache import ViewCache

__all__ = ["Durability", "Repository", "open_repository"]

Durability = Literal["full", "relaxed"]


def _now() -> int:
    return time.time_ns() // 1_000_000


def open_repository(
    url: str | PathLike[str],
    *,
    create: bool = False,
    author: str = "unknown",
    read_only: bool = False,
    durability: Durability = "full",
    embed: Embed | None = None,
) -> "Repository":
    """Open a repository.

    Args:
        url: a path or `sqlite:///path` (one file), `postgresql://…?repository=NAME` (a server),
            `s3://bucket/prefix` (an object store), or `memory://` (gone when closed).
        create: make it if it is not there.
        author: who commits, where a commit does not say.
        read_only: refuse every write.
        durability: `full`: an acknowledged commit survives power loss; `relaxed`: it survives the
            death of the process, and after power loss the newest may be missing.
        embed: turns a list of texts into vectors, so that text can be given wherever a vector is
            expected.

    Raises:
        NotFoundError: there is nothing there, and `create` was not given.
        FormatVersionError: the store was written in a newer format.
        ReadOnlyError: it must be made or written, and cannot be.
        CorruptObjectError: the store is damaged, or to be made where an incomplete one is.
        EngineError: what is there is no store, or cannot be read.
        ValidationError: the URL is of no known form, the path was surely meant otherwise (nothing
            expands `~` and variables, and nothing takes off quotes), or the author is not a text.

    Warns:
        NetworkFileSystemWarning: a file to be written lies on a network file system.
    """
    check_text(author, "author")
    engine = open_engine(url, create=create, read_only=read_only, durability=durability)
    repository = Repository(engine, author=author, embed=embed)
    if create and not read_only:
        initialise(repository.blocks, _now())
    return repository


class Repository(
    HistoryMethods,
    ActionMethods,
    TraceMethods,
    MaintenanceMethods,
    ExchangeMethods,
    SyncMethods,
    IndexMethods,
):
    """Versioned memory. Safe for use by many threads, and by many processes at once.

    Normally made by `mnemosyne_vcs.open`. As a context manager it closes at the end of the block.

    Args:
        engine: where the bytes are.
        author: who commits, where a commit does not say.
        embed: turns a list of texts into vectors.
        clock: gives the time as UTC milliseconds.

    Attributes:
        blocks: the objects, for code that works below the level of records.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        author: str = "unknown",
        embed: Embed | None = None,
        clock: Callable[[], int] = _now,
    ) -> None:
        self.blocks = Blocks(engine)
        self._engine = engine
        self._writer = Writer(self.blocks, check_text(author, "author"), clock, embed)
        self._clock = clock
        self._views = ViewCache(self.blocks)

    def __repr__(self) -> str:
        return f"<Repository {self.url}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a repository cannot be pickled or copied; pass its `url` on and open that again"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The canonical URL, which opens the same store again."""
        return self._engine.url

    @property
    def author(self) -> str:
        """Who commits, where a commit does not say."""
        return self._writer.author

    @property
    def read_only(self) -> bool:
        """Whether writes are refused."""
        return self._engine.read_only

    def close(self) -> None:
        """Give back files, connections and cached views. A later call opens them again."""
        self._views.clear()
        self._engine.close()

    def resolve(self, revision: Revision = DEFAULT_BRANCH) -> Commit:
        """The commit that a revision names; see `mnemosyne_vcs.revision` for the forms.

        Raises:
            NotFoundError: it names nothing.
            InvalidRevisionError: the text is no revision, or several commits start so.
        """
        return resolve(self.blocks, revision, self._clock())

    def at(self, revision: Revision = DEFAULT_BRANCH) -> Snapshot:
        """The memory as it stood at a revision; raises as `resolve` does."""
        return Snapshot(self.blocks, self.resolve(revision), self._views, self._writer.embed)

    def branches(self) -> dict[str, str]:
        """The id of the commit that each branch points at, by name."""
        return ref_names(self.blocks, BRANCH)

    def create_branch(self, name: str, at: Revision = DEFAULT_BRANCH) -> Commit:
        """Make a branch. It costs nothing, however large the memory.

        Args:
            name: its name.
            at: the revision that it starts from.

        Raises:
            AlreadyExistsError: there is one of that name.
            NotFoundError: the revision names nothing.
            ValidationError: the name is not valid for a branch, or has the form of a commit id.
        """
        return self._create(branch_ref(name), "branch", name, at)

    def delete_branch(self, name: str) -> None:
        """Delete a branch; its commits stay in the reflog.

        Raises:
            NotFoundError: there is none of that name.
            RefConflictError: it moved meanwhile.
        """
        self._delete(branch_ref(name), f"branch {name!r}")

    def tags(self) -> dict[str, str]:
        """The id of the commit that each tag names, by name."""
        return ref_names(self.blocks, TAG)

    def create_tag(self, name: str, at: Revision = DEFAULT_BRANCH) -> Commit:
        """Name a commit for good; arguments and errors as in `create_branch`."""
        return self._create(tag_ref(name), "tag", name, at)

    def delete_tag(self, name: str) -> None:
        """Delete a tag; errors as in `delete_branch`."""
        self._delete(tag_ref(name), f"tag {name!r}")

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
            author: who commits; the repository's author if not given.
            message: why.
            trailers: further facts by name, such as `Run-Id`.
            expect: the commit that the branch must point at, now and when this commits.

        Raises:
            NotFoundError: there is no such branch.
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
            author: who commits; the repository's author if not given.
            message: why.
            trailers: further facts by name, such as `Run-Id`.
            expect: the commit that the branch must point at; the function is then run once.

        Returns:
            The commit, or the head if the function changed nothing.

        Raises:
            NotFoundError: there is no such branch.
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

    def put(
        self,
        key: str,
        content: JSON,
        *,
        branch: str = DEFAULT_BRANCH,
        embedding: "VectorLike | None" = None,
        vectors: "Mapping[str, VectorLike] | None" = None,
        embedder: str | None = None,
        provenance: Provenance | None = None,
        event_time: datetime | int | None = None,
        author: str | None = None,
        message: str = "",
        expect: Revision | None = None,
    ) -> Commit:
        """Write one record in a commit of its own; arguments and errors as in `Transaction.put`
        and `transact`."""

        def write(transaction: Transaction) -> None:
            transaction.put(
                key,
                content,
                embedding=embedding,
                vectors=vectors,
                embedder=embedder,
                provenance=provenance,
                event_time=event_time,
            )

        self._check_writable()
        return transact(
            self._writer,
            write,
            branch,
            author=author,
            message=message or f"put {key}",
            reads=False,
            expect=self._expected(expect),
        )

    def delete(
        self,
        key: str,
        *,
        branch: str = DEFAULT_BRANCH,
        author: str | None = None,
        message: str = "",
        expect: Revision | None = None,
    ) -> Commit:
        """Delete one record in a commit of its own.

        Raises:
            NotFoundError: there is no such record or branch.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the store failed, and the commit is not in it.
        """
        return self.transact(
            lambda transaction: transaction.delete(key),
            branch,
            author=author,
            message=message or f"delete {key}",
            expect=expect,
        )

    def merge_base(self, a: Revision, b: Revision = DEFAULT_BRANCH) -> Commit:
        """The newest commit that lies in the past of both revisions.

        Where histories cross there are several that are none of each other's past; this is the
        one of the highest generation, then id. A merge uses all of them.

        Raises:
            NotFoundError: a revision names nothing.
            InvalidRevisionError: a revision is none.
        """
        ours, theirs = self.resolve(a), self.resolve(b)
        return merge_bases(self.blocks.walk(), [ours.cid], theirs.cid)[-1]

    @overload
    def merge(
        self,
        source: Revision,
        into: str = ...,
        *,
        author: str | None = ...,
        message: str = ...,
        trailers: Mapping[str, str] | None = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        fast_forward: bool = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[False] = ...,
    ) -> Commit: ...

    @overload
    def merge(
        self,
        source: Revision,
        into: str = ...,
        *,
        author: str | None = ...,
        message: str = ...,
        trailers: Mapping[str, str] | None = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        fast_forward: bool = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: Literal[True],
    ) -> MergePlan: ...

    @overload
    def merge(
        self,
        source: Revision,
        into: str = ...,
        *,
        author: str | None = ...,
        message: str = ...,
        trailers: Mapping[str, str] | None = ...,
        resolutions: Mapping[str, Resolution] | None = ...,
        strategy: Strategy | None = ...,
        fast_forward: bool = ...,
        allow_mixed_vectors: bool = ...,
        expect: Revision | None = ...,
        dry_run: bool,
    ) -> Commit | MergePlan: ...

    def merge(
        self,
        source: Revision,
        into: str = DEFAULT_BRANCH,
        *,
        author: str | None = None,
        message: str = "",
        trailers: Mapping[str, str] | None = None,
        resolutions: Mapping[str, Resolution] | None = None,
        strategy: Strategy | None = None,
        fast_forward: bool = False,
        allow_mixed_vectors: bool = False,
        expect: Revision | None = None,
        dry_run: bool = False,
    ) -> Commit | MergePlan:
        """Bring what a revision has changed since it left a branch into that branch.

        A record that only one side has changed is taken as it is; records that both have changed
        are merged field by field. What clashes is settled by the resolutions, or nothing is
        written. The merge commit has the trailer `Resolved`: how each conflict was settled, as a
        JSON object by key.

        Args:
            source: the revision to merge.
            into: the branch.
            author: who merges; the repository's author if not given.
            message: why.
            trailers: further facts by name for the commit.
            resolutions: how to settle the conflict of each key: `ours` (as on the branch),
                `theirs`, `base` (as both started), `delete`, or `mnemosyne_vcs.value(...)`.
            strategy: how to settle all other conflicts: one of the words, or a function that is
                given the conflict and returns a resolution, or None to leave it. It is asked again
                if the branch moves meanwhile.
            fast_forward: if the branch has nothing of its own, move it to the revision and write
                no commit.
            allow_mixed_vectors: leave vectors of several dimensions or models side by side, where
                there were only such of one kind before; no search can compare them.
            expect: the commit that the branch must point at, such as the head of a plan.
            dry_run: write nothing and say what would happen.

        Returns:
            The merge commit; the head, if the branch has all of the revision already. With
            `dry_run` the plan.

        Raises:
            ConflictError: a conflict is not settled; its `conflicts` holds all of them.
            DimensionError: it would mix vectors so, and that is not allowed; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            NotFoundError: there is no such branch or revision.
            InvalidRevisionError: the revision is none.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the store failed, and the merge is not in it.
            ValidationError: a resolution is none, or is for a key that is no conflict.
        """
        wishes = merging.Wishes(
            author,
            message or f"merge {named(source)} into {into}",
            trailers or {},
            resolutions or {},
            strategy,
            fast_forward,
            allow_mixed_vectors,
            self._expected(expect),
        )
        theirs = self.resolve(source)
        if dry_run:
            return merging.plan(self._writer, theirs, into, wishes)
        self._check_writable()
        return merging.merge(self._writer, theirs, into, wishes)

    def reflog(self, branch: str = DEFAULT_BRANCH) -> Iterator[ReflogEntry]:
        """Where a branch has been, newest first; also of a branch that was deleted.

        Raises:
            EngineError: the engine keeps no reflog.
            ValidationError: the name is none for a branch.
        """
        if not isinstance(self._engine, HasReflog):
            raise EngineError(f"{self.url} keeps no reflog")
        return self._engine.reflog(branch_ref(branch))

    def _expected(self, expect: Revision | None) -> Commit | None:
        return None if expect is None else self.resolve(expect)

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"{self.url} was opened read-only; open it without read_only")

    def _create(self, ref: str, kind: str, name: str, at: Revision) -> Commit:
        self._check_writable()
        check_new_name(name, kind)
        commit, what = self.resolve(at), f"{kind} {name!r}"
        try:
            update = self._update(ref, None, commit.cid, f"create {what} at {named(at)}")
            write_upon(self.blocks, {}, update, [commit.cid])
        except RefConflictError:
            raise AlreadyExistsError(f"{self.url} has a {what} already") from None
        return commit

    def _delete(self, ref: str, what: str) -> None:
        self._check_writable()
        old = self._engine.ref(ref)
        if old is None:
            raise NotFoundError(f"there is no {what} in {self.url}")
        self._engine.write({}, self._update(ref, old, None, f"delete {what}"))

    def _update(self, ref: str, old: bytes | None, new: bytes | None, why: str) -> RefUpdate:
        return RefUpdate(ref, old, new, self.author, self._clock(), why)

"""The repository: opening a store, and the class `Repository`."""

from os import PathLike
from types import TracebackType
from typing import Literal, NoReturn, Self

from mnemosyne_vcs.embedding import Embed
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.format.validation import check_text
from mnemosyne_vcs.refs import initialise
from mnemosyne_vcs.repository.branches import _Branches
from mnemosyne_vcs.repository.files import _Files
from mnemosyne_vcs.repository.history import _History
from mnemosyne_vcs.repository.maintenance import _Maintenance
from mnemosyne_vcs.repository.reading import _Reading
from mnemosyne_vcs.repository.remotes import _Remotes
from mnemosyne_vcs.repository.trace import _Trace
from mnemosyne_vcs.repository.undo import _Undo
from mnemosyne_vcs.repository.vector_index import _VectorIndex
from mnemosyne_vcs.repository.writing import _Writing

__all__ = ["Durability", "Repository", "open_repository"]

Durability = Literal["full", "relaxed"]


def open_repository(
    url: str | PathLike[str],
    *,
    create: bool = False,
    author: str = "unknown",
    read_only: bool = False,
    durability: Durability = "full",
    embed: Embed | None = None,
    cache: bool = True,
) -> "Repository":
    """Open a repository.

    Args:
        url: a path or `sqlite:///path` (one file), `postgresql://…?repository=NAME` (a server),
            `s3://bucket/prefix` (an object store), `memory://` (gone when closed), or a URL of a
            scheme that `register_engine` or an installed distribution adds.
        create: create it if it does not exist.
        author: the author of commits that name no other.
        read_only: refuse every write.
        durability: `full`: an acknowledged commit survives power loss; `relaxed`: it survives the
            death of the process, and after power loss the newest may be missing.
        embed: turns a list of texts into vectors, so that text can be given wherever a vector is
            expected.
        cache: whether what searches of 1,000 records and more need is also kept in files, so that
            the first search of a process need not read every record: beside a SQLite file, in
            the directory of an object store's option `cache`, else nowhere. `read_only` does not
            concern them.

    Raises:
        NotFoundError: it does not exist, and `create` was not given.
        FormatVersionError: the store was written in a newer format.
        ReadOnlyError: it must be created or written, and cannot be.
        CorruptObjectError: the store is damaged, or must be created where an incomplete one is.
        EngineError: it is not a store, or cannot be read.
        ValidationError: the URL is of no known form, the path surely means something else (`~`,
            variables and quotes are not expanded or removed), or the author is not a string.

    Warns:
        NetworkFileSystemWarning: a file to be written lies on a network file system.
    """
    check_text(author, "author")
    engine = open_engine(url, create=create, read_only=read_only, durability=durability)
    repository = Repository(engine, author=author, embed=embed, cache=cache)
    if create and not read_only:
        initialise(engine)
    return repository


class Repository(
    _Reading,
    _Writing,
    _History,
    _Undo,
    _Trace,
    _Maintenance,
    _Files,
    _Remotes,
    _Branches,
    _VectorIndex,
):
    """Versioned memory. Safe for use by many threads, and by many processes at once.

    Normally made by `mnemosyne_vcs.open`. As a context manager it closes at the end of the block.

    Args:
        engine: the engine that stores the bytes.
        author: the author of commits that name no other.
        embed: turns a list of texts into vectors.
        clock: gives the time as UTC milliseconds.
        cache: whether what searches need is kept in files, where the engine has a place for them.

    Attributes:
        blocks: the objects, for code that works below the level of records.
    """

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

    def close(self) -> None:
        """Close files and connections and drop cached views. A later call opens them again."""
        self._views.clear()
        self._engine.close()

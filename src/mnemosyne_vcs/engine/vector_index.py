"""Optional capability of an engine: finding the vectors most similar to another one."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mnemosyne_vcs.ids import Id

__all__ = [
    "IndexesVectors",
    "VectorIndex",
    "VectorMatch",
    "VectorMove",
    "VectorPart",
    "VectorQuery",
    "VectorRow",
]


@dataclass(frozen=True, slots=True)
class VectorRow:
    """The row of one vector in an index of vectors.

    Attributes:
        key: the key of the record.
        name: the name of the vector.
        vector: the id of its block.
        direction: the vector divided by its norm, as little-endian float32; zeros for a zero
            vector. None if the index holds the row already.
    """

    key: str
    name: str
    vector: Id
    direction: bytes | None


@dataclass(frozen=True, slots=True)
class VectorPart:
    """A part of an update: the contents of an index for some keys afterwards.

    Attributes:
        keys: the keys.
        rows: the vectors of those that have any.
    """

    keys: Collection[str]
    rows: Collection[VectorRow]


@dataclass(frozen=True, slots=True)
class VectorMove:
    """The update of an index of vectors from one tree to another.

    Attributes:
        old: the root that it must be at.
        new: the root that it is at afterwards.
        parts: the changes, each key in one part.
    """

    old: Id
    new: Id
    parts: Iterable[VectorPart]


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An index of the vectors of one ref.

    Attributes:
        ref: the ref.
        root: the tree whose vectors it holds, which may differ from that of the ref's commit.
        head: the commit that the ref points at.
    """

    ref: str
    root: Id
    head: Id


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A search of an index of vectors.

    Attributes:
        name: the name of the vectors.
        direction: a vector divided by its norm, as little-endian float32; only vectors of the
            same dimension are found.
        limit: how many to find.
        prefix: what their keys start with.
        only: if given, the keys to search.
        but: keys to leave out.
    """

    name: str
    direction: bytes
    limit: int
    prefix: str = ""
    only: Collection[str] | None = None
    but: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class VectorMatch:
    """A vector that an index has found.

    Attributes:
        key: the key of the record.
        vector: the id of the vector's block.
        product: the inner product of its direction and the query's, summed up in single precision
            or better, in any order.
    """

    key: str
    vector: Id
    product: float


@runtime_checkable
class IndexesVectors(Protocol):
    """An engine that can index and search the vectors of refs.

    Indexes are derived, and can be rebuilt. An index is deleted with its ref. It holds the vectors
    of one known tree, and can be used for that tree even if the ref has moved.
    """

    def vector_indexes(self) -> list[VectorIndex]:
        """Every index, in order of ref."""
        ...

    def known_vector_root(self, ref: str) -> Id | None:
        """The root of the index of a ref when `ref` last read it or a write last moved it.

        None if there was no index. Another writer may have moved the index since.
        """
        ...

    def add_vector_index(self, ref: str, root: Id) -> None:
        """Begin to index the vectors of a ref, if they are not indexed yet.

        Args:
            ref: the ref.
            root: a tree without vectors, the first root of the index.

        Raises:
            NotFoundError: the ref does not exist.
            ReadOnlyError: the store was opened for reading.
            EngineError: the store cannot index vectors, or cannot be written.
        """
        ...

    def drop_vector_index(self, ref: str) -> bool:
        """Drop the index of the vectors of a ref; returns whether there was one.

        Raises:
            ReadOnlyError: the store was opened for reading.
            EngineError: the store cannot be written.
        """
        ...

    def move_vector_index(self, ref: str, move: VectorMove) -> bool:
        """Update an index to another tree, whole or not at all; its parts may read from the store.

        Returns:
            Whether it did; not if the index is at another root, or being updated already.

        Raises:
            ReadOnlyError: the store was opened for reading.
            BusyError: other writers held the store for longer than the busy timeout.
            EngineError: the store cannot be written.
        """
        ...

    def nearest_vectors(self, ref: str, root: Id, query: VectorQuery) -> list[VectorMatch] | None:
        """The vectors with the greatest products, greatest first.

        Returns:
            None if the index of the ref is not at the root, or cannot hold such vectors.

        Raises:
            EngineError: the store cannot be read.
        """
        ...

    def vector_dimensions(
        self, ref: str, root: Id, name: str, but: Collection[str] = ()
    ) -> list[int] | None:
        """The dimensions of the vectors of a name, ascending.

        Args:
            ref: the ref.
            root: the root that its index must be at.
            name: the name of the vectors.
            but: keys to leave out.

        Returns:
            None if the index of the ref is not at the root.

        Raises:
            EngineError: the store cannot be read.
        """
        ...

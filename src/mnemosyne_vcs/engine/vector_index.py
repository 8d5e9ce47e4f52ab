"""What an engine may do beyond keeping bytes: find the vectors that are most like another one."""

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
    """What an index of vectors holds of one vector.

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
    """A part of a move: what an index holds of some keys afterwards.

    Attributes:
        keys: the keys.
        rows: the vectors of those that have any.
    """

    keys: Collection[str]
    rows: Collection[VectorRow]


@dataclass(frozen=True, slots=True)
class VectorMove:
    """How an index of vectors comes from one tree to another.

    Attributes:
        old: the root at which it must stand.
        new: the root at which it then stands.
        parts: what changes, each key in one part.
    """

    old: Id
    new: Id
    parts: Iterable[VectorPart]


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An index of the vectors of one ref.

    Attributes:
        ref: the ref.
        root: the tree whose vectors it holds, be it that of the ref's commit or not.
        head: the commit that the ref points at.
    """

    ref: str
    root: Id
    head: Id


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """What to look for in an index of vectors.

    Attributes:
        name: the name of the vectors.
        direction: a vector divided by its norm, as little-endian float32; only vectors of the
            same dimension are found.
        limit: how many to find.
        prefix: what their keys start with.
        only: if given, the keys to look among.
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
    """An engine that can search the vectors of those refs for which it is asked to.

    Derived, and can be rebuilt. An index goes with its ref. It holds the vectors of one tree and
    knows which, so that it is of use for that tree wherever the ref has gone.
    """

    def vector_indexes(self) -> list[VectorIndex]:
        """Every index, in order of ref."""
        ...

    def known_vector_root(self, ref: str) -> Id | None:
        """Where the index of a ref was last seen, by `ref`, or left, by a write.

        None if there was none. Others may have moved it meanwhile.
        """
        ...

    def add_vector_index(self, ref: str, root: Id) -> None:
        """Begin to index the vectors of a ref, unless they are.

        Args:
            ref: the ref.
            root: a tree without vectors, at which the index stands first.

        Raises:
            NotFoundError: there is no such ref.
            ReadOnlyError: the store was opened for reading.
            EngineError: the store cannot do it, or cannot be written.
        """
        ...

    def drop_vector_index(self, ref: str) -> bool:
        """Index the vectors of a ref no more; whether they were.

        Raises:
            ReadOnlyError: the store was opened for reading.
            EngineError: the store cannot be written.
        """
        ...

    def move_vector_index(self, ref: str, move: VectorMove) -> bool:
        """Bring an index to another tree, whole or not at all; its parts may read from the store.

        Returns:
            Whether it did: not if the index is elsewhere, or on the move already.

        Raises:
            ReadOnlyError: the store was opened for reading.
            BusyError: other writers held the store for longer than the busy timeout.
            EngineError: the store cannot be written.
        """
        ...

    def nearest_vectors(self, ref: str, root: Id, query: VectorQuery) -> list[VectorMatch] | None:
        """The vectors with the greatest products, greatest first; all of them if they are fewer.

        Returns:
            None if the index of the ref is not at the root, or cannot hold such vectors.

        Raises:
            EngineError: the store cannot be read.
        """
        ...

    def vector_dimensions(
        self, ref: str, root: Id, name: str, but: Collection[str] = ()
    ) -> list[int] | None:
        """Which dimensions the vectors of a name have, ascending.

        Args:
            ref: the ref.
            root: where its index must stand.
            name: the name of the vectors.
            but: keys to leave out.

        Returns:
            None if the index of the ref is not at the root.

        Raises:
            EngineError: the store cannot be read.
        """
        ...

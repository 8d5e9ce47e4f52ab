"""Vectors that the server searches, with pgvector.

A row holds the direction of a vector, so that the similarity of two vectors is the inner product of
their rows, and neither huge nor tiny numbers can upset the server's single precision.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
from psycopg import errors as pg

from mnemosyne_vcs.engine.postgres.arrays import Bytes, Floats, Integers, Texts
from mnemosyne_vcs.engine.postgres.connection import Connection
from mnemosyne_vcs.engine.postgres.errors import engine_error
from mnemosyne_vcs.engine.postgres.statements import LOCK_SPACE, Statement
from mnemosyne_vcs.engine.vector_index import VectorMove, VectorPart, VectorQuery, VectorRow
from mnemosyne_vcs.errors import EngineError
from mnemosyne_vcs.ids import Id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ADD_INDEX",
    "DROP_INDEX",
    "LIST_INDEXES",
    "MAX_DIMENSION",
    "dimensions",
    "moving",
    "nearest",
    "prepare",
]

MAX_DIMENSION = 16_000
"""The most that pgvector holds. Longer vectors have rows without a direction."""

_MOST_ROWS = 2**62
LIST_INDEXES: LiteralString = """
SELECT ref, root, target FROM mnemosyne.vector_indexes AS index
JOIN mnemosyne.refs ON refs.repository = index.repository AND refs.name = index.ref
WHERE index.repository = %(repository)s ORDER BY ref
"""
ADD_INDEX: LiteralString = (
    "INSERT INTO mnemosyne.vector_indexes (repository, ref, root) "
    "VALUES (%(repository)s, %(ref)s, %(root)s) ON CONFLICT DO NOTHING"
)
DROP_INDEX: LiteralString = (
    "DELETE FROM mnemosyne.vector_indexes WHERE repository = %(repository)s AND ref = %(ref)s "
    "RETURNING 1"
)
_MOVE: LiteralString = (
    "mnemosyne.move_vectors(%(repository)s, %(ref)s, %(old_root)s, %(new_root)s, %(changed)s, "
    "%(kept_keys)s, %(kept_names)s, %(kept_vectors)s, "
    "%(row_keys)s, %(row_names)s, %(row_vectors)s, %(dimensions)s, %(directions)s)"
)
_IS_PREPARED: LiteralString = (
    "SELECT FROM pg_attribute WHERE attrelid = 'mnemosyne.vectors'::regclass "
    "AND attname = 'direction' AND NOT attisdropped"
)
_OF_INDEX: LiteralString = (
    "index.repository = %(repository)s AND index.ref = %(ref)s AND index.root = %(root)s"
)
_OF_NAME: LiteralString = (
    "repository = %(repository)s AND branch = ("
    "SELECT id FROM mnemosyne.vector_indexes WHERE repository = %(repository)s AND ref = %(ref)s"
    ") AND substring(name FOR 64) = substring(%(name)s FOR 64) AND name = %(name)s"
)
_WITH_PREFIX: LiteralString = " AND left(key, 256) ^@ left(%(prefix)s, 256) AND key ^@ %(prefix)s"
_ONLY: LiteralString = (
    " AND left(key, 256) = ANY ("
    "ARRAY(SELECT left(each, 256) FROM unnest(%(only)s::text[]) AS each))"
    " AND key = ANY (%(only)s::text[])"
)
_BUT: LiteralString = " AND key <> ALL (%(but)s::text[])"


def prepare(connection: Connection, url: str) -> None:
    """Bring the extension and the column of its type into the database, unless they are there.

    Args:
        connection: a connection in autocommit mode.
        url: the store, for messages.

    Raises:
        EngineError: the server does not have the extension, or the user may not bring it in.
        MnemosyneError: as `engine_error` gives.
    """
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", (LOCK_SPACE,))
            if connection.execute(_IS_PREPARED).fetchone() is None:
                connection.execute("SELECT mnemosyne.prepare_vectors()")
    except (pg.FeatureNotSupported, pg.UndefinedFile) as error:
        raise EngineError(
            f"{url} cannot index vectors: the server has no extension 'vector'; install pgvector "
            "there, or search without an index"
        ) from error
    except pg.InsufficientPrivilege as error:
        raise EngineError(
            f"{url} cannot index vectors: {error.diag.message_primary}; let the owner of the "
            "tables do it once, with the right to create in the database, or let a superuser run "
            "CREATE EXTENSION vector first"
        ) from error
    except pg.InvalidSchemaName as error:
        raise EngineError(
            f"{url} cannot index vectors: no schema of search_path exists for the extension; run "
            "CREATE EXTENSION vector SCHEMA public once"
        ) from error
    except psycopg.Error as error:
        raise engine_error(url, error) from error


def moving(repository: int, ref: str, move: VectorMove) -> Iterator[Statement]:
    """The function calls that make a move, each of which gives whether it did its part.

    The first moves the index; the others find it at its new root.
    """
    old = move.old
    for part in move.parts:
        yield _MOVE, {"repository": repository, **_moved(ref, old, move.new, part)}
        old = move.new


def nearest(ref: str, root: Id, query: VectorQuery) -> Statement:
    """The query for key, vector and product of the nearest vectors.

    It finds one row of nulls if there are no vectors, and no row if the index is not at the root.
    """
    filters = _filters(query.prefix, query.only, query.but)
    statement: LiteralString = (
        "SELECT found.* FROM mnemosyne.vector_indexes AS index LEFT JOIN ("
        "SELECT key, vector, mnemosyne.product(direction, %(direction)s) AS product "
        "FROM mnemosyne.vectors WHERE "
        + _OF_NAME
        + " AND dimension = %(dimension)s"
        + filters
        + " ORDER BY product DESC LIMIT %(limit)s) AS found ON true WHERE "
        + _OF_INDEX
        + " ORDER BY product DESC"
    )
    return statement, {
        "ref": ref.encode(),
        "root": root,
        "name": _any_name(query.name),
        "dimension": len(query.direction) // 4,
        "direction": Floats(_numbers(query.direction)),
        "limit": min(query.limit, _MOST_ROWS),
        "prefix": query.prefix,
        "only": Texts(list(query.only or ())),
        "but": Texts(list(query.but)),
    }


def dimensions(ref: str, root: Id, name: str, but: Collection[str]) -> Statement:
    """The query for the dimensions of the vectors of a name, from one to the next higher one.

    It finds a null after the last, and no row if the index is not at the root.
    """
    filters = _OF_NAME + _filters("", None, but)
    statement: LiteralString = (
        "WITH RECURSIVE each (dimension) AS ("
        "SELECT 0 FROM mnemosyne.vector_indexes AS index WHERE " + _OF_INDEX + " UNION ALL "
        "SELECT (SELECT dimension FROM mnemosyne.vectors AS next WHERE "
        + filters
        + " AND next.dimension > each.dimension ORDER BY next.dimension LIMIT 1) "
        "FROM each WHERE each.dimension IS NOT NULL"
        ") SELECT dimension FROM each"
    )
    values = {"ref": ref.encode(), "root": root, "name": _any_name(name), "but": Texts(list(but))}
    return statement, values


def _moved(ref: str, old: Id, new: Id, part: VectorPart) -> Mapping[str, Any]:
    kept = [row for row in part.rows if row.direction is None]
    rows = [row for row in part.rows if row.direction is not None]
    dimensions, directions = _matrix([row.direction or b"" for row in rows])
    return {
        "ref": ref.encode(),
        "old_root": old,
        "new_root": new,
        "changed": Texts(list(part.keys)),
        **_columns("kept", kept),
        **_columns("row", rows),
        "dimensions": Integers(dimensions),
        "directions": directions,
    }


def _filters(prefix: str, only: Collection[str] | None, but: Collection[str]) -> LiteralString:
    return (
        (_WITH_PREFIX if prefix else "") + ("" if only is None else _ONLY) + (_BUT if but else "")
    )


def _any_name(name: str) -> bytes:
    """A name as it is stored; one that no vector can have becomes one that no vector has."""
    return name.encode(errors="surrogatepass")


def _columns(what: str, rows: list[VectorRow]) -> dict[str, Any]:
    return {
        f"{what}_keys": Texts([row.key for row in rows]),
        f"{what}_names": Bytes([row.name.encode() for row in rows]),
        f"{what}_vectors": Bytes([row.vector for row in rows]),
    }


def _matrix(directions: list[bytes]) -> tuple[list[int], Floats]:
    """How long each direction is, and all of them in lines of one length.

    Short ones end in zeros; those that pgvector does not hold are zeros only.
    """
    import numpy as np

    dimensions = [len(direction) // 4 for direction in directions]
    width = max((each for each in dimensions if each <= MAX_DIMENSION), default=1)
    lines = np.zeros((len(directions), width), np.float32)
    for line, dimension, direction in zip(lines, dimensions, directions, strict=True):
        if dimension <= MAX_DIMENSION:
            line[:dimension] = _numbers(direction)
    return dimensions, Floats(lines)


def _numbers(floats: bytes) -> "NDArray[np.float32]":
    import numpy as np

    return np.frombuffer(floats, "<f4")

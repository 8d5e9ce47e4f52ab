"""The objects of a SQLite store: reading, writing and deleting them, whole or as differences."""

# pyright: reportUnknownMemberType=false
# (apsw describes its arguments with collections.abc.Buffer, which Python 3.11 does not have)

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, cast

import apsw

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.engine.sqlite.chains import Chains, Row
from mnemosyne_vcs.engine.sqlite.differences import is_sound
from mnemosyne_vcs.engine.sqlite.statements import has_differences, rows
from mnemosyne_vcs.format.objects import check_id
from mnemosyne_vcs.ids import Id

__all__ = [
    "delete_objects",
    "get_objects",
    "get_sizes",
    "put_objects",
    "repack_objects",
]


def get_objects(connection: apsw.Connection, ids: tuple[Id, ...]) -> dict[Id, bytes]:
    """The bytes of the objects that exist. One whose base is damaged is given as it is stored."""
    found: dict[Id, bytes] = {}
    packed: list[Id] = []
    for batch in batches(ids):
        for block, data, base in _select(connection, "id, data, base", "id, data, NULL", batch):
            if base is None:
                found[block] = data
            else:
                packed.append(block)
    for batch in batches(packed):
        chains = Chains(connection)
        chains.load(batch)
        found.update(chains.found(batch))
    return found


def get_sizes(connection: apsw.Connection, ids: tuple[Id, ...]) -> dict[Id, int]:
    """The sizes of the objects that exist; SQLite does not read their bytes for that."""
    now, before = "id, coalesce(size, length(data))", "id, length(data)"
    return {
        block: size
        for batch in batches(ids)
        for block, size in _select(connection, now, before, batch)
    }


def _select(
    connection: apsw.Connection, what: str, before: str, ids: list[Id]
) -> Iterable[tuple[Any, ...]]:
    """What is asked of the objects that exist.

    Args:
        connection: the store.
        what: the columns.
        before: the columns for a store of the first format.
        ids: not more than a batch.
    """
    size = 1 << (len(ids) - 1).bit_length()
    values = ids + [None] * (size - len(ids))
    try:
        return cast("Iterator[tuple[Any, ...]]", connection.execute(_query(what, size), values))
    except apsw.SQLError:
        found = rows(connection, _query(before, size), *values)
    if has_differences(connection):  # another process has just made the columns
        return rows(connection, _query(what, size), *values)
    return found


@cache
def _query(what: str, size: int) -> str:
    places = ", ".join("?" * size)
    return f"SELECT {what} FROM objects WHERE id IN ({places})"


def put_objects(connection: apsw.Connection, objects: Mapping[Id, bytes]) -> None:
    """Store objects; existing ones are not changed."""
    sql = "INSERT INTO objects (id, data) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"
    connection.executemany(sql, objects.items())


def delete_objects(connection: apsw.Connection, ids: Collection[Id]) -> None:
    """Remove objects, and commits among them from the history index.

    Raises:
        CorruptObjectError: an object that stays is a difference to one of them, and damaged.
    """
    _detach(connection, ids)
    each = [(block,) for block in ids]
    connection.executemany("DELETE FROM objects WHERE id = ?", each)
    connection.executemany("DELETE FROM commits WHERE id = ?", each)
    connection.execute("DELETE FROM touched WHERE n NOT IN (SELECT n FROM commits)")


def _detach(connection: apsw.Connection, ids: Collection[Id]) -> None:
    """Store the objects that stay, and whose base goes, without it."""
    gone: dict[int, int | None] = {
        n: base
        for batch in batches(ids)
        for n, base in _select(connection, "n, base", "n, NULL", batch)
    }
    if not gone:
        return
    dependants = [
        block
        for n, block, base in connection.execute(
            "SELECT n, id, base FROM objects WHERE base IS NOT NULL"
        )
        if base in gone and n not in gone
    ]
    heirs: dict[int, Id] = {}
    for batch in batches(dependants):
        _store_without(connection, gone, heirs, batch)


def _store_without(
    connection: apsw.Connection, gone: Mapping[int, int | None], heirs: dict[int, Id], ids: list[Id]
) -> None:
    """Store objects as differences to a base that stays; if none does, one whole for the others.

    Args:
        connection: the store.
        gone: the rows that go, with their bases.
        heirs: by each whole row that goes, the object that is stored whole in its place; the result
            is added.
        ids: the objects, whose bases go.

    Raises:
        CorruptObjectError: one of them is damaged.
    """
    chains = Chains(connection)
    chains.load(ids)
    for row in [row for block in ids if (row := chains.row(block))]:
        data = chains.bytes_of(row.n)
        check_id(row.id, row.data if data is None else data)
        top, above = _first_kept(gone, cast("int", row.base))
        if above is None and top in heirs:
            chains.load([heirs[top]])
            above = cast("Row", chains.row(heirs[top])).n
        chains.rebase(row, cast("bytes", data), above)
        heirs.setdefault(top, row.id)


def _first_kept(gone: Mapping[int, int | None], n: int) -> tuple[int, int | None]:
    """The last row that goes on the way up from one that does, and the one above it."""
    above = gone[n]
    while above is not None and above in gone:
        n, above = above, gone[above]
    return n, above


def repack_objects(connection: apsw.Connection, replaced: Mapping[Id, Id]) -> None:
    """Store objects that are whole as differences.

    An object that is the base of another stays whole, so that no chain of bases grows.

    Args:
        connection: the store, in a transaction for writing.
        replaced: the object that each replaced, oldest first.
    """
    sql = "SELECT base FROM objects WHERE base IS NOT NULL"
    bases: set[int] = {base for (base,) in rows(connection, sql)}
    chains = Chains(connection)
    for batch in batches({*replaced, *replaced.values()}):
        chains.load(batch)
    for block, before in replaced.items():
        row = chains.row(block)
        if row is None or row.base is not None or row.n in bases or not is_sound(block, row.data):
            continue
        if packed := chains.packed(row.data, before, row.n):
            chains.change(row, packed)
            bases.add(packed.base)

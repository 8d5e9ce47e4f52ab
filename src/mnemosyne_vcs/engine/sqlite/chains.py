"""Rows of the table of objects, with the bases that they need."""

# pyright: reportUnknownMemberType=false
# (apsw describes its arguments with collections.abc.Buffer, which Python 3.11 does not have)

from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple, cast

import apsw

from mnemosyne_vcs.engine.sqlite.differences import (
    VERSIONS,
    base_place,
    difference,
    is_sound,
    whole,
)
from mnemosyne_vcs.ids import Id

__all__ = ["Chains", "Packed", "Row"]

_CHANGE = "UPDATE objects SET data = ?, base = ?, place = ?, size = ? WHERE n = ?"


@cache
def _query(size: int) -> str:
    places = ", ".join("?" * size)
    return (
        f"WITH RECURSIVE chain (n, base) AS (SELECT n, base FROM objects WHERE id IN ({places}) "
        "UNION SELECT o.n, o.base FROM chain CROSS JOIN objects AS o ON o.n = chain.base) "
        "SELECT o.n, o.id, o.data, o.base, o.place, o.size "
        "FROM chain CROSS JOIN objects AS o ON o.n = chain.n"
    )


class Row(NamedTuple):
    """A row of the table of objects: `place` and `size` are None if `base` is."""

    n: int
    id: Id
    data: bytes
    base: int | None
    place: int | None
    size: int | None


class Packed(NamedTuple):
    """An object as a difference."""

    data: bytes
    base: int
    place: int
    size: int


class Chains:
    """Objects with the bases that they need.

    Args:
        connection: the store.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._rows: dict[int, Row] = {}
        self._numbers: dict[Id, int] = {}
        self._known: dict[int, bytes] = {}

    def load(self, ids: Collection[Id]) -> None:
        """Read objects, not more than a batch, and their bases, as of one moment."""
        if not ids:
            return
        size = 1 << (len(ids) - 1).bit_length()
        values = [*ids, *[None] * (size - len(ids))]
        for each in self._connection.execute(_query(size), values):
            row = Row._make(cast("tuple[Any, ...]", each))
            self._rows[row.n] = row
            self._numbers[row.id] = row.n

    def row(self, block: Id) -> Row | None:
        """The row of an object that was loaded; None if it does not exist."""
        n = self._numbers.get(block)
        return None if n is None else self._rows[n]

    def chain_of(self, n: int) -> list[Row]:
        """A row, its base, the base of that, and so on."""
        found: list[Row] = []
        while (row := self._rows.get(n)) is not None and row not in found:
            found.append(row)
            n = row.base or 0
        return found

    def found(self, ids: Iterable[Id]) -> Iterator[tuple[Id, bytes]]:
        """The objects that exist and their bytes; as they are stored if that is damaged."""
        for block in ids:
            if (row := self.row(block)) is not None:
                data = self.bytes_of(row.n)
                yield block, row.data if data is None else data

    def bytes_of(self, n: int) -> bytes | None:
        """The bytes of an object; None if the difference or a base cannot be read."""
        path: list[Row] = []
        while n not in self._known:
            row = self._rows.get(n)
            if row is None or row in path:
                return None
            if row.base is None:
                self._known[n] = row.data
                break
            path.append(row)
            n = row.base
        data: bytes | None = self._known[n]
        for row in reversed(path):
            data = whole(data, row.data, row.size or 0)
            if data is None:
                return None
            self._known[row.n] = data
        return data

    def packed(self, data: bytes, replaced: Id, n: int = 0) -> Packed | None:
        """An object as a difference; None if it is better stored whole.

        Args:
            data: its bytes.
            replaced: the object before it, which was loaded if it exists.
            n: its row, if it has one already; it will not be its own base.
        """
        row = self.row(replaced)
        if row is None or (place := (row.place or 0) + 1) == VERSIONS:
            return None
        wanted, chain = base_place(place - 1), self.chain_of(row.n)
        base = next((each for each in chain if (each.place or 0) <= wanted), row)
        plain = self.bytes_of(base.n)
        if plain is None or not is_sound(base.id, plain) or any(each.n == n for each in chain):
            return None
        packed = difference(plain, data)
        return None if packed is None else Packed(packed, base.n, place, len(data))

    def rebase(self, row: Row, data: bytes, n: int | None) -> None:
        """Store an object as its difference to another one that was loaded, or whole."""
        base = None if n is None else self.bytes_of(n)
        packed = None if base is None else difference(base, data)
        if n is None or packed is None:
            self.change(row, data)
        else:
            self.change(row, Packed(packed, n, row.place or 0, len(data)))

    def change(self, row: Row, stored: Packed | bytes) -> None:
        """Store an object in another way."""
        values = stored if isinstance(stored, Packed) else (stored, None, None, None)
        self._connection.execute(_CHANGE, (*values, row.n))
        self._rows[row.n] = Row(row.n, row.id, *values)

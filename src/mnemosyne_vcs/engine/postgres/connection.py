"""One connection, on which the statements that are sent most often cost no more than they must.

They go through libpq as they are, and where the session is this connection's own, they are prepared
there.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, LiteralString, TypeAlias

import psycopg
from psycopg import errors as pg
from psycopg import generators
from psycopg.pq import Format

from mnemosyne_vcs.engine.postgres.arrays import Array

__all__ = ["TRUE", "Connection"]

_Values = tuple[Sequence[bytes | None], Sequence[Format]]
_Question = tuple[bytes, Sequence[bytes | None], Sequence[Format]]
_NOT_OURS = pg.InvalidSqlStatementName, pg.DuplicatePreparedStatement
"""What the server says to prepared statements if the session is not the connection's own."""
TRUE = b"\1"
Rows: TypeAlias = list[tuple[Any, ...]]
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_USED = re.compile(rb"mnemosyne\.\w+")


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection in autocommit mode.

    Attributes:
        has_session: whether all that is sent comes to one session of the server, which nobody else
            uses, so that statements can be prepared in it.
    """

    has_session = False
    _names: frozenset[bytes] = frozenset()

    def look_for_pooler(self) -> None:
        """Find out whether a pooler stands between, which gives each transaction any session.

        The process that a pooler names when it greets is not the one that answers.
        """
        (answering,) = self.execute("SELECT pg_backend_pid()").fetchall()[0]
        self.has_session = answering == self.info.backend_pid

    def ask(self, query: LiteralString, values: Mapping[str, Any]) -> Rows:
        """What one statement finds, which is a transaction by itself: its values in binary.

        Args:
            query: the statement, which itself says what types its values are of.
            values: what it names: bytes, texts, numbers, truth values and arrays.

        Raises:
            psycopg.Error: as the server answers; the statement did nothing.
        """
        sql, names = _numbered(query)
        question = sql, *_parameters([values[name] for name in names])
        if self.has_session:
            try:
                self._send_prepared(question)
                return self._answer()
            except _NOT_OURS:
                self.has_session = False
        self._send(question)
        return self._answer()

    def _send(self, question: _Question) -> None:
        sql, data, formats = question
        self.pgconn.send_query_params(sql, data, None, formats, Format.BINARY)
        self.pgconn.flush()

    def _send_prepared(self, question: _Question) -> None:
        sql, data, formats = question
        name = _name(sql)
        if name not in self._names:
            self.pgconn.send_prepare(name, sql)
            self._answer()
            self._names |= {name}
        self.pgconn.send_query_prepared(name, data, formats, Format.BINARY)
        self.pgconn.flush()

    def _answer(self) -> Rows:
        """What the server says to what was sent last."""
        result = self.wait(generators.execute(self.pgconn))[-1]
        if result.error_message:
            raise pg.error_from_result(result)
        value, columns = result.get_value, range(result.nfields)
        return [tuple([value(row, column) for column in columns]) for row in range(result.ntuples)]


@lru_cache
def _numbered(query: LiteralString) -> tuple[bytes, tuple[str, ...]]:
    """A statement as the server takes it, and the names of its values in order."""
    names = tuple(dict.fromkeys(_PLACEHOLDER.findall(query)))
    sql = _PLACEHOLDER.sub(lambda found: f"${names.index(found[1]) + 1}", query)
    return sql.encode(), names


@lru_cache
def _name(sql: bytes) -> bytes:
    """One name for one statement, whoever prepares it: what it uses, and a part of its hash."""
    used = b"+".join(dict.fromkeys(_USED.findall(sql)))
    return b"%b-%b" % (used[:40], sha256(sql).hexdigest()[:16].encode())


def _parameters(values: Sequence[Any]) -> _Values:
    data: list[bytes | None] = []
    formats: list[Format] = []
    for value in values:
        match value:
            case bytes() | None:
                data.append(value)
                formats.append(Format.BINARY)
            case Array():
                data.append(value.dump())
                formats.append(Format.BINARY)
            case _:
                data.append(str(value).encode())
                formats.append(Format.TEXT)
    return data, formats

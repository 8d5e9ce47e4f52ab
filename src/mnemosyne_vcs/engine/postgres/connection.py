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
from psycopg.pq import Format, PipelineStatus, TransactionStatus

from mnemosyne_vcs.engine.postgres.arrays import Array

__all__ = ["TRUE", "Connection"]

_Values = tuple[Sequence[bytes | None], Sequence[Format]]
_Question = tuple[bytes, Sequence[bytes | None], Sequence[Format]]
_NOT_OURS = pg.InvalidSqlStatementName, pg.DuplicatePreparedStatement
"""What the server says to prepared statements if the session is not the connection's own."""
TRUE = b"\1"
Rows: TypeAlias = list[tuple[Any, ...]]
_SETTLE: LiteralString = """
SELECT pg_backend_pid() = %(greeted)s, current_setting('default_transaction_isolation'),
set_config('default_transaction_isolation', 'read committed', pg_backend_pid() <> %(greeted)s)
"""
"""Sets it for the session if that is the connection's own, else until the end of the statement."""

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_USED = re.compile(rb"mnemosyne\.\w+")


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection in autocommit mode.

    Attributes:
        has_session: whether all that is sent comes to one session of the server, which nobody else
            uses, so that statements can be prepared in it.
        is_pinned: whether a transaction is READ COMMITTED unless it says otherwise, as writers need
            to take turns. The database or the user may have another default.
        used: when it was lent last, by `time.monotonic`.
    """

    has_session = False
    is_pinned = False
    used = 0.0
    _names: frozenset[bytes] = frozenset()

    @property
    def is_idle(self) -> bool:
        """Whether it stands, and nothing is under way on it."""
        idle = self.pgconn.transaction_status == TransactionStatus.IDLE
        return idle and self.pgconn.pipeline_status == PipelineStatus.OFF

    def settle(self) -> None:
        """Find out whether a pooler stands between, which gives each transaction any session.

        The process that a pooler names when it greets is not the one that answers. Without one,
        the isolation of transactions is set for the session.

        Raises:
            psycopg.Error: as the server answers.
        """
        found = self.execute(_SETTLE, {"greeted": self.info.backend_pid}).fetchall()
        self.has_session, isolation, _ = found[0]
        self.is_pinned = self.has_session or isolation == "read committed"

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

"""One connection to a PostgreSQL server."""

from typing import Any, LiteralString

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus

__all__ = ["Connection"]

_SETTLE: LiteralString = """
SELECT pg_backend_pid() = %(greeted)s, current_setting('default_transaction_isolation'),
set_config('default_transaction_isolation', 'read committed', pg_backend_pid() <> %(greeted)s)
"""
"""Sets it for the session if that is the connection's own, else until the end of the statement."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection in autocommit mode.

    Attributes:
        is_pinned: whether a transaction is READ COMMITTED unless it says otherwise, as writers need
            to take turns. The database or the user may have another default.
        used: when it was lent last, by `time.monotonic`.
    """

    is_pinned = False
    used = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether it stands, and nothing is under way on it."""
        idle = self.pgconn.transaction_status == TransactionStatus.IDLE
        return idle and self.pgconn.pipeline_status == PipelineStatus.OFF

    def settle(self) -> None:
        """Find out whether a pooler stands between, which gives each transaction any session.

        The process that a pooler names when it greets is not the one that answers. Without one,
        the isolation of transactions is set for the session, and statements can be prepared in it.

        Raises:
            psycopg.Error: as the server answers.
        """
        found = self.execute(_SETTLE, {"greeted": self.info.backend_pid}).fetchall()
        is_alone, isolation, _ = found[0]
        self.is_pinned = is_alone or isolation == "read committed"
        if not is_alone:
            self.prepare_threshold = None

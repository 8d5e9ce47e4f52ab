"""Errors of a PostgreSQL server, as errors that say what to do."""

import psycopg
from psycopg import errors as pg

from mnemosyne_vcs.errors import (
    BusyError,
    CorruptObjectError,
    EngineError,
    MnemosyneError,
    NotFoundError,
    ReadOnlyError,
    ValidationError,
)

__all__ = ["connection_error", "engine_error", "is_passing"]

_Kinds = tuple[type[psycopg.Error], ...]

_OF_STATEMENTS: list[tuple[_Kinds, type[MnemosyneError], str]] = [
    (
        (
            pg.LockNotAvailable,
            pg.DeadlockDetected,
            pg.SerializationFailure,
            pg.TooManyConnections,
        ),
        BusyError,
        "it is busy; try again",
    ),
    (
        (pg.QueryCanceled,),
        BusyError,
        "it is busy, or slower than statement_timeout allows; try again, or raise that setting for "
        "this user",
    ),
    (
        (pg.IdleInTransactionSessionTimeout,),
        EngineError,
        "the transaction stood still for longer than idle_in_transaction_session_timeout allows; "
        "try again, or raise that setting for this user",
    ),
    (
        (pg.TransactionTimeout,),
        EngineError,
        "the transaction took longer than transaction_timeout allows; try again, or raise that "
        "setting for this user",
    ),
    (
        (pg.ReadOnlySqlTransaction,),
        ReadOnlyError,
        "this is a standby, or set to read-only; name the primary, or several hosts with "
        "target_session_attrs=read-write",
    ),
    (
        (pg.InsufficientPrivilege,),
        ReadOnlyError,
        "ask for that right, or open it with read_only=True",
    ),
    (
        (pg.UndefinedTable, pg.InvalidSchemaName, pg.UndefinedColumn),
        NotFoundError,
        "the tables are gone; restore the schema 'mnemosyne' from a backup",
    ),
    (
        (pg.DataCorrupted, pg.IndexCorrupted),
        CorruptObjectError,
        "it is damaged; restore it from a backup",
    ),
    (
        (psycopg.OperationalError, psycopg.InterfaceError),
        EngineError,
        "the server or the connection to it failed; try again",
    ),
]
_REFUSED = ("password", "authentication", "no pg_hba.conf entry", "role ")
_UNENCRYPTED = ("SSL", "certificate")
_FULL = ("too many clients", "too many connections", "remaining connection slots")


def engine_error(url: str, error: psycopg.Error) -> MnemosyneError:
    """The error for a statement that failed.

    Args:
        url: the store, without a password.
        error: what psycopg raised.
    """
    for kinds, kind, advice in _OF_STATEMENTS:
        if isinstance(error, kinds):
            return kind(f"{url}: {_said(error)}: {advice}")
    return EngineError(f"{url}: {_said(error)}")


def connection_error(url: str, error: psycopg.Error) -> MnemosyneError:
    """The error for a connection that could not be made; arguments as in `engine_error`.

    Until a connection stands, libpq gives no error codes, so that this goes by the words of the
    server; in another language than English the message is the general one.
    """
    said = _said(error)
    if any(words in said for words in _FULL):
        return BusyError(f"{url} takes no more connections now: {said}; try again")
    if "invalid" in said and "value" in said:
        return ValidationError(
            f"{url!r} is not a valid PostgreSQL URL: {said}; correct that part of it"
        )
    if "database" in said and "does not exist" in said:
        return NotFoundError(f"{url}: {said}; make the database with createdb, or correct the URL")
    if any(words in said for words in _REFUSED):
        return EngineError(
            f"{url} refused to let this user in: {said}; check the user, and the password in the "
            "URL, PGPASSWORD or the password file"
        )
    if any(words in said for words in _UNENCRYPTED):
        return EngineError(
            f"{url} gives no connection that is encrypted as asked: {said}; check sslmode and the "
            "certificates"
        )
    return EngineError(f"{url} cannot be reached: {said}; check host and port, or try again")


def is_passing(error: MnemosyneError) -> bool:
    """Whether a connection that could not be made may be made soon: the server is away, or full."""
    return isinstance(error, BusyError) or (
        type(error) is EngineError and "cannot be reached" in error.message
    )


def _said(error: psycopg.Error) -> str:
    primary = error.diag.message_primary or str(error) or type(error).__name__
    return " ".join(primary.removeprefix("connection failed: ").split())

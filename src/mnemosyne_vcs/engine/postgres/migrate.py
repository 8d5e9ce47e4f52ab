"""The tables of a PostgreSQL store, made and brought up to date by numbered SQL files."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import LiteralString, cast

from mnemosyne_vcs.engine.postgres.connection import Connection
from mnemosyne_vcs.engine.postgres.statements import LOCK_SPACE
from mnemosyne_vcs.errors import EngineError, FormatVersionError, NotFoundError, ReadOnlyError

__all__ = ["migrate", "migrations", "require_repository"]


@cache
def migrations() -> Sequence[tuple[str, LiteralString]]:
    """Name and SQL of every migration, oldest first; the place in this order is its number."""
    found = files("mnemosyne_vcs.engine.postgres").joinpath("migrations").iterdir()
    return [
        (file.name.removesuffix(".sql"), cast(LiteralString, file.read_text("utf-8")))
        for file in sorted(found, key=lambda file: file.name)
        if file.name.endswith(".sql")
    ]


def require_repository(
    connection: Connection, url: str, name: str, *, create: bool, read_only: bool
) -> int:
    """The number of a repository, once the tables are of this version.

    Args:
        connection: a connection in autocommit mode.
        url: the store, for messages.
        name: the repository.
        create: make what is missing.
        read_only: change nothing.

    Raises:
        NotFoundError: the tables or the repository are missing, and `create` was not given.
        FormatVersionError: the tables are of a newer version, or of an older one that cannot be
            brought up to date by a reader.
        ReadOnlyError: the server accepts no writes, and `read_only` was not given.
        EngineError: the database cannot hold a store.
    """
    _require_server(connection, url, read_only=read_only)
    present, newest = _version(connection), len(migrations())
    if present > newest:
        raise FormatVersionError(
            f"{url} has tables of version {present}; this program knows {newest}: upgrade Mnemosyne"
        )
    if present == 0 and (read_only or not create):
        raise NotFoundError(
            f"there is no store at {url}: the database has no schema 'mnemosyne' with its tables; "
            "make them with create=True or `mnem init`"
        )
    if present < newest:
        if read_only:
            raise FormatVersionError(
                f"{url} has tables of version {present}, older than {newest}; open it for writing "
                "once, which brings them up to date"
            )
        migrate(connection, newest)
    if create and not read_only:
        connection.execute(
            "INSERT INTO mnemosyne.repositories (name) SELECT %(name)s WHERE NOT EXISTS "
            "(SELECT FROM mnemosyne.repositories WHERE name = %(name)s) ON CONFLICT DO NOTHING",
            {"name": name},
        )
    found = connection.execute(
        "SELECT id FROM mnemosyne.repositories WHERE name = %s", (name,)
    ).fetchone()
    if found is None:
        raise NotFoundError(
            f"there is no repository {name!r} at {url}; make it with create=True or `mnem init`"
        )
    return found[0]


def migrate(connection: Connection, version: int) -> None:
    """Bring the tables up to a version, each migration whole or not at all.

    Args:
        connection: a connection in autocommit mode, whose user may make tables.
        version: the version to stop at; tables that are newer stay as they are.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", (LOCK_SPACE,))
        if not _has(connection, "SELECT FROM pg_namespace WHERE nspname = 'mnemosyne'"):
            connection.execute("CREATE SCHEMA mnemosyne")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS mnemosyne.migrations "
            "(number integer PRIMARY KEY, name text NOT NULL)"
        )
        for number in range(_version(connection) + 1, version + 1):
            name, sql = migrations()[number - 1]
            connection.execute(sql)
            connection.execute("INSERT INTO mnemosyne.migrations VALUES (%s, %s)", (number, name))


def _version(connection: Connection) -> int:
    if not _has(connection, "SELECT 1 WHERE to_regclass('mnemosyne.migrations') IS NOT NULL"):
        return 0
    found = connection.execute("SELECT coalesce(max(number), 0) FROM mnemosyne.migrations")
    return found.fetchall()[0][0]


def _has(connection: Connection, sql: LiteralString) -> bool:
    return connection.execute(sql).fetchone() is not None


def _require_server(connection: Connection, url: str, *, read_only: bool) -> None:
    asked = "SELECT current_setting('server_encoding'), current_setting('transaction_read_only')"
    encoding, refuses_writes = connection.execute(asked).fetchall()[0]
    if encoding != "UTF8":
        raise EngineError(
            f"the database of {url} is encoded in {encoding}, which cannot hold every key; "
            "make one with createdb --encoding=UTF8 --template=template0"
        )
    if refuses_writes == "on" and not read_only:
        raise ReadOnlyError(
            f"{url} is served by a standby, or by a server that is set to read-only; name the "
            "primary, or several hosts with target_session_attrs=read-write, or open it with "
            "read_only=True"
        )

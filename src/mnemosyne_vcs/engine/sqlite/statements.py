"""The tables of a SQLite store, and the statements on them."""

# pyright: reportUnknownMemberType=false
# (apsw describes its arguments with collections.abc.Buffer, which Python 3.11 does not have)

import json
import os
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, cast

import apsw

from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.engine.sqlite.log import new_cookie
from mnemosyne_vcs.ids import Id

__all__ = [
    "FIRST_FORMAT",
    "FORMAT",
    "SCHEMA",
    "add_index",
    "allow_deletion",
    "begin_log",
    "copy_into",
    "get_commits_of_fact",
    "get_commits_without_facts",
    "get_index",
    "get_ref",
    "get_refs",
    "get_settings",
    "get_values_of_facts",
    "has_differences",
    "has_facts",
    "make_distinct",
    "mark_log",
    "move_ref",
    "put_facts",
    "put_setting",
    "rows",
    "upgrade",
]

FORMAT = 2
FIRST_FORMAT = 1
"""The oldest format that can be read; the first write makes a store of it one of `FORMAT`."""
SCHEMA = """
CREATE TABLE objects (
    n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, data BLOB NOT NULL,
    base INTEGER, place INTEGER, size INTEGER
) STRICT;
CREATE TRIGGER keep_bases BEFORE DELETE ON objects BEGIN SELECT mnemosyne_keeps_bases(); END;
CREATE TABLE refs (name TEXT PRIMARY KEY, target BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE reflog (
    n INTEGER PRIMARY KEY, name TEXT NOT NULL, old BLOB, new BLOB,
    who TEXT NOT NULL, at INTEGER NOT NULL, why TEXT NOT NULL
) STRICT;
CREATE INDEX reflog_of_name ON reflog (name);
CREATE TABLE commits (
    n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, made_by TEXT NOT NULL, facts TEXT
) STRICT;
CREATE INDEX commits_of_transaction ON commits (made_by);
CREATE TABLE touched (
    key TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (key, n)
) STRICT, WITHOUT ROWID;
"""

UPGRADE = """
ALTER TABLE objects ADD COLUMN base INTEGER;
ALTER TABLE objects ADD COLUMN place INTEGER;
ALTER TABLE objects ADD COLUMN size INTEGER;
CREATE TRIGGER keep_bases BEFORE DELETE ON objects BEGIN SELECT mnemosyne_keeps_bases(); END;
"""
FACTS = "ALTER TABLE commits ADD COLUMN facts TEXT"
"""Done with the first facts of a store that was made without."""

SETTINGS = """
CREATE TABLE IF NOT EXISTS settings (
    name TEXT PRIMARY KEY, value TEXT NOT NULL
) STRICT, WITHOUT ROWID
"""
"""Made with the first setting: a store without this table has none."""


def rows(connection: apsw.Connection, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return cast(list[tuple[Any, ...]], connection.execute(sql, values).fetchall())


def copy_into(connection: apsw.Connection, path: str) -> None:
    """Write what a connection sees into a file of its own, in place of what is there."""
    os.truncate(path, 0)
    connection.execute("VACUUM INTO ?", (path,))


def make_distinct(path: str) -> None:
    """Give a copy of a file a schema cookie of its own, so that no other file's log passes for its.

    Args:
        path: the copy, which nobody else has open, outside of write-ahead logging.
    """
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.pragma("schema_version", new_cookie())
    finally:
        connection.close()


def begin_log(connection: apsw.Connection) -> None:
    """Have the change counter grow if the next transaction begins the log anew.

    A connection counts on from page 1 as it has read it, and not as it has written it.
    """
    if is_moved(connection) is not False:
        connection.execute("PRAGMA shrink_memory")


def is_moved(connection: apsw.Connection) -> bool | None:
    """Whether all of the log is in the file; None while another process ends a commit."""
    try:
        logged, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    except apsw.BusyError:  # SQLite does not wait here, whatever the busy timeout
        return None
    return logged == moved


def allow_deletion(connection: apsw.Connection) -> None:
    """Give a connection the function that lets it delete objects.

    A program that does not know of differences lacks it, also if it had the file open before.
    """
    connection.create_scalar_function("mnemosyne_keeps_bases", _keeps_bases, 0)


def _keeps_bases(*_: object) -> bool:
    return True


def upgrade(connection: apsw.Connection) -> None:
    """Make a store of an older format one of `FORMAT`, inside a transaction for writing.

    A program of an older version that had the store open before may mark it as its own again.
    """
    if rows(connection, "PRAGMA user_version") == [(FORMAT,)]:
        return
    if not has_differences(connection):
        connection.execute(UPGRADE)
    connection.pragma("user_version", FORMAT)


def has_differences(connection: apsw.Connection) -> bool:
    """Whether the file can hold objects as differences, as all but the first format can."""
    return bool(rows(connection, "SELECT 1 FROM pragma_table_info('objects') WHERE name = 'base'"))


def mark_log(connection: apsw.Connection) -> None:
    """Have a transaction write page 1, by which a log is told from that of another file."""
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def get_ref(connection: apsw.Connection, name: str) -> Id | None:
    """Where a ref points."""
    found = rows(connection, "SELECT target FROM refs WHERE name = ?", name)
    return found[0][0] if found else None


def get_refs(connection: apsw.Connection, prefix: str) -> dict[str, Id]:
    """The refs whose names start with the prefix, in order."""
    found: dict[str, Id] = {}
    cursor = connection.cursor()
    cursor.execute("SELECT name, target FROM refs WHERE name >= ? ORDER BY name", (prefix,))
    for name, target in cast(Iterator[tuple[str, Id]], cursor):
        if not name.startswith(prefix):
            break
        found[name] = target
    cursor.close()
    return found


def move_ref(connection: apsw.Connection, update: RefUpdate) -> None:
    """Move a ref that is known to be where the update expects it."""
    if update.new != update.old:
        if update.new is None:
            rows(connection, "DELETE FROM refs WHERE name = ?", update.name)
        else:
            sql = (
                "INSERT INTO refs (name, target) VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET target = excluded.target"
            )
            rows(connection, sql, update.name, update.new)
        sql = "INSERT INTO reflog (name, old, new, who, at, why) VALUES (?, ?, ?, ?, ?, ?)"
        moved = (update.name, update.old, update.new, update.who, update.when, update.why)
        rows(connection, sql, *moved)
    if update.index is not None:
        add_index(connection, update.index)


def add_index(connection: apsw.Connection, entry: IndexEntry) -> None:
    """Add a commit to the history index, unless it is there."""
    given = entry.commit, entry.transaction, facts_text(entry.facts)
    sql = (
        "INSERT INTO commits (id, made_by, facts) VALUES (?, ?, ?) "
        "ON CONFLICT (id) DO NOTHING RETURNING n"
    )
    try:
        added = rows(connection, sql, *given)
    except apsw.SQLError:
        if has_facts(connection):
            raise
        connection.execute(FACTS)
        added = rows(connection, sql, *given)
    for (n,) in added:
        touched = ((key, n) for key in set(entry.keys))
        connection.executemany("INSERT INTO touched (key, n) VALUES (?, ?)", touched)


def has_facts(connection: apsw.Connection) -> bool:
    """Whether the file can hold the facts of commits."""
    return bool(rows(connection, "SELECT 1 FROM pragma_table_info('commits') WHERE name = 'facts'"))


def put_facts(connection: apsw.Connection, facts: Mapping[Id, Collection[tuple[str, str]]]) -> None:
    """Add the facts of commits that the history index holds without."""
    if not has_facts(connection):
        connection.execute(FACTS)
    given = [(facts_text(each), commit) for commit, each in facts.items()]
    connection.executemany("UPDATE commits SET facts = ? WHERE id = ? AND facts IS NULL", given)


def get_commits_of_fact(connection: apsw.Connection, field: str, value: str) -> list[Id]:
    """The commits with a fact, newest entry first."""
    if not has_facts(connection):
        return []
    sql = "SELECT id FROM commits WHERE instr(facts, ?) ORDER BY n DESC"
    return [commit for (commit,) in rows(connection, sql, _fact_text((field, value)))]


def get_values_of_facts(connection: apsw.Connection, field: str) -> list[tuple[Id, str]]:
    """The commits with facts of a field, and the values."""
    if not has_facts(connection):
        return []
    sql = "SELECT id, facts FROM commits WHERE instr(facts, ?)"
    found = rows(connection, sql, f"[{quoted(field)},")
    facts = ((commit, fact) for commit, text in found for fact in read_facts(text))
    return [(commit, value) for commit, (name, value) in facts if name == field]


def get_commits_without_facts(connection: apsw.Connection) -> list[Id]:
    """The commits of the history index without facts, oldest entry first."""
    where = " WHERE facts IS NULL" if has_facts(connection) else ""
    return [commit for (commit,) in rows(connection, f"SELECT id FROM commits{where} ORDER BY n")]


def facts_text(facts: Collection[tuple[str, str]] | None) -> str | None:
    """Facts as they are stored: JSON, in which a fact is found as a part of the text."""
    return None if facts is None else f"[{','.join(map(_fact_text, sorted(set(facts))))}]"


@lru_cache
def _fact_text(fact: tuple[str, str]) -> str:
    return f"[{quoted(fact[0])},{quoted(fact[1])}]"


def read_facts(text: str) -> list[tuple[str, str]]:
    """Stored facts; if they are damaged, one that says so."""
    try:
        return [(str(name), str(value)) for name, value in json.loads(text)]
    except (TypeError, ValueError):
        return [("damaged", text)]


def get_index(connection: apsw.Connection) -> Iterator[tuple[Any, ...]]:
    """Commit, transaction, key and facts of each line of the history index, commit by commit."""
    facts = "facts" if has_facts(connection) else "NULL"
    sql = (
        f"SELECT id, made_by, key, {facts} FROM commits LEFT JOIN touched USING (n) UNION ALL "
        "SELECT NULL, '', key, NULL FROM touched WHERE n NOT IN (SELECT n FROM commits) ORDER BY 1"
    )
    for commit, transaction, key, text in rows(connection, sql):
        yield commit, transaction, key, None if text is None else read_facts(text)


def get_settings(connection: apsw.Connection, prefix: str) -> dict[str, str]:
    """The settings whose names start with the prefix, in order."""
    if not _has_table(connection, "settings"):
        return {}
    found = rows(connection, "SELECT name, value FROM settings ORDER BY name")
    return {name: value for name, value in found if name.startswith(prefix)}


def _has_table(connection: apsw.Connection, name: str) -> bool:
    """Whether the file has a table."""
    return bool(rows(connection, "SELECT 1 FROM sqlite_schema WHERE name = ?", name))


def put_setting(connection: apsw.Connection, name: str, value: str | None) -> None:
    """Keep a setting, or forget it."""
    connection.execute(SETTINGS)
    if value is None:
        rows(connection, "DELETE FROM settings WHERE name = ?", name)
    else:
        sql = (
            "INSERT INTO settings (name, value) VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
        rows(connection, sql, name, value)

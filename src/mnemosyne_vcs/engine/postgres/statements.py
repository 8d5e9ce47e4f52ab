"""The statements on the tables of a PostgreSQL store.

The repository comes first in every key and in every condition.
"""

from collections.abc import Collection, Mapping
from typing import Any, LiteralString, TypeAlias

from mnemosyne_vcs.engine.postgres.arrays import Bytes, Texts
from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.ids import Id

__all__ = [
    "COMMITS_BEFORE",
    "COMMITS_OF_KEY",
    "COMMITS_OF_TRANSACTION",
    "COMPACT",
    "GET_INDEX",
    "GET_OBJECT",
    "GET_OBJECTS",
    "GET_REF",
    "GET_REFS",
    "GET_SETTINGS",
    "GET_SIZES",
    "HAS_COMMIT",
    "LIST_IDS",
    "SIZE",
    "Statement",
    "add_index",
    "begin_write",
    "clear_index",
    "commits_of_keys",
    "delete",
    "reflog_page",
    "set_setting",
    "store",
    "write",
]

Statement: TypeAlias = tuple[LiteralString, Mapping[str, Any]]
"""SQL, and the values that it names."""

LOCK_SPACE = 0x6D6E656D
"""The first key of the advisory locks; the second is the repository, or 0 for the tables."""

_ENTER: LiteralString = (
    "SELECT mnemosyne.enter(%(repository)s, %(patience)s, %(relaxed)s, %(alone)s)"
)
_WRITE: LiteralString = (
    "mnemosyne.write(%(repository)s, %(patience)s, %(relaxed)s, "
    "%(name)s, %(old)s, %(new)s, %(who)s, %(at)s, %(why)s, "
    "%(ids)s, %(blocks)s, %(commit)s, %(transaction)s, %(keys)s)"
)
GET_OBJECT: LiteralString = (
    "SELECT id, data FROM mnemosyne.objects WHERE repository = %(repository)s AND id = %(id)s"
)
GET_OBJECTS: LiteralString = (
    "SELECT id, data FROM mnemosyne.objects "
    "WHERE repository = %(repository)s AND id = ANY(%(ids)s::bytea[])"
)
GET_SIZES: LiteralString = (
    "SELECT id, octet_length(data) FROM mnemosyne.objects "
    "WHERE repository = %(repository)s AND id = ANY(%(ids)s::bytea[])"
)
GET_REF: LiteralString = """
SELECT target, root FROM mnemosyne.refs
LEFT JOIN mnemosyne.vector_indexes AS index
ON index.repository = refs.repository AND index.ref = refs.name
WHERE refs.repository = %(repository)s AND refs.name = %(name)s
"""
GET_REFS: LiteralString = (
    "SELECT name, target FROM mnemosyne.refs WHERE repository = %(repository)s "
    "AND name >= %(prefix)s AND substring(name FOR octet_length(%(prefix)s)) = %(prefix)s "
    "ORDER BY name"
)
GET_SETTINGS: LiteralString = (
    "SELECT name, value FROM mnemosyne.settings WHERE repository = %(repository)s "
    "AND name >= %(prefix)s AND substring(name FOR octet_length(%(prefix)s)) = %(prefix)s "
    "ORDER BY name"
)
_SET_SETTING: LiteralString = """
INSERT INTO mnemosyne.settings (repository, name, value)
VALUES (%(repository)s, %(name)s, %(value)s)
ON CONFLICT (repository, name) DO UPDATE SET value = excluded.value
"""
_DROP_SETTING: LiteralString = (
    "DELETE FROM mnemosyne.settings WHERE repository = %(repository)s AND name = %(name)s"
)
_PUT_OBJECTS: LiteralString = """
INSERT INTO mnemosyne.objects (repository, id, data)
SELECT %(repository)s, id, data FROM unnest(%(ids)s::bytea[], %(blocks)s::bytea[]) AS new (id, data)
ON CONFLICT DO NOTHING
"""
_DELETE_OBJECTS: LiteralString = """
WITH gone AS (
    DELETE FROM mnemosyne.objects WHERE repository = %(repository)s AND id = ANY(%(ids)s::bytea[])
), forgotten AS (
    DELETE FROM mnemosyne.commits WHERE repository = %(repository)s AND id = ANY(%(ids)s::bytea[])
    RETURNING n
)
DELETE FROM mnemosyne.touched
WHERE repository = %(repository)s AND n IN (SELECT n FROM forgotten)
"""
LIST_IDS: LiteralString = (
    "SELECT id FROM mnemosyne.objects "
    "WHERE repository = %(repository)s AND id >= %(first)s AND id > %(after)s "
    "AND id <= %(last)s ORDER BY id LIMIT %(page)s"
)
SIZE: LiteralString = """
SELECT sum(bytes)::bigint FROM (
    SELECT sum(pg_column_size(row)) FROM mnemosyne.objects AS row WHERE repository = %(repository)s
    UNION ALL
    SELECT sum(pg_column_size(row)) FROM mnemosyne.refs AS row WHERE repository = %(repository)s
    UNION ALL
    SELECT sum(pg_column_size(row)) FROM mnemosyne.reflog AS row WHERE repository = %(repository)s
    UNION ALL
    SELECT sum(pg_column_size(row)) FROM mnemosyne.commits AS row WHERE repository = %(repository)s
    UNION ALL
    SELECT sum(pg_column_size(row)) FROM mnemosyne.touched AS row WHERE repository = %(repository)s
    UNION ALL
    SELECT sum(pg_column_size(row)) FROM mnemosyne.vectors AS row WHERE repository = %(repository)s
) AS sizes (bytes)
"""

GET_INDEX: LiteralString = """
SELECT id, made_by, key
FROM (SELECT n, id, made_by FROM mnemosyne.commits WHERE repository = %(repository)s) AS commits
FULL JOIN (SELECT n, key FROM mnemosyne.touched WHERE repository = %(repository)s) AS touched
USING (n) ORDER BY id
"""
_CLEAR_INDEX: tuple[LiteralString, ...] = (
    "DELETE FROM mnemosyne.commits WHERE repository = %(repository)s",
    "DELETE FROM mnemosyne.touched WHERE repository = %(repository)s",
)
COMPACT: LiteralString = (
    "VACUUM (ANALYZE) mnemosyne.objects, mnemosyne.refs, mnemosyne.reflog, "
    "mnemosyne.commits, mnemosyne.touched, mnemosyne.settings, "
    "mnemosyne.vector_indexes, mnemosyne.vectors"
)
HAS_COMMIT: LiteralString = (
    "SELECT 1 FROM mnemosyne.commits WHERE repository = %(repository)s AND id = %(commit)s"
)
COMMITS_OF_TRANSACTION: LiteralString = (
    "SELECT id FROM mnemosyne.commits "
    "WHERE repository = %(repository)s AND made_by = %(transaction)s ORDER BY n"
)
COMMITS_OF_KEY: LiteralString = """
SELECT id FROM mnemosyne.commits WHERE repository = %(repository)s AND n IN (
    SELECT n FROM mnemosyne.touched
    WHERE repository = %(repository)s AND left(key, 256) = left(%(key)s, 256) AND key = %(key)s
) ORDER BY n DESC
"""
COMMITS_BEFORE: LiteralString = """
SELECT id FROM mnemosyne.commits WHERE repository = %(repository)s AND n <= (
    SELECT n FROM mnemosyne.commits WHERE repository = %(repository)s AND id = %(commit)s
) ORDER BY n DESC LIMIT %(limit)s
"""
_ADD_INDEX: LiteralString = """
WITH new AS (
    INSERT INTO mnemosyne.commits (repository, id, made_by)
    VALUES (%(repository)s, %(commit)s, %(transaction)s)
    ON CONFLICT DO NOTHING RETURNING n
)
INSERT INTO mnemosyne.touched (repository, key, n)
SELECT %(repository)s, key, n FROM new, unnest(%(keys)s::text[]) AS each (key)
"""


def begin_write(repository: int, patience: float, *, relaxed: bool, alone: bool) -> Statement:
    """The start of a writing transaction: its settings, and the lock on the repository.

    Args:
        repository: number of the repository.
        patience: seconds to wait for any lock.
        relaxed: let the server answer before the commit is on disk.
        alone: keep other writers out; else only those who want to be alone.
    """
    values = _common(repository, patience, relaxed=relaxed)
    return _ENTER, {**values, "alone": alone}


def store(repository: int, objects: Mapping[Id, bytes]) -> Statement:
    """The statement that stores objects; one that exists is left as it is."""
    return _PUT_OBJECTS, {"repository": repository, **_object_rows(objects)}


def add_index(repository: int, entry: IndexEntry) -> Statement:
    """The statement that adds a commit to the history index, unless it is there."""
    return _ADD_INDEX, {"repository": repository, **_index_rows(entry)}


def clear_index(repository: int) -> list[Statement]:
    """The statements that forget the history index."""
    return [(query, {"repository": repository}) for query in _CLEAR_INDEX]


def delete(repository: int, ids: Collection[Id]) -> Statement:
    """The statement that removes objects, and commits among them from the history index."""
    return _DELETE_OBJECTS, {"repository": repository, "ids": Bytes(sorted(set(ids)))}


def set_setting(repository: int, name: str, value: str | None) -> Statement:
    """The statement that keeps a setting, or forgets it."""
    values: dict[str, Any] = {"repository": repository, "name": name.encode()}
    if value is None:
        return _DROP_SETTING, values
    return _SET_SETTING, {**values, "value": value.encode()}


def write(
    repository: int,
    patience: float,
    objects: Mapping[Id, bytes],
    update: RefUpdate,
    then: Statement | None = None,
    *,
    relaxed: bool,
) -> Statement:
    """The statement that moves a ref and stores objects.

    It gives null if the ref is elsewhere, else whether the call that follows gives true. It begins
    as `begin_write` does; the arguments are the same.

    Args:
        repository: number of the repository.
        patience: seconds to wait for any lock.
        objects: what to store.
        update: the move.
        then: the call of a function, which is made if the ref has moved.
        relaxed: let the server answer before the commit is on disk.
    """
    nothing = {"commit": None, "transaction": None, "keys": None}
    call, further = then or ("false", dict[str, Any]())
    return "SELECT CASE WHEN " + _WRITE + " THEN " + call + " END", {
        **further,
        **_common(repository, patience, relaxed=relaxed),
        "name": update.name.encode(),
        "old": update.old,
        "new": update.new,
        "who": update.who.encode(),
        "at": update.when,
        "why": update.why.encode(),
        **_object_rows(objects),
        **(nothing if update.index is None else _index_rows(update.index)),
    }


def reflog_page(name: str | None) -> LiteralString:
    """The query for a page of the moves of a ref, or of all refs."""
    wanted = "" if name is None else "AND name = %(name)s "
    return (
        "SELECT n, name, old, new, who, at, why FROM mnemosyne.reflog "
        "WHERE repository = %(repository)s " + wanted + "AND n < %(before)s "
        "ORDER BY n DESC LIMIT %(page)s"
    )


def commits_of_keys(end: str | None) -> LiteralString:
    """The query for the commits that changed a key of a range, newest entry first."""
    below = "" if end is None else "AND left(key, 256) <= left(%(end)s, 256) AND key < %(end)s"
    return (
        "SELECT id FROM mnemosyne.commits WHERE repository = %(repository)s AND n IN ("
        "SELECT n FROM mnemosyne.touched WHERE repository = %(repository)s "
        "AND left(key, 256) >= left(%(first)s, 256) AND key >= %(first)s " + below + ") "
        "ORDER BY n DESC"
    )


def _common(repository: int, patience: float, *, relaxed: bool) -> Mapping[str, Any]:
    milliseconds = max(1, round(patience * 1000))
    return {"repository": repository, "patience": f"{milliseconds}ms", "relaxed": relaxed}


def _object_rows(objects: Mapping[Id, bytes]) -> Mapping[str, Any]:
    """In one order for all writers, so that none wait in a circle."""
    ids = sorted(objects)
    return {"ids": Bytes(ids), "blocks": Bytes([objects[block] for block in ids])}


def _index_rows(entry: IndexEntry) -> Mapping[str, Any]:
    return {
        "commit": entry.commit,
        "transaction": entry.transaction,
        "keys": Texts(sorted(set(entry.keys))),
    }

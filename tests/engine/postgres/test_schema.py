"""Migrations: however old the tables are, they come to be as fresh ones, with what they held."""

from itertools import count

import psycopg
import pytest

from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.postgres.migrate import migrate, migrations
from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.errors import FormatVersionError, NotFoundError
from mnemosyne_vcs.format.objects import object_id
from postgres.server import PASSWORD

DATA = b"data"
BLOCK = object_id(DATA)
CATALOGUE = """
SELECT 'column', table_name, column_name, ordinal_position::text, data_type, is_nullable,
       coalesce(collation_name, ''), is_identity
FROM information_schema.columns WHERE table_schema = 'mnemosyne'
UNION ALL
SELECT 'index', tablename, indexname, indexdef, '', '', '', '' FROM pg_indexes
WHERE schemaname = 'mnemosyne'
UNION ALL
SELECT 'table', relname, coalesce(reloptions::text, ''), '', '', '', '', '' FROM pg_class
WHERE relnamespace = 'mnemosyne'::regnamespace AND relkind = 'r'
UNION ALL
SELECT 'constraint', conrelid::regclass::text, pg_get_constraintdef(oid), '', '', '', '', ''
FROM pg_constraint WHERE connamespace = 'mnemosyne'::regnamespace
UNION ALL
SELECT 'function', proname, prosrc, pg_get_function_arguments(oid), provolatile::text, '', '', ''
FROM pg_proc WHERE pronamespace = 'mnemosyne'::regnamespace
UNION ALL
SELECT 'migration', number::text, name, '', '', '', '', '' FROM mnemosyne.migrations
ORDER BY 1, 2, 3, 4
"""
_numbers = count()


@pytest.fixture
def database(server):
    """The name of an empty database."""
    name = f"schema{next(_numbers)}"
    server.execute("postgres", f"CREATE DATABASE {name}")
    yield name
    server.execute("postgres", f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def fresh(server):
    """The catalogue of tables that were made at once."""
    server.execute("postgres", "CREATE DATABASE fresh")
    open_engine(server.url("r", "fresh"), create=True).close()
    return server.execute("fresh", CATALOGUE)


def bring_to(server, database, version):
    with psycopg.connect(server.dsn(database), password=PASSWORD, autocommit=True) as connection:
        migrate(connection, version)


def test_migrations_are_numbered_without_a_gap():
    assert [int(name[:4]) for name, _ in migrations()] == list(range(1, len(migrations()) + 1))


@pytest.mark.parametrize("version", range(len(migrations())))
def test_tables_of_any_version_come_to_be_as_fresh_ones(server, database, fresh, version):
    bring_to(server, database, version)
    if version:
        server.execute(
            database,
            "INSERT INTO mnemosyne.repositories (name) VALUES ('r'); "
            f"INSERT INTO mnemosyne.objects VALUES (1, '\\x{BLOCK.hex()}', '{DATA.decode()}')",
        )
    engine = open_engine(server.url("r", database), create=True)
    assert server.execute(database, CATALOGUE) == fresh
    assert dict(engine.read([BLOCK])) == ({BLOCK: DATA} if version else {})
    index = IndexEntry(BLOCK, "t", ["k"])
    engine.write({BLOCK: DATA}, RefUpdate("r", None, BLOCK, index=index))
    assert engine.commits_of_key("k") == [BLOCK]
    engine.close()


def test_a_writer_brings_tables_up_to_date_and_a_reader_says_they_are_old(server, database, fresh):
    bring_to(server, database, 2)
    server.execute(database, "INSERT INTO mnemosyne.repositories (name) VALUES ('r')")
    with pytest.raises(FormatVersionError, match="version 2"):
        open_engine(server.url("r", database), read_only=True)
    open_engine(server.url("r", database)).close()
    assert server.execute(database, CATALOGUE) == fresh
    open_engine(server.url("r", database), read_only=True).close()


def test_tables_of_a_newer_version_are_left_alone(server, database):
    open_engine(server.url("r", database), create=True).close()
    server.execute(database, "INSERT INTO mnemosyne.migrations VALUES (99, 'later')")
    for options in ({}, {"create": True}, {"read_only": True}):
        with pytest.raises(FormatVersionError, match="99"):
            open_engine(server.url("r", database), **options)


def test_a_migration_that_fails_changes_nothing(server, database):
    server.execute(database, "CREATE SCHEMA mnemosyne; CREATE TABLE mnemosyne.touched (mine text)")
    with pytest.raises(Exception, match="touched"):
        open_engine(server.url("r", database), create=True)
    tables = server.execute(
        database, "SELECT tablename FROM pg_tables WHERE schemaname = 'mnemosyne'"
    )
    assert tables == [("touched",)]


def test_repositories_in_one_database_know_nothing_of_each_other(server, database):
    one, two = (open_engine(server.url(name, database), create=True) for name in ("é 1", "two"))
    one.write({BLOCK: DATA}, RefUpdate("r", None, BLOCK, index=IndexEntry(BLOCK, "t", ["k"])))
    one.set_setting("s", "1")
    assert (dict(two.refs()), dict(two.read([BLOCK])), list(two.ids())) == ({}, {}, [])
    assert (list(two.reflog(None)), two.commits_of_key("k"), two.settings()) == ([], [], {})
    assert (one.size() > 0, two.size()) == (True, 0)
    two.write({BLOCK: b"other"}, RefUpdate("r", None, BLOCK))
    two.delete([BLOCK])
    two.clear_index()
    assert dict(one.read([BLOCK])) == {BLOCK: DATA}
    assert one.commits_of_key("k") == [BLOCK]
    with pytest.raises(NotFoundError, match="three"):
        open_engine(server.url("three", database))
    one.close()
    two.close()


def test_the_longest_keys_are_indexed(server, database):
    engine = open_engine(server.url("r", database), create=True)
    stem = "".join(chr(0x4E00 + number) for number in range(1300))
    keys = [stem + "a" * 190, stem + "b" * 190, "\U0010ffff" * 1024]
    engine.write({}, RefUpdate("r", None, BLOCK, index=IndexEntry(BLOCK, "t", keys)))
    for key in keys:
        assert engine.commits_of_key(key) == [BLOCK]
    assert engine.commits_of_key(stem) == []
    assert engine.commits_of_keys(stem + "b", stem + "c") == [BLOCK]
    assert engine.commits_of_keys(stem + "c", stem + "d") == []
    engine.close()

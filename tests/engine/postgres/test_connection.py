"""What is asked often: values as the server takes them, and statements that it keeps or not."""

import numpy as np
import psycopg
import pytest

from mnemosyne_vcs.engine.postgres.arrays import Bytes, Floats, Integers, Texts
from mnemosyne_vcs.engine.postgres.connection import TRUE, Connection
from postgres.server import PASSWORD

FORGET_ALL = "DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$"
PREPARED = "SELECT name FROM pg_prepared_statements"
ASKED = "SELECT length(%(text)s::text) = %(size)s::int"


@pytest.fixture(params=[True, False], ids=["prepared", "plain"])
def connection(request, server):
    dsn = server.dsn("mnemosyne")
    with Connection.connect(dsn, password=PASSWORD, autocommit=True) as connection:
        connection.settle()
        assert connection.has_session
        connection.has_session = request.param
        yield connection


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (None, "%(value)s::bytea IS NULL"),
        (b"", "%(value)s = ''::bytea"),
        (b"\0\xff%(value)s", r"%(value)s = '\x00ff25287661 6c756529 73'::bytea"),
        ("", "%(value)s = ''::text"),
        ("é'\"\\$1", "%(value)s = U&'\\00e9' || '''\"\\$1'::text"),
        (0, "%(value)s = 0::integer"),
        (-(2**63), "%(value)s::bigint = -9223372036854775808"),
        (True, "%(value)s::boolean"),
        (False, "NOT %(value)s::boolean"),
        (Bytes([]), "%(value)s = '{}'::bytea[]"),
        (Bytes([b"", b"\0a"]), "%(value)s = ARRAY[''::bytea, '\\x0061']"),
        (Texts([]), "%(value)s = '{}'::text[]"),
        (Texts(["", "NULL", 'é,"']), "%(value)s = ARRAY['', 'NULL', U&'\\00e9' || ',\"']::text[]"),
        (Integers([]), "%(value)s = '{}'::integer[]"),
        (Integers([1, -(2**31)]), "%(value)s = ARRAY[1, -2147483648]"),
        (Floats(np.zeros(0, np.float32)), "%(value)s = '{}'::real[]"),
        (Floats(np.zeros((2, 0), np.float32)), "%(value)s = '{}'::real[]"),
        (Floats(np.float32([0.5, -2])), "%(value)s = ARRAY[0.5, -2]::real[]"),
        (Floats(np.float32([[1, 2, 3], [4, 5, 6]])), "%(value)s = '{{1,2,3},{4,5,6}}'::real[]"),
    ],
)
def test_values_arrive_as_they_are(connection, value, same):
    for _ in range(2):
        assert connection.ask(f"SELECT {same}", {"value": value}) == [(TRUE,)]
    assert connection.execute(f"SELECT {same}", {"value": value}).fetchall() == [(True,)]


def test_rows_come_in_binary(connection):
    found = connection.ask(
        "SELECT %(a)s::bytea, n, NULL FROM generate_series(1, 2) AS n", {"a": b"x"}
    )
    assert found == [(b"x", b"\0\0\0\1", None), (b"x", b"\0\0\0\2", None)]
    assert connection.ask("SELECT WHERE false", {}) == []


def test_what_the_server_refuses_is_raised_and_the_next_question_answered(connection):
    for _ in range(2):
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.ask("SELECT 1 / %(number)s::int", {"number": 0})
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.ask("SELECT FROM mnemosyne.nothing", {})
        assert connection.ask(ASKED, {"text": "ab", "size": 2}) == [(TRUE,)]


def test_a_statement_is_prepared_once_and_has_a_name_that_tells_of_it(server, repo):
    for number in range(3):
        repo.put("a", number)
    with repo.blocks.engine._connections.lend() as connection:
        names = [name for (name,) in connection.execute(PREPARED) if "write" in name]
    assert [name.partition("-")[0] for name in names] == ["mnemosyne.write"]


def test_a_session_that_has_lost_its_statements_is_used_without(repo):
    repo.put("a", 0)
    with repo.blocks.engine._connections.lend() as connection:
        connection.execute(FORGET_ALL)
    repo.put("a", 1)
    assert repo.at()["a"].content == 1
    with repo.blocks.engine._connections.lend() as connection:
        assert not connection.has_session
        assert connection.execute(PREPARED).fetchall() == []


def test_a_session_in_which_another_has_prepared_is_used_without(server):
    options = {"password": PASSWORD, "autocommit": True}
    with Connection.connect(server.dsn("mnemosyne"), **options) as connection:
        connection.settle()
        connection.ask(ASKED, {"text": "", "size": 0})
        ((name,),) = connection.execute(PREPARED).fetchall()
    with Connection.connect(server.dsn("mnemosyne"), **options) as connection:
        connection.settle()
        connection.execute(f'PREPARE "{name}" AS SELECT 1')
        assert connection.ask(ASKED, {"text": "ab", "size": 2}) == [(TRUE,)]
        assert not connection.has_session

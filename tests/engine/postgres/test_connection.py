"""Values as the server takes them, and the statements that it keeps."""

import numpy as np
import psycopg
import pytest

from mnemosyne_vcs.engine.postgres.arrays import Bytes, Floats, Integers, Texts
from postgres.server import PASSWORD

PREPARED = "SELECT statement FROM pg_prepared_statements"


@pytest.fixture(params=[True, False], ids=["prepared", "plain"])
def prepare(request):
    return request.param


@pytest.fixture
def connection(server):
    dsn = server.dsn("mnemosyne")
    with psycopg.connect(dsn, password=PASSWORD, autocommit=True) as connection:
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
def test_values_arrive_as_they_are(connection, prepare, value, same):
    for _ in range(2):
        cursor = connection.execute(
            f"SELECT {same}", {"value": value}, prepare=prepare, binary=True
        )
        assert cursor.fetchall() == [(True,)]


def test_what_is_asked_often_is_prepared_once(repo):
    for number in range(3):
        repo.put("a", number)
        repo.put(f"new/{number}", number)
        repo.blocks.renew()
    with repo.blocks.engine._connections.lend() as connection:
        statements = {text for (text,) in connection.execute(PREPARED, prepare=False)}
    for name in ("mnemosyne.write(", "mnemosyne.refs", "mnemosyne.objects"):
        assert sum(name in text for text in statements) == 1
    assert len(statements) == 3

"""Through PgBouncer in transaction mode: the contract of engines, and work on repositories."""

import psycopg
import pytest

from borrowing import borrowed
from postgres import test_contract
from postgres.bouncer import PROGRAM, Bouncer
from postgres.fixtures import numbers

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")


@pytest.fixture(scope="module")
def bouncer(server):
    bouncer = Bouncer(server)
    yield bouncer
    bouncer.remove()


@pytest.fixture
def new_url(bouncer):
    return lambda: bouncer.url(f"bounced-{next(numbers)}")


class TestThroughPgBouncer(test_contract.TestPostgres):
    pass


globals().update(borrowed("test_merge", "test_concurrency"))


def test_one_client_gets_another_connection_for_each_transaction(bouncer):
    dsn = bouncer.dsn("mnemosyne")
    with (
        psycopg.connect(dsn, autocommit=True) as one,
        psycopg.connect(dsn, autocommit=True) as other,
    ):
        with one.transaction():
            one.execute("SELECT 1")
            other.execute("SELECT 1")
        found = {one.execute("SELECT pg_backend_pid()").fetchone() for _ in range(4)}
    assert len(found) > 1

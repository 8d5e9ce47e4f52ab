"""Through PgBouncer in transaction mode: the contract of engines, and work on repositories."""

import psycopg
import pytest

import mnemosyne_vcs
from engine.postgres import test_contract
from mnemosyne_vcs.testing.repository.concurrency import ConcurrencyContract
from mnemosyne_vcs.testing.repository.merge import MergeContract
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


class TestRepository(MergeContract, ConcurrencyContract):
    pass


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


def test_nothing_is_prepared_where_sessions_are_shared(bouncer, new_url):
    with mnemosyne_vcs.open(new_url(), create=True) as repo:
        for number in range(3):
            repo.put("a", number)
        with repo.blocks.engine._connections.lend() as connection:
            assert connection.prepare_threshold is None
            assert not connection.execute("SELECT FROM pg_prepared_statements").fetchall()

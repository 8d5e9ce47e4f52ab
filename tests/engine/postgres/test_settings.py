"""What a database or a user sets by default: it is pinned, or an error says which setting it is."""

import threading
from collections.abc import Callable
from itertools import count
from threading import Event
from time import monotonic

import psycopg
import pytest

import mnemosyne_vcs
from mnemosyne_vcs import BusyError, EngineError, ReadOnlyError
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.format.objects import object_id

WRITERS, PUTS = 6, 15
PATIENCE = 60
numbers = count()


@pytest.fixture
def database(server):
    """A database of this test's own, and how to set something for all who open it."""
    name = f"set{next(numbers)}"
    server.execute("postgres", f"CREATE DATABASE {name}")

    def set_up(setting: str, value: str) -> str:
        server.execute("postgres", f"ALTER DATABASE {name} SET {setting} = {value}")
        return server.url("work", name)

    yield set_up
    server.execute("postgres", f"DROP DATABASE {name} WITH (FORCE)")


def write_together(url: str) -> None:
    """Writers of one branch get their turns, from one process as from several."""
    failed: list[Exception] = []

    def write(number: int) -> None:
        try:
            with mnemosyne_vcs.open(url) as repo:
                for each in range(PUTS):
                    repo.put(f"{number}/{each}", each)
        except Exception as error:  # noqa: BLE001 - told to the test
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert failed == []


@pytest.mark.parametrize("level", ["'repeatable read'", "serializable"])
@pytest.mark.parametrize("pooled", [False, True], ids=["session", "pooled"])
def test_writers_get_their_turns_whatever_the_isolation_is(database, level, pooled, monkeypatch):
    if pooled:  # as `settle` finds it behind a pooler
        monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", 0)
    url = database("default_transaction_isolation", level)
    with mnemosyne_vcs.open(url, create=True) as repo:
        write_together(url)
        assert len(list(repo.log())) == WRITERS * PUTS
        with repo.blocks.engine._connections.lend() as connection:
            assert connection.is_pinned is not pooled
        assert repo.verify().ok


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("search_path", "''"),
        ("search_path", "nowhere"),
        ("standard_conforming_strings", "off"),
        ("bytea_output", "escape"),
        ("client_encoding", "latin1"),
        ("DateStyle", "'German'"),
        ("transform_null_equals", "on"),
        ("array_nulls", "off"),
        ("default_transaction_deferrable", "on"),
        ("synchronous_commit", "off"),
        ("row_security", "off"),
        ("lock_timeout", "1"),
        ("idle_session_timeout", "500"),
    ],
)
def test_settings_that_change_nothing(database, setting, value):
    url = database(setting, value)
    text, floats = "a\\b 'c' é記憶", [0.5, -1.25e-20]
    with mnemosyne_vcs.open(url, create=True) as repo:
        write_together(url)
        repo.put(text, {text: None}, embedding=floats)
        with repo.transaction() as tx:
            tx.delete("0/0")
            tx.move("0/1", "moved")
        assert repo.at()[text].content == {text: None}
        assert repo.at()[text].embedding.tolist() == pytest.approx(floats)
        assert repo.at().search([1.0, 0.0])[0].record.key == text
        assert len(list(repo.log())) == WRITERS * PUTS + 2
        assert repo.at()["moved"].moved_from == "0/1"
        repo.undo()
        assert repo.gc().objects == 0
        assert repo.verify().ok
    with mnemosyne_vcs.open(url, read_only=True) as repo:
        assert "0/0" in repo.at()


def test_a_database_that_is_set_to_read_only(database):
    url = database("default_transaction_read_only", "on")
    for create in (False, True):
        with pytest.raises(ReadOnlyError, match="set to read-only"):
            mnemosyne_vcs.open(url, create=create)


def test_a_statement_that_takes_longer_than_it_may(database):
    with mnemosyne_vcs.open(database("statement_timeout", "0"), create=True) as repo:
        repo.put("a", 1)
        engine = repo.blocks.engine
        with mnemosyne_vcs.open(database("statement_timeout", "1000")) as slow:
            with engine.exclusive(), pytest.raises(BusyError, match="statement_timeout"):
                slow.put("b", 1)
            slow.put("b", 1)


def until(ready: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE
    while not ready():
        assert monotonic() < deadline, "it did not happen"
        Event().wait(0.01)


@pytest.mark.parametrize("setting", ["idle_in_transaction_session_timeout", "transaction_timeout"])
def test_a_transaction_that_stands_still_for_longer_than_it_may(database, server, setting):
    if not server.execute("postgres", f"SELECT 1 FROM pg_settings WHERE name = '{setting}'"):
        pytest.skip(f"this server has no {setting}")
    mnemosyne_vcs.open(database(setting, "0"), create=True).close()
    block = object_id(b"data")
    with mnemosyne_vcs.open(database(setting, "1000")) as repo:
        engine = repo.blocks.engine
        with pytest.raises(EngineError, match=setting), engine.exclusive():
            engine.write({block: b"data"}, RefUpdate("r", None, block))
            assert engine.ref("r") == block
            gone = "SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
            until(lambda: not server.execute("postgres", gone))
            engine.ref("r")
        assert engine.ref("r") is None
        engine.write({block: b"data"}, RefUpdate("r", None, block))
        assert engine.ref("r") == block

"""Many clients, sudden deaths of theirs and of the server's, for `SOAK_SECONDS`."""

import pytest

from postgres.server import PASSWORD, Server
from soak import Soak, assert_sound


@pytest.fixture
def own_server(monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    server = Server(autovacuum="on")
    server.start()
    server.execute("postgres", "CREATE DATABASE mnemosyne")
    yield server
    server.remove()


@pytest.mark.soak
def test_a_server_that_is_killed_under_sixteen_processes_that_are(own_server):
    def restart():
        own_server.kill()
        own_server.start()

    assert_sound(Soak(own_server.url("soak"), restart).run())

"""The PostgreSQL engine, plain and wrapped, against the contract of engines."""

import pytest

from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.testing import FaultyEngine, SlowEngine
from mnemosyne_vcs.testing.engines import EngineContract


class TestPostgres(EngineContract):
    @pytest.fixture
    def engine(self, url):
        engine = open_engine(url, create=True)
        yield engine
        engine.close()

    def again(self, engine):
        return open_engine(engine.url)

    def for_reading(self, engine):
        return open_engine(engine.url, read_only=True)

    def replace_bytes(self, engine, block, data):
        step = "UPDATE mnemosyne.objects SET data = %s WHERE repository = %s AND id = %s"
        with engine._connections.lend() as connection:
            connection.execute(step, (data, engine._repository, block))
        return True


class TestFaultyRelaxedPostgres(TestPostgres):
    @pytest.fixture
    def engine(self, url):
        engine = FaultyEngine(open_engine(url, create=True, durability="relaxed"))
        yield engine
        engine.close()

    def replace_bytes(self, engine, block, data):
        return super().replace_bytes(engine.engine, block, data)


class TestSlowPostgres(TestPostgres):
    @pytest.fixture
    def engine(self, url):
        engine = SlowEngine(open_engine(url, create=True), 0.0001)
        yield engine
        engine.close()

    def replace_bytes(self, engine, block, data):
        return super().replace_bytes(engine.engine, block, data)

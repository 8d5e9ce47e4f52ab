"""Every engine of ours, plain and wrapped, against the contract of engines."""

import apsw
import pytest

from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.testing import FaultyEngine, SlowEngine
from mnemosyne_vcs.testing.engines import EngineContract


class TestMemory(EngineContract):
    @pytest.fixture
    def engine(self):
        return open_engine("memory://")

    def replace_bytes(self, engine, block, data):
        engine._committed.objects[block] = data
        return True


class TestSQLite(EngineContract):
    @pytest.fixture
    def engine(self, tmp_path):
        engine = open_engine(tmp_path / "store.mnem", create=True)
        yield engine
        engine.close()

    def again(self, engine):
        return open_engine(engine.url)

    def for_reading(self, engine):
        return open_engine(engine.url, read_only=True)

    def copy_at(self, path):
        return open_engine(path)

    def replace_bytes(self, engine, block, data):
        connection = apsw.Connection(engine._path)
        connection.execute("UPDATE objects SET data = ? WHERE id = ?", (data, block))
        connection.close()
        return True


class TestFaultyMemory(EngineContract):
    @pytest.fixture
    def engine(self):
        return FaultyEngine(open_engine("memory://"))


class TestFaultyRelaxedSQLite(TestSQLite):
    @pytest.fixture
    def engine(self, tmp_path):
        store = open_engine(tmp_path / "store.mnem", create=True, durability="relaxed")
        engine = FaultyEngine(store)
        yield engine
        engine.close()

    def replace_bytes(self, engine, block, data):
        return super().replace_bytes(engine.engine, block, data)


class TestSlowMemory(EngineContract):
    @pytest.fixture
    def engine(self):
        return SlowEngine(open_engine("memory://"), 0.0001)

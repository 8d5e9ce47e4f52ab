"""The object-store engine on SeaweedFS and on moto, plain and wrapped, against the contract."""

import pytest

from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.testing import FaultyEngine, SlowEngine
from mnemosyne_vcs.testing.engines import EngineContract


class TestSeaweedFS(EngineContract):
    @pytest.fixture
    def engine(self, url):
        engine = open_engine(url, create=True)
        yield engine
        engine.close()

    def again(self, engine):
        return open_engine(engine.url)

    def for_reading(self, engine):
        return open_engine(engine.url, read_only=True)


class TestMoto(TestSeaweedFS):
    @pytest.fixture
    def url(self, moto, folder):
        return moto.url(folder)


class TestWrappedSeaweedFS(TestSeaweedFS):
    @pytest.fixture
    def engine(self, url):
        engine = FaultyEngine(SlowEngine(open_engine(url, create=True), 0.0001))
        yield engine
        engine.close()

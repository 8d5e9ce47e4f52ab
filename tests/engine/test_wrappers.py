"""Engines that fail or dawdle on purpose."""

from dataclasses import fields
from itertools import islice

import pytest

from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Engine, RefUpdate
from mnemosyne_vcs.errors import EngineError, RefConflictError
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.testing import FaultyEngine, SlowEngine, random_faults

DATA = b"data"
BLOCK = object_id(DATA)
UPDATE = RefUpdate("r", None, BLOCK)


class Plain:
    """An engine without any capability."""

    url = "plain://"
    read_only = False

    def __init__(self):
        self._memory = open_engine("memory://")
        self.read = self._memory.read
        self.ref = self._memory.ref
        self.refs = self._memory.refs
        self.write = self._memory.write

    def close(self):
        pass


@pytest.mark.parametrize(
    ("wrap", "lost"), [(FaultyEngine, set()), (lambda engine: SlowEngine(engine, 0), {"local"})]
)
def test_a_wrapper_has_the_capabilities_of_what_it_wraps(tmp_path, wrap, lost):
    stores = [open_engine("memory://"), open_engine(tmp_path / "x", create=True), Plain()]
    for store in stores:
        wrapper = wrap(store)
        assert had(wrapper) == had(store) - lost
        can = Capabilities.of(wrapper)
        assert {id(getattr(can, name)) for name in had(wrapper)} == {id(wrapper)}
        assert had(wrap(wrapper)) == had(store) - lost
    memory, sqlite, plain = map(had, stores)
    assert {"lock", "local"} < memory < sqlite == memory | {"back_up", "cache", "repack"}
    assert plain == {"engine"}


def had(engine):
    can = Capabilities.of(engine)
    return {field.name for field in fields(can) if getattr(can, field.name) is not None}


def test_a_fault_before_means_that_nothing_happened():
    engine = FaultyEngine(open_engine("memory://"), ["before"])
    with pytest.raises(EngineError, match="before"):
        engine.write({BLOCK: DATA}, UPDATE)
    assert engine.ref("r") is None
    assert dict(engine.read([BLOCK])) == {}
    engine.write({BLOCK: DATA}, UPDATE)
    assert engine.ref("r") == BLOCK


def test_a_fault_after_means_that_it_landed():
    engine = FaultyEngine(open_engine("memory://"), ["after"])
    with pytest.raises(EngineError, match="after"):
        engine.write({BLOCK: DATA}, UPDATE)
    assert engine.ref("r") == BLOCK
    assert dict(engine.read([BLOCK])) == {BLOCK: DATA}
    with pytest.raises(RefConflictError):
        engine.write({BLOCK: DATA}, UPDATE)


def test_a_schedule_counts_only_the_chosen_calls():
    engine = FaultyEngine(
        open_engine("memory://"), [None, "before", "after"], calls=("read", "ref")
    )
    engine.write({BLOCK: DATA}, UPDATE)
    assert dict(engine.read([BLOCK])) == {BLOCK: DATA}
    with pytest.raises(EngineError):
        engine.ref("r")
    with pytest.raises(EngineError):
        engine.read([BLOCK])
    assert engine.ref("r") == BLOCK
    assert engine.failed == [("ref", "before"), ("read", "after")]
    engine.schedule("before")
    with pytest.raises(EngineError):
        engine.ref("r")


def test_random_faults_are_the_same_for_the_same_seed():
    first, again, other = (list(islice(random_faults(seed, 0.5), 200)) for seed in (1, 1, 2))
    assert first == again != other
    assert set(first) == {None, "before", "after"}
    assert set(islice(random_faults(1, 0), 100)) == {None}
    assert None not in set(islice(random_faults(1, 1), 100))


def test_a_writer_that_finds_out_what_happened_loses_nothing():
    store = open_engine("memory://")
    engine = FaultyEngine(store, random_faults(7, 0.6))
    head = None
    for number in range(200):
        data = b"%d" % number
        block = object_id(data)
        while store.ref("r") != block:
            try:
                engine.write({block: data}, RefUpdate("r", head, block))
            except EngineError:
                assert store.ref("r") in (head, block)
        head = block
    assert len(list(store.reflog("r"))) == 200
    assert len(engine.failed) > 100


def test_a_slow_engine_adds_its_delay_to_each_call(monkeypatch):
    waited = []
    monkeypatch.setattr("mnemosyne_vcs.testing.faults.time.sleep", waited.append)
    engine: Engine = SlowEngine(open_engine("memory://"), 0.25)
    engine.write({BLOCK: DATA}, UPDATE)
    assert engine.ref("r") == BLOCK
    assert [entry.name for entry in engine.reflog("r")] == ["r"]
    assert waited == [0.25] * 3

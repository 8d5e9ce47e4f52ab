"""Whatever is done to an object store by two engines, it says what a store in memory says.

The limits of logs, packs and places are tiny, so that segments are sealed and merged, writes take
several packs, places age, and packs are read in parts.
"""

from contextlib import suppress
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.errors import MnemosyneError
from mnemosyne_vcs.format.objects import object_id, vector_id

TINY = {
    "logs.RECENT_BYTES": 300,
    "logs.FAN": 3,
    "packs.PACK_BYTES": 500,
    "pack_index.YOUNG": 4,
    "pack_reader.WHOLE_BYTES": 400,
    "compaction.LARGE_BYTES": 250,
}
BLOCKS = [
    ((vector_id if n % 3 == 0 else object_id)(data), data)
    for n in range(16)
    for data in [bytes([n]) * (7 + 23 * n)]
]
IDS = [block for block, _ in BLOCKS]
NAMES = ["a", "a/b", "é"]
TRANSACTIONS = ["t1", "t2"]

names = st.sampled_from(NAMES)
ids = st.lists(st.sampled_from(IDS), max_size=4)
entries = st.builds(
    IndexEntry, st.sampled_from(IDS), st.sampled_from(TRANSACTIONS), st.frozensets(names)
)
moves = st.tuples(names, st.booleans(), st.none() | st.sampled_from(IDS), st.none() | entries)
writes = st.tuples(
    st.just("write"), st.lists(st.integers(0, len(BLOCKS) - 1), max_size=6), st.none() | moves
)
steps = st.one_of(
    writes,
    writes,
    st.tuples(st.just("set_setting"), names, st.none() | names),
    st.tuples(st.just("add_to_index"), st.lists(entries, max_size=3)),
    st.tuples(st.just("clear_index")),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("compact")),
)
transactions = st.recursive(
    steps,
    lambda inner: st.tuples(st.just("exclusive"), st.lists(inner, max_size=4), st.booleans()),
    max_leaves=5,
)


class Undone(Exception):
    """Ends an `exclusive` that shall be undone."""


def act(engine, step):
    """Take a step; gives the type of the error that it raised, if any."""
    kind, *arguments = step
    try:
        if kind == "write":
            numbers, move = arguments
            objects = dict(BLOCKS[number] for number in numbers)
            engine.write(objects, move and update_of(engine, *move))
        elif kind == "exclusive":
            inner, fails = arguments
            with suppress(Undone), engine.exclusive():
                for each in inner:
                    act(engine, each)
                engine.commits_of_key(NAMES[0])
                if fails:
                    raise Undone
        else:
            getattr(engine, kind)(*arguments)
    except MnemosyneError as error:
        return type(error)
    return None


def update_of(engine, name, right, new, index):
    there = engine.ref(name)
    old = there if right else IDS[0]
    return RefUpdate(name, old, new, "who", 10**12 + len(name), "why", index)


def look(engine):
    """All that an engine says of a store."""
    return (
        dict(engine.refs()),
        engine.ref(NAMES[0]),
        dict(engine.refs("a/")),
        dict(engine.settings()),
        list(engine.reflog(None)),
        list(engine.reflog("a")),
        sorted(engine.ids()),
        sorted(engine.ids(IDS[0][:4])),
        dict(engine.read(IDS)),
        dict(engine.read(IDS[:1])),
        [engine.indexed(block) for block in IDS[::5]],
        [engine.commits_of_transaction(each) for each in TRANSACTIONS],
        [engine.commits_of_key(name) for name in NAMES],
        engine.commits_of_keys("a", "b"),
        engine.commits_of_keys("a/", None),
    )


class Stores(RuleBasedStateMachine):
    """Two engines on one store, and a model.

    Args:
        url: the store, which does not exist yet.
    """

    def __init__(self, url):
        super().__init__()
        self.url = url
        self.engines = [open_engine(url, create=True), open_engine(url)]
        self.model = MemoryEngine()

    @rule(which=st.integers(0, 1), step=steps)
    def step(self, which, step):
        assert act(self.engines[which], step) == act(self.model, step)

    @rule(which=st.integers(0, 1), inner=st.lists(transactions, max_size=4), fails=st.booleans())
    def exclusive(self, which, inner, fails):
        engine, other = self.engines[which], self.engines[not which]
        before = look(self.model)
        with suppress(Undone), engine.exclusive(), self.model.exclusive():
            for each in inner:
                assert act(engine, each) == act(self.model, each)
            assert look(engine) == look(self.model)
            assert look(other) == before
            if fails:
                raise Undone

    @rule(which=st.integers(0, 1))
    def open_again(self, which):
        self.engines[which].close()
        self.engines[which] = open_engine(self.url)

    @invariant()
    def the_store_says_what_the_model_says(self):
        expected = look(self.model)
        assert all(look(engine) == expected for engine in self.engines)
        assert (self.engines[0].size() > 0) or not expected[6]

    def teardown(self):
        with_eyes_of_its_own = open_engine(self.url, read_only=True)
        assert look(with_eyes_of_its_own) == look(self.model)
        for engine in (*self.engines, with_eyes_of_its_own):
            engine.close()


@pytest.fixture
def tiny(monkeypatch):
    for name, value in TINY.items():
        monkeypatch.setattr(f"mnemosyne_vcs.engine.objectstore.{name}", value)


def test_two_engines_agree_with_memory(seaweedfs, folder, tiny):
    numbers = count()
    run_state_machine_as_test(
        lambda: Stores(seaweedfs.url(f"{folder}/{next(numbers)}")),
        settings=settings(
            max_examples=max(1, settings.default.max_examples // 6), stateful_step_count=20
        ),
    )


def test_what_is_undone_inside_a_transaction_leaves_its_index(url):
    engine = open_engine(url, create=True)
    with engine.exclusive():
        engine.add_to_index([IndexEntry(IDS[0], "t", ["a"])])
        with suppress(Undone), engine.exclusive():
            engine.add_to_index([IndexEntry(IDS[1], "t", ["a"])])
            assert engine.commits_of_key("a") == [IDS[1], IDS[0]]
            raise Undone
        assert engine.commits_of_key("a") == [IDS[0]]
        engine.add_to_index([IndexEntry(IDS[2], "t", ["a"])])
        assert engine.commits_of_key("a") == [IDS[2], IDS[0]]
    assert engine.commits_of_key("a") == [IDS[2], IDS[0]]

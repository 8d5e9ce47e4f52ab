"""Compaction and what it leaves behind: fewer packs, no orphans, and nobody is disturbed."""

from datetime import timedelta
from itertools import count
from threading import Event, Thread

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import BusyError, EngineError, RefConflictError
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.objectstore.logs import Log, Segments
from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.testing._acknowledgements import assert_kept, commits_told
from mnemosyne_vcs.testing._children import go

BLOCKS = {object_id(data): data for data in (b"%d" % n * (n + 1) for n in range(200))}
IDS = list(BLOCKS)


@pytest.fixture
def engine(url):
    return open_engine(url, create=True)


@pytest.fixture
def small(monkeypatch):
    """Logs with segments of a few rows, which are merged soon."""
    monkeypatch.setattr("mnemosyne_vcs.engine.objectstore.logs.RECENT_BYTES", 300)
    monkeypatch.setattr("mnemosyne_vcs.engine.objectstore.logs.FAN", 3)


def fill(engine, numbers):
    """Write one block after the other, each under a ref of its own."""
    for number in numbers:
        block = IDS[number]
        index = IndexEntry(block, f"t{number}", [f"k{number}"])
        update = RefUpdate(f"r{number:03}", engine.ref(f"r{number:03}"), block, index=index)
        engine.write({block: BLOCKS[block]}, update)


def packs_in(store, folder):
    return {key for key in store.keys(folder) if key.startswith(f"{folder}/packs/")}


def test_small_packs_become_one_and_say_the_same(seaweedfs, folder, engine):
    fill(engine, range(20))
    before = engine.size()
    assert len(packs_in(seaweedfs, folder)) == 20
    engine.compact()
    (one,) = packs_in(seaweedfs, folder)
    assert 0 < engine.size() < before
    for each in (engine, open_engine(engine.url)):
        assert dict(each.read(IDS)) == {block: BLOCKS[block] for block in IDS[:20]}
        assert sorted(each.ids()) == sorted(IDS[:20])
        assert each.commits_of_key("k7") == [IDS[7]]
        assert len(list(each.reflog(None))) == 20
    engine.compact()
    assert packs_in(seaweedfs, folder) == {one}


def test_what_was_deleted_leaves_the_bucket(seaweedfs, folder, engine):
    fill(engine, range(10))
    engine.delete(IDS[:9])
    assert len(packs_in(seaweedfs, folder)) == 10
    engine.compact()
    (left,) = packs_in(seaweedfs, folder)
    data = seaweedfs.get(left)
    assert BLOCKS[IDS[9]] in data
    assert not any(block in data for block in IDS[:9])
    engine.delete(IDS[9:])
    engine.compact()
    assert packs_in(seaweedfs, folder) == set()
    assert dict(engine.read(IDS)) == {}


def test_orphans_are_swept_once_they_are_old(seaweedfs, folder, engine, monkeypatch):
    fill(engine, range(3))
    orphans = {f"{folder}/packs/orphan-0", f"{folder}/logs/orphan"}
    for key in orphans:
        seaweedfs.put(key, b"left behind by a writer that died")
    stranger = f"{folder}/notes/kept"
    seaweedfs.put(stranger, b"not ours")
    engine.compact()
    assert orphans < set(seaweedfs.keys(folder))
    monkeypatch.setattr("mnemosyne_vcs.engine.objectstore.packs.ORPHAN_AGE", timedelta(days=-1))
    engine.compact()
    assert not orphans & set(seaweedfs.keys(folder))
    assert stranger in seaweedfs.keys(folder)
    assert dict(engine.read(IDS[:3])) == {block: BLOCKS[block] for block in IDS[:3]}
    assert dict(open_engine(engine.url).refs("r")) == {f"r{n:03}": IDS[n] for n in range(3)}


def test_a_write_that_was_halted_for_too_long_names_nothing(engine, monkeypatch):
    """Its packs may have been swept meanwhile."""
    fill(engine, range(1))
    monkeypatch.setattr("mnemosyne_vcs.engine.objectstore.packs.ORPHAN_AGE", timedelta(seconds=-1))
    with pytest.raises(EngineError, match="halted for half a day; begin again"):
        engine.write({IDS[1]: BLOCKS[IDS[1]]}, RefUpdate("late", None, IDS[1]))
    monkeypatch.undo()
    assert engine.ref("late") is None
    assert dict(engine.read(IDS[:2])) == {IDS[0]: BLOCKS[IDS[0]]}


def test_a_refused_write_leaves_no_pack(seaweedfs, folder, engine):
    other = open_engine(engine.url)
    fill(engine, range(1))
    for late in (engine, other):
        with pytest.raises(RefConflictError):
            late.write({IDS[1]: BLOCKS[IDS[1]]}, RefUpdate("r000", None, IDS[1]))
    assert len(packs_in(seaweedfs, folder)) == 1


def test_who_knows_an_old_state_reads_on(engine, small):
    """Its packs and segments are gone from the bucket."""
    fill(engine, range(30))
    old = open_engine(engine.url)
    for _ in range(2):
        engine.compact()
        fill(engine, range(30, 60))
        engine.compact()
        assert dict(old.read(IDS[:30])) == {block: BLOCKS[block] for block in IDS[:30]}
        assert old.commits_of_key("k3") == [IDS[3]]
        assert len(old.refs("r")) == 60
        old = open_engine(engine.url)


def test_a_reader_of_merged_segments_finds_their_rows(engine, small):
    fill(engine, range(12))
    old = open_engine(engine.url)
    fill(engine, range(12, 80))
    assert dict(old.read(IDS[:12])) == {block: BLOCKS[block] for block in IDS[:12]}
    assert [entry.name for entry in old.reflog(None)][-1] == "r000"


def test_a_writer_may_merge_what_others_have_merged(engine, small):
    """By the state that it knows it would merge segments that are gone."""
    for number in range(60):
        late = open_engine(engine.url)
        for each, block in ((engine, IDS[number]), (late, IDS[100 + number])):
            each.add_to_index([IndexEntry(block, "t", ["k"])])
    assert engine.commits_of_key("k") == [
        IDS[number + more] for number in range(59, -1, -1) for more in (100, 0)
    ]


def test_segments_stay_few_whatever_their_sizes(seaweedfs, folder, url, small):
    """Small rows after large ones, over and over, as after loading in bulk."""
    engine = open_engine(url, create=True)
    for number in range(60):
        engine.add_to_index([IndexEntry(IDS[number], f"t{number}", ["x" * 300])])
        engine.add_to_index(
            [IndexEntry(IDS[100 + number], f"t{number}", [f"k{n}" for n in range(900)])]
        )
    assert len(engine._head.known().history.sealed) <= 12
    assert engine.commits_of_key("k7") == IDS[159:99:-1]
    assert len(engine.commits_of_transaction("t3")) == 2


def test_a_log_is_read_from_any_row_on(url, small):
    engine = open_engine(url, create=True)
    segments = Segments(engine._bucket, engine.url)
    log, rows = Log("epoch"), []
    for number in count():
        rows.append([number, "x" * (number % 40)])
        log = segments.compacted(log.with_rows(rows[-1:]))
        if number == 100:
            break
    assert log.count == len(rows)
    assert log.sealed
    for after in (0, 1, 17, log.sealed[0].rows, 99, 101, 200):
        assert list(segments.rows(log, after)) == rows[after:]


def test_deleting_beside_compaction_loses_nothing(engine, monkeypatch):
    """A compaction that others have overtaken says so, and the next one goes through."""
    fill(engine, range(6))
    other = open_engine(engine.url)
    put = engine._bucket.put

    def deleting(name, data):
        put(name, data)
        other.delete(IDS[:2])

    with monkeypatch.context() as overtaken:
        overtaken.setattr(engine._bucket, "put", deleting)
        with pytest.raises(BusyError, match="try again"):
            engine.compact()
    assert sorted(engine.ids()) == sorted(IDS[2:6])
    engine.compact()
    assert dict(engine.read(IDS)) == {block: BLOCKS[block] for block in IDS[2:6]}


def test_two_compactions_at_once(engine, monkeypatch):
    fill(engine, range(6))
    other = open_engine(engine.url)
    get = engine._bucket.get

    def compacting(name):
        other.compact()
        return get(name)

    with monkeypatch.context() as overtaken:
        overtaken.setattr(engine._bucket, "get", compacting)
        with pytest.raises(BusyError, match="try again"):
            engine.compact()
    assert dict(engine.read(IDS)) == {block: BLOCKS[block] for block in IDS[:6]}


def test_writers_and_readers_beside_compaction(counted_url, start, small):
    writers = [start("save", counted_url, f"w{n}", 25) for n in range(2)]
    reader = start("read", counted_url, "r", 15)
    go([*writers, reader])
    stop, failed = Event(), []

    def compact():
        with mnemosyne_vcs.open(counted_url) as repo:
            while not stop.is_set():
                try:
                    repo.blocks.engine.compact()
                except BusyError:
                    continue
                except EngineError as error:
                    failed.append(error)
                    return

    compactor = Thread(target=compact)
    compactor.start()
    acknowledged = commits_told(line for child in writers for line in child.finish())
    assert reader.finish()[-1].split()[0] == "read"
    stop.set()
    compactor.join()
    assert failed == []
    assert len(acknowledged) == 50
    assert_kept(counted_url, acknowledged)

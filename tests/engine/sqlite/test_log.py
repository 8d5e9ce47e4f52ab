"""The log beside a SQLite file: of another file, removed under its users, or without its file."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from random import Random

import apsw
import pytest

import mnemosyne_vcs
from children import ENGINE_CHILD
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.engine.sqlite.log import is_log_of
from mnemosyne_vcs.engine.sqlite.statements import begin_log
from mnemosyne_vcs.errors import BusyError, EngineError
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.ids import parse_id
from mnemosyne_vcs.testing._children import Child


def block_of(text):
    return object_id(text.encode()), text.encode()


def write_next(engine, text):
    block, data = block_of(text)
    engine.write({block: data}, RefUpdate("main", engine.ref("main"), block))
    return block


def texts(engine):
    return [
        next(iter(engine.read([parse_id(move.new)]).values())) for move in engine.reflog("main")
    ]


def names_in(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.mnem"


@pytest.fixture
def engine(path):
    engine = open_engine(path, create=True)
    yield engine
    engine.close()


def log_of(path):
    return Path(f"{path}-wal")


def left_by_a_killed_writer(path, moved=0, logged=3):
    """Leave file and log as they are if a writer dies, with commits in both; gives the last."""
    engine = open_engine(path)
    head = None
    for number in range(moved):
        head = write_next(engine, f"moved {number}")
    if moved:
        look = apsw.Connection(str(path))
        look.execute("PRAGMA wal_checkpoint").fetchall()
        look.close()
    for number in range(logged):
        head = write_next(engine, f"logged {number}")
    left = {name: Path(f"{path}{name}").read_bytes() for name in ("", "-wal")}
    engine.close()
    for name, data in left.items():
        Path(f"{path}{name}").write_bytes(data)
    return head


def copied_by_cp(engine, path, target):
    engine.close()
    shutil.copy(path, target)


def copied_by_backup(engine, path, target):
    engine.backup(str(target))
    engine.close()


def copied_by_sqlite(engine, path, target):
    engine.close()
    source, copy = apsw.Connection(str(path)), apsw.Connection(str(target))
    with copy.backup("main", source, "main") as copying:
        copying.step()
    copy.close()
    source.close()


def another_store(engine, path, target):
    engine.close()
    other = open_engine(target, create=True)
    write_next(other, "other")
    other.close()


@pytest.mark.parametrize(
    ("copied", "moved"),
    [
        *((copied, 0) for copied in (copied_by_backup, copied_by_sqlite, another_store)),
        *((copied, 5) for copied in (copied_by_backup, copied_by_sqlite, another_store)),
        (copied_by_cp, 5),
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_log_of_what_was_there_before_is_refused(
    engine, path, tmp_path, copied, moved, read_only
):
    write_next(engine, "x")
    copied(engine, path, tmp_path / "copy")
    left_by_a_killed_writer(path, moved)
    restored = (tmp_path / "copy").read_bytes()
    path.write_bytes(restored)
    with pytest.raises(EngineError, match=r"store\.mnem-wal is not the log.*delete") as raised:
        open_engine(path, read_only=read_only)
    assert f"{path}-shm" in str(raised.value)
    assert path.read_bytes() == restored
    log_of(path).unlink()
    expected = open_engine(tmp_path / "copy", read_only=True)
    again = open_engine(path, read_only=read_only)
    assert again.ref("main") == expected.ref("main")
    write_next(open_engine(path), "goes on")


def test_a_log_that_held_all_of_a_young_store_is_not_laid_over_a_backup(engine, path, tmp_path):
    url = engine.url
    with Child(ENGINE_CHILD, "commit_until_killed", path) as writer:
        writer.line()
        engine.backup(str(tmp_path / "copy"))
        writer.line()
        engine.close()
    (tmp_path / "copy").rename(path)
    with pytest.raises(EngineError, match="is not the log"):
        open_engine(url)


def test_a_log_that_begins_with_a_commit_of_a_few_pages_tells_too(engine, path, tmp_path):
    write_next(engine, "x")
    engine.backup(str(tmp_path / "copy"))
    engine.set_setting("remote/a", "1")
    engine.close()
    engine.set_setting("remote/a", "2")
    log = log_of(path).read_bytes()
    engine.close()
    (tmp_path / "copy").rename(path)
    log_of(path).write_bytes(log)
    with pytest.raises(EngineError, match="is not the log"):
        open_engine(path)


@pytest.mark.parametrize("moved", [0, 1, 7])
@pytest.mark.parametrize("logged", [1, 4])
def test_a_store_whose_writer_was_killed_opens_with_its_log(engine, path, moved, logged):
    engine.close()
    for _ in range(3):
        head = left_by_a_killed_writer(path, moved, logged)
        assert open_engine(path, read_only=True).ref("main") == head
        again = open_engine(path)
        assert again.ref("main") == head
        again.close()


def test_a_log_survives_what_moves_it_restarts_it_and_writes_the_file_anew(engine, path):
    header = path.read_bytes()
    for round_ in range(4):
        for number in range(3):
            write_next(engine, f"{round_} {number}")
        engine.set_setting("remote/a", str(round_))
        for mode in ("PASSIVE", "FULL", "RESTART", "TRUNCATE"):
            connection = apsw.Connection(str(path))
            connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
            assert is_log_of(str(path), path.read_bytes()[:100])
            write_next(engine, f"{round_} {mode}")
            assert is_log_of(str(path), path.read_bytes()[:100])
            connection.close()
        engine.compact()
        write_next(engine, f"{round_} compacted")
        assert is_log_of(str(path), path.read_bytes()[:100])
    assert not is_log_of(str(path), header[:100])


@pytest.mark.parametrize("moved_by", ["wal_checkpoint", "wal_checkpoint(TRUNCATE)"])
@pytest.mark.parametrize("act", ["write", "compact", "set"])
def test_a_copy_from_before_a_session_is_told_from_what_the_session_moved(
    engine, path, act, moved_by
):
    """One connection writes, has its log moved to the file, and begins the log anew."""
    for number in range(50):
        engine.write(dict([block_of(f"{number}" * 50)]))
    engine.close()
    copy = path.read_bytes()
    write_next(engine, "x")
    look = apsw.Connection(str(path))
    look.execute(f"PRAGMA {moved_by}").fetchall()
    if act == "write":
        write_next(engine, "y")
    elif act == "set":
        engine.set_setting("remote/a", "y")
    else:
        with engine._pool.lend() as connection:
            begin_log(connection)
            connection.execute("VACUUM")
    log = log_of(path).read_bytes()
    look.close()
    engine.close()
    path.write_bytes(copy)
    log_of(path).write_bytes(log)
    with pytest.raises(EngineError, match="is not the log"):
        open_engine(path)


@pytest.mark.parametrize("cut", [0, 1, 31, 32, 55, 56, 1000, 2103])
def test_a_log_without_a_whole_frame_is_no_obstacle(engine, path, cut):
    write_next(engine, "x")
    engine.close()
    write_next(engine, "y")
    log = log_of(path).read_bytes()
    engine.close()
    log_of(path).write_bytes(log[:cut])
    assert is_log_of(str(path), bytes(100))
    assert texts(open_engine(path)) == [b"y", b"x"]


def test_a_damaged_frame_ends_a_log(engine, path):
    write_next(engine, "x")
    engine.close()
    write_next(engine, "y")
    log = bytearray(log_of(path).read_bytes())
    engine.close()
    log[60] ^= 1
    log_of(path).write_bytes(log)
    assert is_log_of(str(path), bytes(100))


def test_new_stores_and_backups_have_cookies_of_their_own(engine, path, tmp_path):
    other = open_engine(tmp_path / "other", create=True)
    for store, name in ((engine, "a"), (engine, "b"), (other, "c")):
        store.backup(str(tmp_path / name))
    files = [path, *(tmp_path / name for name in ("other", "a", "b", "c"))]
    assert len({file.read_bytes()[40:44] for file in files}) == len(files)


@pytest.mark.parametrize("options", [{}, {"create": True}, {"read_only": True}])
def test_a_log_without_its_file_is_kept(engine, path, tmp_path, options):
    engine.close()
    head = left_by_a_killed_writer(path)
    log = log_of(path).read_bytes()
    path.rename(tmp_path / "moved")
    for empty in (False, True):
        if empty:
            path.touch()
        with pytest.raises(EngineError, match=r"store\.mnem-wal is there without its store"):
            open_engine(path, **options)
        assert log_of(path).read_bytes() == log
    (tmp_path / "moved").rename(path)
    assert open_engine(path).ref("main") == head


def look_with_another_sqlite(path):
    """Open and close a store with Python's own SQLite, as notebooks do: it removes the log."""
    connection = sqlite3.connect(path)
    connection.execute("SELECT count(*) FROM objects").fetchall()
    connection.close()


def write_elsewhere(path, text):
    code = (
        "import sys; from mnemosyne_vcs.engine import open_engine\n"
        "from mnemosyne_vcs.engine.protocol import RefUpdate\n"
        "from mnemosyne_vcs.format.objects import object_id\n"
        "engine = open_engine(sys.argv[1]); data = sys.argv[2].encode(); block = object_id(data)\n"
        "engine.write({block: data}, RefUpdate('main', engine.ref('main'), block))\n"
        "engine.close()\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path), text], check=True)


@pytest.mark.parametrize("engines", [1, 3])
def test_another_sqlite_in_the_process_costs_no_commit(engine, path, engines):
    mine = [engine, *(open_engine(path) for _ in range(engines - 1))]
    reader = open_engine(path, read_only=True)
    expected = []
    for round_ in range(3):
        for number, store in enumerate(mine):
            expected.append(f"before {round_} {number}")
            write_next(store, expected[-1])
        look_with_another_sqlite(path)
        assert not log_of(path).exists()
        expected.append(f"elsewhere {round_}")
        write_elsewhere(path, expected[-1])
        for store in (reader, *mine):
            assert store.ref("main") == block_of(expected[-1])[0]
    said = [text.encode() for text in expected[::-1]]
    assert all(texts(store) == said for store in (reader, *mine))
    for store in (reader, *mine):
        store.close()
    assert texts(open_engine(path)) == said
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    assert not list(path.parent.glob("*.kept"))


def test_a_transaction_that_lost_its_log_writes_nothing(engine, path):
    first = write_next(engine, "x")

    def hindered():
        with engine.exclusive():
            write_next(engine, "y")
            look_with_another_sqlite(path)

    with pytest.raises(EngineError, match=r"replaced.*nothing was written"):
        hindered()
    assert engine.ref("main") == first
    assert write_next(engine, "z") == open_engine(path, read_only=True).ref("main")


def test_another_store_object_does_not_join_a_transaction_that_lost_its_log(engine, path):
    write_next(engine, "x")
    other = open_engine(path)
    with pytest.raises(EngineError, match="in the middle of a transaction"), engine.exclusive():
        look_with_another_sqlite(path)
        other.ref("main")
    assert other.ref("main") == block_of("x")[0]
    other.close()


def test_those_who_wait_for_a_transaction_without_its_log_are_told(engine, path):
    write_next(engine, "x")
    impatient = open_engine(path, busy_timeout=0.05)
    said = []

    def ask():
        try:
            said.append(impatient.ref("main"))
        except BusyError as error:
            said.append(error)

    with pytest.raises(EngineError, match="replaced"), engine.exclusive():
        look_with_another_sqlite(path)
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(60)
    assert isinstance(said[0], BusyError)
    assert impatient.ref("main") == block_of("x")[0]
    impatient.close()


def test_a_commit_whose_log_went_while_it_was_written_is_looked_for(tmp_path):
    repo = mnemosyne_vcs.open(tmp_path / "a.mnem", create=True)
    repo.put("k", 1)
    engine = repo.blocks.engine
    with engine._pool.lend() as connection:
        pass
    hook = lambda *_: look_with_another_sqlite(tmp_path / "a.mnem")  # noqa: E731
    connection.set_wal_hook(lambda *each: (hook(*each), apsw.SQLITE_OK)[1])
    repo.put("k", 2)
    assert repo.at()["k"].content == 2
    again = mnemosyne_vcs.open(tmp_path / "a.mnem", read_only=True)
    assert again.resolve() == repo.resolve()


@pytest.mark.parametrize("suffixes", [("-wal", "-shm"), ("-wal",)])
@pytest.mark.parametrize("act", ["read", "write"])
def test_commits_in_a_log_that_was_deleted_are_kept_and_told_of(engine, path, suffixes, act):
    moved = write_next(engine, "moved")
    with engine._pool.lend() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    lost = write_next(engine, "lost")
    path.chmod(0o600)
    for suffix in suffixes:
        Path(f"{path}{suffix}").unlink()
    with pytest.raises(EngineError, match=r"removed .*store\.mnem-wal.*pull") as raised:
        engine.ref("main") if act == "read" else engine.write(dict([block_of("z")]))
    assert engine.ref("main") == moved
    [kept] = path.parent.glob("*.kept")
    assert kept.stat().st_mode == path.stat().st_mode
    assert str(kept) in str(raised.value)
    copy = open_engine(kept, read_only=True)
    assert copy.ref("main") == lost
    engine.write(dict([block_of("lost")]), RefUpdate("main", moved, lost))
    assert open_engine(path).ref("main") == lost


def test_a_log_that_was_deleted_when_all_of_it_was_moved_is_not_missed(engine, path):
    write_next(engine, "x")
    with engine._pool.lend() as connection:
        connection.execute("PRAGMA wal_checkpoint").fetchall()
    log_of(path).unlink()
    assert write_next(engine, "y") == open_engine(path).ref("main")
    assert names_in(path.parent) == ["store.mnem", "store.mnem-shm", "store.mnem-wal"]


def test_an_index_of_the_log_that_was_deleted_is_noticed(engine, path):
    write_next(engine, "x")
    with engine._pool.lend() as connection:
        connection.execute("PRAGMA wal_checkpoint").fetchall()
    Path(f"{path}-shm").unlink()
    write_elsewhere(path, "y")
    assert engine.ref("main") == block_of("y")[0]
    write_next(engine, "z")
    write_elsewhere(path, "w")
    assert texts(engine) == [b"w", b"z", b"y", b"x"]


def test_closing_leaves_alone_a_log_that_is_another_ones(engine, path):
    write_next(engine, "x")
    look_with_another_sqlite(path)
    with Child(ENGINE_CHILD, "commit_until_killed", path) as writer:
        said = [writer.line(), *writer.kill()]
    log = log_of(path).read_bytes()
    engine.close()
    assert log_of(path).read_bytes() == log
    assert all(engine.read([parse_id(commit)]) for commit in said)


def test_threads_lose_nothing_that_was_acknowledged(engine, path):
    """Another SQLite in the process removes the log again and again while threads write.

    What it removes before it has moved it is kept in a copy, and told of.
    """
    stop, acknowledged, told, errors = threading.Event(), [], [], []

    def work(name):
        number = 0
        while not stop.is_set():
            number += 1
            block, data = block_of(f"{name} {number}")
            try:
                engine.write({block: data}, RefUpdate(f"{name} {number}", None, block))
            except EngineError as error:
                if "removed" in str(error):
                    told.append(str(error))
                elif "replaced" not in str(error):
                    errors.append(error)
                    return
            else:
                acknowledged.append(block)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        look_with_another_sqlite(path)
    stop.set()
    for thread in threads:
        thread.join(60)
    assert errors == []
    kept = list(path.parent.glob("*.kept"))
    assert all(any(str(copy) in said for said in told) for copy in kept)
    found = [open_engine(copy, read_only=True).read(acknowledged) for copy in (path, *kept)]
    assert set().union(*found) == set(acknowledged) != set()
    engine.close()
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


class Life:
    """What can happen to a store, by chance."""

    def __init__(self, path, random):
        self.path, self.random, self.engines = path, random, []

    def open(self):
        self.engines.append(open_engine(self.path))
        self.engines[-1].ref("main")

    def close(self):
        if self.engines:
            self.engines.pop(self.random.randrange(len(self.engines))).close()

    def write(self):
        if self.engines:
            write_next(self.random.choice(self.engines), self.random.randbytes(2000).hex())

    def set(self):
        if self.engines:
            self.random.choice(self.engines).set_setting("remote/a", str(self.random.random()))

    def compact(self):
        if self.engines:
            self.random.choice(self.engines).compact()

    def move(self):
        mode = self.random.choice(["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
        connection = apsw.Connection(str(self.path))
        connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
        connection.close()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_crash_leaves_is_accepted_and_no_copy_is_spoilt(path, tmp_path, seed):
    open_engine(path, create=True).close()
    life = Life(path, Random(seed))
    acts = [life.open, life.close, life.set, life.compact, *[life.move] * 2, *[life.write] * 4]
    copies = []
    for _ in range(150):
        life.random.choice(acts)()
        file = path.read_bytes()
        log = log_of(path).read_bytes() if log_of(path).exists() else b""
        assert is_log_of(str(path), file[:100])
        if not log:
            copies = [*copies[-5:], file]
        elif copies:
            copy = tmp_path / "copy"
            copy.write_bytes(life.random.choice(copies))
            log_of(copy).write_bytes(log)
            if is_log_of(str(copy), copy.read_bytes()[:100]):
                connection = apsw.Connection(str(copy))
                assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                connection.close()
            for suffix in ("", "-wal", "-shm"):
                Path(f"{copy}{suffix}").unlink(missing_ok=True)
    for engine in life.engines:
        engine.close()

"""SQLite stores shared by processes: races, locks, forks and deaths."""

import os
import threading

import apsw
import pytest

from children import ENGINE_CHILD
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.engine.sqlite.statements import begin_log
from mnemosyne_vcs.errors import BusyError, EngineError
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.ids import parse_id, text_id
from mnemosyne_vcs.testing._children import Child, go


def child(*arguments):
    return Child(ENGINE_CHILD, *arguments)


def chain(engine, ref="main"):
    """The texts of a chain that `child.append` made, newest first."""
    texts, head = [], engine.ref(ref)
    while head is not None:
        before, text = engine.read([head])[head].decode().split(" ")
        texts.append(text)
        head = parse_id(before) if before else None
    return texts


def check_integrity(path):
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


@pytest.fixture
def engine(tmp_path):
    engine = open_engine(tmp_path / "store.mnem", create=True)
    yield engine
    engine.close()


def block_of(text):
    return object_id(text.encode()), text.encode()


def test_four_processes_of_a_hundred_commits_all_land(engine, tmp_path):
    names = "abcd"
    with child("race", engine.url, "a", 100) as a, child("race", engine.url, "b", 100) as b:  # noqa: SIM117
        with child("race", engine.url, "c", 100) as c, child("race", engine.url, "d", 100) as d:
            racers = [a, b, c, d]
            go(racers)
            assert [racer.line() for racer in racers] == ["done"] * 4
    landed = chain(engine)
    assert sorted(landed) == sorted(f"{name}-{n}" for name in names for n in range(100))
    assert [entry.author for entry in engine.reflog("main")] == landed
    assert len(engine.commits_of_key("a-0")) == 1
    engine.close()
    check_integrity(tmp_path / "store.mnem")


def test_nothing_acknowledged_is_lost_by_twenty_kills(engine, tmp_path):
    acknowledged = []
    for kill in range(20):
        with child("commit_until_killed", engine.url) as process:
            acknowledged += [process.line() for _ in range(kill % 7 + 1)]
            acknowledged += process.kill()
        head = engine.ref("main")
        assert head is not None
        ids = [parse_id(text) for text in acknowledged]
        assert set(engine.read(ids)) == set(ids)
        moves = [entry.new for entry in engine.reflog("main")]
        assert set(map(text_id, ids)) <= set(moves)
        assert moves[0] == text_id(head)
        assert len(chain(engine)) == len(moves)
    engine.close()
    check_integrity(tmp_path / "store.mnem")


def test_a_lock_held_by_another_process_is_busy_after_the_timeout(engine):
    impatient = open_engine(engine.url, busy_timeout=0.05)
    with child("hold", engine.url) as holder:
        assert holder.line() == "held"
        for act in (
            lambda: impatient.write(dict([block_of("x")])),
            lambda: impatient.exclusive().__enter__(),
            impatient.clear_index,
        ):
            with pytest.raises(BusyError, match=r"store\.mnem"):
                act()
        assert impatient.ref("main") is None
        assert impatient.read([block_of("x")[0]]) == {}
        holder.go()
        assert holder.line() == "released"
    impatient.write(dict([block_of("x")]), RefUpdate("main", None, block_of("x")[0]))
    assert engine.ref("main") == block_of("x")[0]
    impatient.close()


def test_a_write_begins_while_another_process_is_at_the_end_of_a_commit(engine, tmp_path):
    engine.write(dict([block_of("x")]))
    connection = apsw.Connection(str(tmp_path / "store.mnem"))
    assert connection.pragma("user_version") > 0
    with child("end_a_commit", tmp_path / "store.mnem") as other:
        assert other.line() == "held"
        with pytest.raises(apsw.BusyError):
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        begin_log(connection)
        other.go()
        assert other.line() == "released"
    connection.close()
    engine.write(dict([block_of("y")]), RefUpdate("main", None, block_of("y")[0]))
    assert engine.ref("main") == block_of("y")[0]


def test_a_lock_held_by_another_thread_is_busy_after_the_timeout(engine):
    impatient = open_engine(engine.url, busy_timeout=0.05)
    failures = []

    def write():
        try:
            impatient.write(dict([block_of("x")]))
        except BusyError as error:
            failures.append(error)

    with impatient.exclusive():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(60)
    assert len(failures) == 1
    impatient.write(dict([block_of("x")]))
    impatient.close()


def test_processes_that_make_one_store_at_once_share_it(tmp_path):
    path = tmp_path / "new" / "store.mnem"
    with child("create", path) as a, child("create", path) as b, child("create", path) as c:
        makers = [a, b, c]
        go(makers)
        assert [maker.line() for maker in makers] == ["done"] * 3
    engine = open_engine(path)
    assert chain(engine) == ["x"] * 3
    engine.close()


def forked(act):
    """What a function returns in a forked child, as text."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = str(act())
        except BaseException as error:  # noqa: BLE001 - told to the parent
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return answer


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


def write_next(engine, text):
    block, data = block_of(text)
    engine.write({block: data}, RefUpdate("main", engine.ref("main"), block))
    return text


@needs_fork
def test_a_forked_child_and_its_parent_go_on_with_one_store(engine, tmp_path):
    for number in range(5):
        write_next(engine, f"parent {number}")
        assert forked(lambda: write_next(engine, "child")) == "child"
        assert engine.ref("main") == block_of("child")[0]
    engine.close()
    check_integrity(tmp_path / "store.mnem")


@needs_fork
def test_what_a_child_writes_after_its_parent_closed_is_kept(engine, tmp_path):
    write_next(engine, "before")
    closed, done = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            write_next(engine, "first of the child")
            os.write(done[1], b"1")
            os.read(closed[0], 1)
            write_next(engine, "second of the child")
            status = 0
        finally:
            os._exit(status)
    os.read(done[0], 1)
    engine.close()
    os.write(closed[1], b"1")
    assert os.waitpid(pid, 0)[1] == 0
    assert engine.ref("main") == block_of("second of the child")[0]
    for descriptor in (*closed, *done):
        os.close(descriptor)
    check_integrity(tmp_path / "store.mnem")


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forks_while_threads_are_in_the_middle_of_use(engine, tmp_path):
    stop = threading.Event()
    errors = []

    def work(name):
        number = 0
        try:
            while not stop.is_set():
                block, data = block_of(f"{name} {number}")
                engine.write({block: data}, RefUpdate(name, engine.ref(name), block))
                assert engine.ref(name) == block
                number += 1
        except Exception as error:  # noqa: BLE001 - told to the parent
            errors.append(error)

    threads = [threading.Thread(target=work, args=(f"thread {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(10):
            assert forked(lambda n=number: write_next(engine, f"child {n}")) == f"child {number}"
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert errors == []
    assert engine.ref("main") == block_of("child 9")[0]
    assert len(list(engine.reflog("main"))) == 10
    engine.close()
    check_integrity(tmp_path / "store.mnem")


@needs_fork
def test_a_fork_inside_a_transaction_leaves_it_to_the_parent(engine):
    def use_inherited():
        with pytest.raises(EngineError, match="forked"):
            write_next(engine, "child")
        with pytest.raises(EngineError, match="forked"):
            open_engine(engine.url).ref("main")
        return "refused"

    with engine.exclusive():
        write_next(engine, "parent 1")
        assert forked(use_inherited) == "refused"
        write_next(engine, "parent 2")
    assert engine.ref("main") == block_of("parent 2")[0]


@needs_fork
def test_a_child_that_leaves_its_parents_transaction_does_not_end_it(engine):
    reading, writing = os.pipe()
    pid = 1
    try:
        with engine.exclusive():
            write_next(engine, "parent")
            pid = os.fork()
        outcome = "committed"
    except EngineError as error:
        outcome = str(error)
    if pid == 0:
        os.write(writing, outcome.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert outcome == "committed"
    assert "forked" in os.read(reading, 10_000).decode()
    os.close(reading)
    os.close(writing)
    assert engine.ref("main") == block_of("parent")[0]

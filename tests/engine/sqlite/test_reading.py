"""Reading SQLite stores: nothing is left behind, nobody is kept out, and links change nothing."""

import os
import shutil
import tempfile
import threading
from pathlib import Path

import apsw
import pytest

from children import ENGINE_CHILD
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.engine.sqlite.reading import Still
from mnemosyne_vcs.errors import EngineError, ReadOnlyError
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.testing._children import Child
from users import as_user

OWNER, GUEST = 1001, 1002
two_users = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs two users"
)


def names_in(directory):
    return sorted(path.name for path in directory.iterdir())


def block_of(text):
    return object_id(text.encode()), text.encode()


def write_next(engine, text):
    block, data = block_of(text)
    engine.write({block: data}, RefUpdate("main", engine.ref("main"), block))
    return block


def write_once(path, text):
    engine = open_engine(path)
    write_next(engine, text)
    engine.close()
    return "written"


def read_once(path):
    engine = open_engine(path, read_only=True)
    head = engine.ref("main")
    text = engine.read([head])[head].decode()
    engine.close()
    return text


def kind_of_connection(engine):
    with engine._pool.lend() as connection:
        return type(connection)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "store.mnem"
    engine = open_engine(path, create=True)
    write_next(engine, "x")
    engine.close()
    return path


@pytest.fixture
def shared():
    """A directory that two users may write, with a store of one of them, closed."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o1777)
    path = directory / "store.mnem"
    engine = open_engine(path, create=True)
    write_next(engine, "x")
    engine.close()
    os.chown(path, OWNER, OWNER)
    path.chmod(0o644)
    yield path
    shutil.rmtree(directory)


def test_reading_leaves_nothing_behind(path):
    before = path.read_bytes(), path.stat().st_mtime_ns
    reader = open_engine(path, read_only=True)
    assert reader.ref("main") == block_of("x")[0]
    assert names_in(path.parent) == ["store.mnem"]
    reader.close()
    assert names_in(path.parent) == ["store.mnem"]
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_backup_is_read_as_it_is(path, tmp_path):
    engine = open_engine(path)
    engine.backup(str(tmp_path / "copy"))
    engine.close()
    assert read_once(tmp_path / "copy") == "x"
    assert names_in(tmp_path) == ["copy", "store.mnem"]


def test_a_reader_sees_what_a_later_writer_writes_and_moves_and_leaves(path):
    reader = open_engine(path, read_only=True)
    assert reader.ref("main") == block_of("x")[0]
    writer = open_engine(path)
    for number in range(5):
        head = write_next(writer, f"{number}")
        assert reader.ref("main") == head
        with writer._pool.lend() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert reader.ref("main") == head
    writer.compact()
    writer.close()
    assert reader.ref("main") == head
    assert write_once(path, "y") == "written"
    assert reader.ref("main") == block_of("y")[0]
    reader.close()
    assert read_once(path) == "y"
    write_once(path, "z")
    assert names_in(path.parent) == ["store.mnem"]


def test_an_answer_of_a_file_that_changed_meanwhile_is_not_given(path):
    reader = open_engine(path, read_only=True)
    assert kind_of_connection(reader) is Still
    seen = []

    def question(connection):
        head = connection.execute("SELECT target FROM refs WHERE name = 'main'").fetchall()
        if not seen:
            write_once(path, "y")
        seen.append((type(connection), head))
        return head

    [(head,)] = reader._ask(question)
    assert head == block_of("y")[0]
    assert [kind for kind, _ in seen] == [Still, apsw.Connection]
    seen.clear()

    def failing(connection):
        if not seen:
            seen.append(1)
            write_once(path, "z")
            raise apsw.CorruptError("half of it is new")
        return "asked again"

    reader.close()
    write_once(path, "w")
    assert kind_of_connection(reader) is Still
    assert reader._ask(failing) == "asked again"
    reader.close()


def test_a_backup_of_a_file_that_changes_meanwhile_is_whole(path, tmp_path):
    reader = open_engine(path, read_only=True)
    assert kind_of_connection(reader) is Still
    writer = open_engine(path)
    head = write_next(writer, "y")
    reader.backup(str(tmp_path / "copy"))
    assert open_engine(tmp_path / "copy", read_only=True).ref("main") == head
    writer.close()


def test_reading_does_not_keep_a_copy_from_its_first_writer(path, tmp_path):
    engine = open_engine(path)
    engine.backup(str(tmp_path / "copy"))
    engine.close()
    reader = open_engine(tmp_path / "copy", read_only=True)
    assert reader.ref("main") == block_of("x")[0]
    writer = open_engine(tmp_path / "copy", busy_timeout=0.5)
    assert write_next(writer, "y") == reader.ref("main")
    writer.close()
    assert reader.ref("main") == block_of("y")[0]


def test_readers_in_threads_follow_writers_that_come_and_go(path):
    reader = open_engine(path, read_only=True)
    stop, errors = threading.Event(), []

    def follow():
        while not stop.is_set():
            try:
                head = reader.ref("main")
                assert head in reader.read([head])
            except Exception as error:  # noqa: BLE001 - told to the main thread
                errors.append(error)
                return

    threads = [threading.Thread(target=follow) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(40):
        write_once(path, f"{number}")
    stop.set()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert reader.ref("main") == block_of("39")[0]


@two_users
def test_a_reader_does_not_lock_out_the_owner(shared):
    assert as_user(GUEST, lambda: read_once(shared)) == "x"
    assert names_in(shared.parent) == ["store.mnem"]
    assert as_user(OWNER, lambda: write_once(shared, "y")) == "written"
    assert as_user(GUEST, lambda: read_once(shared)) == "y"


@two_users
def test_a_reader_who_stays_does_not_lock_out_the_owner(shared):
    def stay():
        engine = open_engine(shared, read_only=True)
        seen = [engine.ref("main")]
        assert as_user_of_child(lambda: write_once(shared, "y"))
        seen.append(engine.ref("main"))
        return seen == [block_of("x")[0], block_of("y")[0]]

    go, done = os.pipe(), os.pipe()

    def as_user_of_child(_act):
        os.write(go[1], b"1")
        return os.read(done[0], 1)

    said = []
    guest = threading.Thread(target=lambda: said.append(as_user(GUEST, stay)))
    guest.start()
    os.read(go[0], 1)
    wrote = as_user(OWNER, lambda: write_once(shared, "y"))
    os.write(done[1], b"1")
    guest.join(60)
    assert (wrote, said) == ("written", ["True"])


@two_users
def test_a_file_of_another_user_in_the_way_is_named(shared):
    for suffix in ("-wal", "-shm"):
        file = Path(f"{shared}{suffix}")
        file.touch(mode=0o644)
        os.chown(file, GUEST, GUEST)
    answer = as_user(OWNER, lambda: write_once(shared, "y"))
    assert answer.split(":")[0] in ("ReadOnlyError", "EngineError")
    for part in (f"{shared}-shm", f"user {GUEST}", "chown"):
        assert part in answer


@two_users
def test_a_log_without_its_index_is_not_given_one_by_a_guest(shared):
    writer = open_engine(shared)
    write_next(writer, "y")
    log = Path(f"{shared}-wal")
    left = log.read_bytes()
    file = shared.read_bytes()
    writer.close()
    shared.write_bytes(file)
    log.write_bytes(left)
    os.chown(log, OWNER, OWNER)
    answer = as_user(GUEST, lambda: read_once(shared))
    assert answer.startswith(f"EngineError: {shared} has writes in {log}")
    assert names_in(shared.parent) == ["store.mnem", "store.mnem-wal"]
    assert as_user(OWNER, lambda: write_once(shared, "z")) == "written"


@two_users
@pytest.mark.parametrize("writer", ["killed", "alive"])
def test_by_a_link_a_reader_without_rights_sees_what_it_sees_by_the_path(shared, writer):
    link = Path(tempfile.mkdtemp()) / "link.mnem"
    link.parent.chmod(0o755)
    link.symlink_to(shared)
    shared.parent.chmod(0o755)
    with Child(ENGINE_CHILD, "commit_until_killed", shared) as child:
        child.line()
        if writer == "killed":
            child.kill()
        by_path, by_link = (
            as_user(GUEST, lambda p=place: sees_more_than(p, block_of("x")[0]))
            for place in (shared, link)
        )
    if writer == "alive":
        assert (by_path, by_link) == ("True", "True")
    else:
        assert by_path == by_link
        assert by_path == "True" or by_path.startswith(f"EngineError: {shared} has writes")
    shutil.rmtree(link.parent)


def sees_more_than(path, head):
    return open_engine(path, read_only=True).ref("main") != head


def test_the_size_of_a_linked_store_has_its_log(path, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.mnem"
    link.symlink_to(path)
    engine, linked = open_engine(path), open_engine(link)
    write_next(linked, "y")
    assert linked.size() == engine.size() > path.stat().st_size
    assert names_in(link.parent) == ["link.mnem"]
    assert linked.ref("main") == engine.ref("main")
    engine.close()
    linked.close()


def test_a_link_that_leads_elsewhere_later_is_followed(path, tmp_path):
    link = tmp_path / "link.mnem"
    link.symlink_to(path)
    linked, reader = open_engine(link), open_engine(link, read_only=True)
    write_next(linked, "y")
    other = open_engine(tmp_path / "other.mnem", create=True)
    write_next(other, "other")
    (tmp_path / "new").symlink_to(tmp_path / "other.mnem")
    (tmp_path / "new").rename(link)
    assert linked.ref("main") == reader.ref("main") == block_of("other")[0]
    assert write_next(linked, "z") == other.ref("main")
    assert read_once(path) == "y"
    for engine in (linked, reader, other):
        engine.close()


def test_a_hard_link_is_read_and_not_written(path, tmp_path):
    os.link(path, tmp_path / "second.mnem")
    for name in (path, tmp_path / "second.mnem"):
        with pytest.raises(EngineError, match="2 names") as raised:
            open_engine(name)
        assert str(name) in str(raised.value)
        assert not isinstance(raised.value, ReadOnlyError)
        assert read_once(name) == "x"
    (tmp_path / "second.mnem").unlink()
    assert write_once(path, "y") == "written"

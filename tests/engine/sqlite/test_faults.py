"""SQLite stores on disks that are full, read-only, or changed under the engine's feet."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import apsw
import pytest

from children import ENGINE_CHILD
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.errors import (
    AlreadyExistsError,
    CorruptObjectError,
    EngineError,
    NotFoundError,
    ReadOnlyError,
)
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.ids import parse_id
from mnemosyne_vcs.testing.engines import in_threads
from users import as_nobody


def names_in(directory):
    return sorted(path.name for path in directory.iterdir())


def block_of(text):
    return object_id(text.encode()), text.encode()


def write_next(engine, text):
    block, data = block_of(text)
    engine.write({block: data}, RefUpdate("main", engine.ref("main"), block))
    return block


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.mnem"


@pytest.fixture
def engine(path):
    engine = open_engine(path, create=True)
    yield engine
    engine.close()


def check_integrity(path):
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


@pytest.mark.parametrize("limit", [300_000, 1_000_000, 3_000_000])
def test_a_full_disk_is_named_and_leaves_no_half_write(engine, path, limit):
    pytest.importorskip("resource")
    run = subprocess.run(
        [sys.executable, ENGINE_CHILD, "fill", engine.url, str(limit)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    *wrote, failed, left = run.stdout.splitlines()
    assert failed.startswith(f"failed False {path}: ")
    assert f"{limit:,} bytes here (ulimit -f)" in failed
    assert left == "left True True"
    assert engine.ref("main") == parse_id(wrote[-1].split()[1])
    assert write_next(engine, "afterwards") == engine.ref("main")
    engine.close()
    check_integrity(path)


def test_a_full_disk_inside_exclusive_undoes_all_of_it(engine):
    with engine._pool.lend() as connection:
        pages = connection.pragma("page_count")
    limited = open_engine(engine.url)
    with limited._pool.lend() as connection:
        connection.pragma("max_page_count", pages + 10)
    big = {object_id(data := bytes([n]) * 20_000): data for n in range(5)}
    with pytest.raises(EngineError, match="free space"), limited.exclusive():
        limited.write(dict([block_of("small")]), RefUpdate("main", None, block_of("small")[0]))
        limited.write(big)
    assert engine.ref("main") is None
    with pytest.raises(EngineError, match="undone"), limited.exclusive():
        limited._held[1].pragma("max_page_count", pages + 10)
        with pytest.raises(EngineError, match="free space"):
            limited.write(big)
        limited.write({}, RefUpdate("main", None, block_of("small")[0]))
    assert engine.ref("main") is None
    limited.close()


def test_a_store_opened_for_reading_is_not_changed(engine, path):
    write_next(engine, "x")
    engine.close()
    before = path.read_bytes(), path.stat().st_mtime_ns
    reader = open_engine(path, read_only=True)
    assert reader.ref("main") == block_of("x")[0]
    for refuse in (reader.clear_index, lambda: reader.add_to_index([]), lambda: reader.write({})):
        with pytest.raises(ReadOnlyError, match=r"store\.mnem"):
            refuse()
    reader.close()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


@pytest.fixture
def guarded():
    """A directory that others may read and nobody may write, with a closed store in it."""
    directory = Path(tempfile.mkdtemp())
    engine = open_engine(directory / "store.mnem", create=True)
    write_next(engine, "x")
    engine.close()
    (directory / "store.mnem").chmod(0o444)
    directory.chmod(0o555)
    yield directory / "store.mnem"
    directory.chmod(0o755)
    shutil.rmtree(directory)


def test_a_store_that_may_not_be_written_can_be_read(guarded):
    def read():
        engine = open_engine(guarded, read_only=True)
        return engine.ref("main") == block_of("x")[0], engine.read([block_of("x")[0]])

    assert as_nobody(read) == str((True, dict([block_of("x")])))
    assert as_nobody(lambda: open_engine(guarded)).startswith(f"ReadOnlyError: {guarded}")
    assert names_in(guarded.parent) == ["store.mnem"]


def test_a_store_that_may_not_be_made_is_read_only(guarded):
    answer = as_nobody(lambda: open_engine(guarded.with_name("other"), create=True))
    assert answer.startswith("ReadOnlyError") and "other" in answer
    answer = as_nobody(lambda: open_engine(guarded.parent / "new" / "other", create=True))
    assert answer.startswith("ReadOnlyError") and "other" in answer


def test_a_file_that_may_be_written_in_a_directory_that_may_not(guarded):
    guarded.chmod(0o666)
    answer = as_nobody(lambda: write_next(open_engine(guarded), "y"))
    assert answer.split(":")[0] in ("ReadOnlyError", "EngineError")
    assert str(guarded) in answer and "directory" in answer
    assert open_engine(guarded, read_only=True).ref("main") == block_of("x")[0]


def test_an_unreadable_store_is_named(guarded):
    guarded.chmod(0o000)
    for read_only in (False, True):
        answer = as_nobody(lambda r=read_only: open_engine(guarded, read_only=r))
        assert answer.startswith(f"EngineError: {guarded}")
        assert "user" in answer


def test_a_reader_without_write_access_follows_a_writer(guarded):
    asking, answering = os.pipe(), os.pipe()

    def follow():
        engine = open_engine(guarded, read_only=True)
        seen = [engine.ref("main")]
        for _ in range(2):
            os.write(answering[1], b"1")
            os.read(asking[0], 1)
            seen.append(engine.ref("main"))
        return [block_of(text)[0] for text in "xyz"] == seen

    def write():
        writer = open_engine(guarded)
        for text in "yz":
            os.read(answering[0], 1)
            write_next(writer, text)
            os.write(asking[1], b"1")
        writer.close()

    if os.geteuid() != 0:
        pytest.skip("needs two users")
    thread = threading.Thread(target=write)
    reader = []
    follower = threading.Thread(target=lambda: reader.append(as_nobody(follow)))
    follower.start()
    thread.start()
    thread.join(60)
    follower.join(60)
    assert reader == ["True"]
    for descriptor in (*asking, *answering):
        os.close(descriptor)


def test_a_read_only_file_system(engine, path):
    write_next(engine, "x")
    engine.close()
    script = (
        "import sys\n"
        "from mnemosyne_vcs.engine import open_engine\n"
        "url = sys.argv[1]\n"
        "print(open_engine(url, read_only=True).ref('main').hex())\n"
        "for act in (lambda: open_engine(url), lambda: open_engine(url + '2', create=True)):\n"
        "    try: act()\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    mount = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && echo mounted && shift'
    reading = [sys.executable, "-c", script, engine.url]
    run = (
        subprocess.run(
            ["unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh", path.parent, *reading],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if shutil.which("unshare")
        else None
    )
    if run is None or not run.stdout.startswith("mounted"):
        pytest.skip("no mounting here")
    _, head, opened, created = run.stdout.splitlines()
    assert head == block_of("x")[0].hex()
    assert opened.startswith(f"ReadOnlyError {path}")
    assert created.startswith(f"ReadOnlyError {path}2")


def test_a_store_that_was_removed_or_replaced_is_noticed(engine, path, tmp_path):
    write_next(engine, "x")
    engine.backup(str(tmp_path / "copy"))
    write_next(engine, "y")
    other = open_engine(tmp_path / "copy")
    other.close()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink()
    for act in (lambda: engine.ref("main"), lambda: write_next(engine, "z")):
        with pytest.raises(NotFoundError, match=r"store\.mnem"):
            act()
    (tmp_path / "copy").rename(path)
    assert engine.ref("main") == block_of("x")[0]
    assert write_next(engine, "z") == open_engine(path).ref("main")


def test_a_backup_that_fails_leaves_nothing(engine, tmp_path):
    write_next(engine, "x")
    with pytest.raises(EngineError, match="missing"):
        engine.backup(str(tmp_path / "missing" / "copy"))
    with pytest.raises(AlreadyExistsError):
        engine.backup(engine._path)
    assert engine.ref("main") == block_of("x")[0]


def test_a_damaged_store_is_not_backed_up(engine, path, tmp_path):
    engine.write({object_id(data := b"%d" % n * 100): data for n in range(500)})
    engine.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:30_000] + bytes(len(whole) - 30_000))
    with pytest.raises(CorruptObjectError, match="damaged"):
        engine.backup(str(tmp_path / "copy"))
    assert names_in(tmp_path) == ["store.mnem"]


def test_a_backup_inside_exclusive_is_of_what_is_committed(engine, tmp_path):
    first = write_next(engine, "x")
    with engine.exclusive():
        write_next(engine, "y")
        engine.backup(str(tmp_path / "copy"))
    assert open_engine(tmp_path / "copy").ref("main") == first


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc")
def test_short_lived_threads_leave_no_connections_behind(engine):
    write_next(engine, "x")
    before = descriptors()
    for round_ in range(25):
        in_threads(4, lambda n, r=round_: engine.write(dict([block_of(f"{r} {n}")])))
    in_threads(40, lambda _: engine.read([block_of("x")[0]]))
    assert descriptors() <= before + 16 * 3
    engine.close()
    assert descriptors() < before
    assert engine.ref("main") == block_of("x")[0]


def test_a_process_with_too_many_open_files_is_told_so(tmp_path):
    pytest.importorskip("resource")
    code = (
        "import os, resource, sys\n"
        "from mnemosyne_vcs.engine import open_engine\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        "said, stores = set(), []\n"
        "spare = [os.dup(0) for _ in range(int(sys.argv[2]))]\n"
        "try:\n"
        "    for number in range(40):\n"
        "        stores.append(open_engine(f'{sys.argv[1]}/{number}', create=True))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
        "while spare: os.close(spare.pop())\n"
        "stores.pop().close()\n"
        "print(stores[0].ref('main'), open_engine(f'{sys.argv[1]}/0').ref('main'))\n"
    )
    for spare in range(4):
        (tmp_path / f"{spare}").mkdir()
        arguments = [sys.executable, "-c", code, str(tmp_path / f"{spare}"), str(spare)]
        ran = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=True)
        said, asked = ran.stdout.splitlines()
        assert said.startswith(f"EngineError {tmp_path}/{spare}/"), ran.stdout
        assert "ulimit -n" in said
        assert asked == "None None"


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a tmpfs")
def test_a_disk_without_space_is_told_so(tmp_path):
    code = (
        "import sys\n"
        "from mnemosyne_vcs.engine import open_engine\n"
        "from mnemosyne_vcs.format.objects import object_id\n"
        "engine = open_engine('small/a', create=True)\n"
        "acts = (lambda: [engine.write({object_id(d): d})\n"
        "                 for d in (bytes([n]) * 100_000 for n in range(200))],\n"
        "        lambda: open_engine('small/b', create=True),\n"
        "        lambda: engine.backup('small/c'))\n"
        "print('mounted')\n"
        "for act in acts:\n"
        "    try: act()\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
        "    else: print('done')\n"
        "engine.close()\n"
    )
    script = 'mkdir small && mount -t tmpfs -o size=1m none small && "$@"; ls -A small'
    run = (
        subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, "-c", code],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if shutil.which("unshare")
        else None
    )
    if run is None or not run.stdout.startswith("mounted"):
        pytest.skip("no mounting here")
    _, written, made, copied, *left = run.stdout.splitlines()
    assert written.startswith(f"EngineError {tmp_path}/small/a: ") and "space" in written
    assert made.startswith(f"EngineError {tmp_path}/small/b: ") and "space" in made
    assert copied.startswith("EngineError ") and "small/c" in copied and "space" in copied
    assert {name.partition("-")[0] for name in left} == {"a"}


def test_long_reflogs_and_listings_come_by_pages(engine):
    old, ids = None, []
    with engine.exclusive():
        for number in range(2001):
            block, data = block_of(str(number))
            engine.write({block: data}, RefUpdate("main", old, block))
            old = block
            ids.append(block)
    assert [parse_id(entry.new) for entry in engine.reflog("main")] == ids[::-1]
    assert list(engine.ids()) == ids


@pytest.mark.parametrize(("durability", "synchronous"), [("full", 2), ("relaxed", 1)])
def test_durability_is_what_sqlite_synchronises(path, durability, synchronous):
    engine = open_engine(path, create=True, durability=durability)
    with engine._pool.lend() as connection:
        assert connection.pragma("synchronous") == synchronous
        assert connection.pragma("journal_mode") == "wal"
    engine.close()


def test_the_log_does_not_grow_without_bound(engine, path):
    for number in range(30):
        data = bytes([number]) * 2_000_000
        engine.write({object_id(data): data})
    assert Path(f"{path}-wal").stat().st_size < 14_000_000
    engine.close()
    assert names_in(path.parent) == ["store.mnem"]
    assert engine.size() == path.stat().st_size

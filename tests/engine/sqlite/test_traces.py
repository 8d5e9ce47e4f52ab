"""What is deleted from a SQLite store leaves no bytes behind."""

from datetime import timedelta
from pathlib import Path

import apsw
import pytest

import mnemosyne_vcs
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.engine.sqlite.statements import allow_deletion
from mnemosyne_vcs.format.objects import object_id

SECRET = b"the patient's name is Rosalind"


def bytes_on_disk(path):
    files = (Path(f"{path}{suffix}") for suffix in ("", "-wal", "-shm"))
    return b"".join(file.read_bytes() for file in files if file.exists())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.mnem"


def move_log(engine):
    with engine._pool.lend() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


@pytest.mark.parametrize("size", [1, 60, 300])
@pytest.mark.parametrize("ended", ["closed", "moved"])
def test_deleted_objects_are_overwritten(path, size, ended):
    """Small ones on a page with others, and ones that fill pages of their own."""
    engine = open_engine(path, create=True)
    others = [b"other %d " % n * 20 for n in range(40)]
    secrets = [b"%d " % n + SECRET * size for n in range(9)]
    for other, secret in zip(others, [*secrets, *secrets, *secrets, *secrets], strict=False):
        engine.write({object_id(data): data for data in (other, secret)})
    move_log(engine)
    assert SECRET in bytes_on_disk(path)
    engine.delete([object_id(secret) for secret in secrets])
    if ended == "moved":
        move_log(engine)
        assert SECRET not in bytes_on_disk(path)
    engine.close()
    assert SECRET not in bytes_on_disk(path)
    assert len(engine.read([object_id(other) for other in others[:36]])) == 36


def test_settings_and_refs_that_are_deleted_or_replaced_are_overwritten(path):
    engine = open_engine(path, create=True)
    block = object_id(SECRET)
    engine.set_setting("remote/a", "x" * 100 + SECRET.decode())
    engine.set_setting("remote/b", "x" * 5000 + SECRET.decode())
    engine.write({block: b""}, RefUpdate(f"branch/{SECRET.decode()}", None, block))
    engine.set_setting("remote/a", "short")
    engine.set_setting("remote/b", None)
    engine.write({}, RefUpdate(f"branch/{SECRET.decode()}", block, None))
    with engine._pool.lend() as connection:
        connection.execute("DELETE FROM reflog")
    engine.close()
    assert SECRET not in bytes_on_disk(path)


def test_gc_leaves_no_trace_of_a_branch_that_was_deleted(path):
    repo = mnemosyne_vcs.open(path, create=True)
    for number in range(30):
        repo.put(f"k/{number}", {"n": number})
    repo.create_branch("trial")
    with repo.transaction(branch="trial") as tx:
        for number in range(20):
            tx.put(f"s/{number}", {"said": SECRET.decode(), "n": number})
        tx.put("large", {"said": SECRET.decode() * 500})
    repo.delete_branch("trial")
    assert SECRET in bytes_on_disk(path)
    repo.gc(keep_reflog=timedelta())
    repo.close()
    assert SECRET not in bytes_on_disk(path)
    assert mnemosyne_vcs.open(path).verify().ok


def test_backups_and_compacted_stores_have_no_trace_either(path, tmp_path):
    engine = open_engine(path, create=True)
    engine.write({object_id(SECRET): SECRET, object_id(b"x"): b"x"})
    engine.delete([object_id(SECRET)])
    engine.backup(str(tmp_path / "copy"))
    assert SECRET not in bytes_on_disk(tmp_path / "copy")
    engine.compact()
    assert SECRET not in bytes_on_disk(path)
    engine.close()


def test_what_an_older_version_deleted_goes_with_compact(path):
    open_engine(path, create=True).close()
    connection = apsw.Connection(str(path))
    connection.pragma("secure_delete", False)
    for number in range(20):
        data = SECRET * 100 + b"%d" % number
        sql = "INSERT INTO objects (id, data) VALUES (?, ?)"
        connection.execute(sql, (object_id(data), data))
    allow_deletion(connection)
    connection.execute("DELETE FROM objects")
    connection.close()
    assert SECRET in bytes_on_disk(path)
    engine = open_engine(path)
    engine.compact()
    engine.close()
    assert SECRET not in bytes_on_disk(path)

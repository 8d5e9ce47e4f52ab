"""Files that are written appear whole, on the disk, and in place of nothing."""

import errno
import os
import stat
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import AlreadyExistsError, EngineError, Repository
from mnemosyne_vcs.files import new_file
from peers import Plain, filled

EXPORT = """
import sys
from mnemosyne_vcs.files import new_file
with new_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    sys.stdin.readline()
"""
WRITERS = {
    "jsonl": Repository.export_jsonl,
    "car": Repository.export_bundle,
    "backup": Repository.backup,
}


@pytest.fixture
def source(tmp_path_factory: pytest.TempPathFactory):
    with mnemosyne_vcs.clone(filled(), tmp_path_factory.mktemp("source") / "a.mnem") as repo:
        yield repo


def test_an_export_that_is_killed_leaves_no_file_that_looks_complete(tmp_path: Path):
    path = tmp_path / "out.jsonl"
    with Popen([sys.executable, "-c", EXPORT, path], stdin=PIPE, stdout=PIPE) as child:
        assert child.stdout.readline() == b"ready\n"
        child.kill()
    assert not path.exists()
    with new_file(str(path)) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"


@pytest.mark.parametrize("kind", WRITERS)
def test_it_is_on_the_disk_before_it_has_its_name(
    source: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    fsync, path = os.fsync, tmp_path / "out"
    synced: list[tuple[int, bool]] = []

    def watched(descriptor: int) -> None:
        at = os.fstat(descriptor)
        complete = path.exists() and path.stat().st_size > 0
        synced.append((0 if stat.S_ISDIR(at.st_mode) else at.st_ino, complete))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    WRITERS[kind](source, path)
    assert (path.stat().st_ino, False) in synced, "its bytes, while it has no name"
    assert (0, True) in synced, "its name"


def test_a_backup_of_an_engine_that_cannot_copy_itself_is_synced_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    test_it_is_on_the_disk_before_it_has_its_name(filled(), tmp_path, monkeypatch, "backup")
    assert mnemosyne_vcs.open(tmp_path / "out").verify().ok


@pytest.mark.parametrize("kind", WRITERS)
def test_nothing_is_written_over(source: Repository, tmp_path: Path, kind: str):
    path = tmp_path / "out"
    path.write_bytes(b"mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for taken in (path, tmp_path / "link"):
        with pytest.raises(AlreadyExistsError):
            WRITERS[kind](source, taken)
    assert path.read_bytes() == b"mine"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("links", [True, False])
def test_what_came_meanwhile_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "out"
    with pytest.raises(AlreadyExistsError), new_file(str(path)) as file:
        file.write(b"ours")
        path.write_bytes(b"theirs")
    assert path.read_bytes() == b"theirs"
    path.unlink()
    with new_file(str(path)) as file:
        file.write(b"ours")
    assert path.read_bytes() == b"ours"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_what_fails_leaves_nothing(tmp_path: Path):
    for error in (KeyboardInterrupt(), EngineError("lost"), OSError(errno.ENOSPC, "full")):
        expected = EngineError if isinstance(error, OSError) else type(error)
        with pytest.raises(expected), new_file(str(tmp_path / "out")):
            raise error
    with pytest.raises(EngineError, match="no/out cannot be written"):
        new_file(str(tmp_path / "no" / "out")).__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_name_as_long_as_a_file_system_takes(tmp_path: Path):
    path = tmp_path / ("é" * 127)
    with new_file(str(path)) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"


def test_the_rights_of_a_new_file_are_the_usual_ones(tmp_path: Path):
    (tmp_path / "usual").touch()
    with new_file(str(tmp_path / "new")):
        pass
    usual, new = ((tmp_path / name).stat().st_mode for name in ("usual", "new"))
    assert usual == new


def test_an_engine_that_cannot_list_is_not_backed_up(tmp_path: Path):
    with pytest.raises(EngineError, match="cannot list"):
        Repository(Plain()).backup(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []

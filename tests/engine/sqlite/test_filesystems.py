"""Network file systems: told from what Linux says of its mounts, and warned of once a path."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import mnemosyne_vcs
from children import FUSE_CHILD
from mnemosyne_vcs import EngineError, NetworkFileSystemWarning
from mnemosyne_vcs.engine.sqlite import filesystems
from mnemosyne_vcs.engine.sqlite.filesystems import (
    is_mount_point,
    is_network_share,
    is_network_type,
    mounted_type,
    network_file_system,
)

MOUNTINFO = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard,resuid=65534
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684092k
97 27 0:52 / /srv/team rw,relatime shared:54 - nfs4 nas:/team rw,vers=4.2,hard,addr=10.0.0.2
98 27 0:53 /docs /mnt/with\040a\040-\040dash rw,nosuid shared:55 master:3 - cifs //nas/d rw,vers=3
42 27 0:39 / /home/kim/remote rw,relatime - fuse.sshfs host:/dir rw,user_id=0,group_id=0
61 27 0:44 / /var/lib/docker/overlay2/merged rw,relatime - overlay overlay rw,lowerdir=/l
62 61 8:17 / /data rw - fuseblk /dev/sdb1 rw,user_id=0
70 27 0:61 / /mnt/c rw,noatime - 9p C:\134 rw,aname=drvfs;path=C:\,trans=fd,rfd=8
81 61 254:0 /srv/agent.mnem /data/agent.mnem rw,relatime - ext4 /dev/vda rw,discard
82 61 254:0 /srv/a\040b.mnem /data/a\040b\134.mnem rw,relatime - ext4 /dev/vda rw,discard
"""
FUSE = Path("/dev/fuse")
shared_memory = pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a tmpfs")


@pytest.mark.parametrize(
    ("major", "minor", "kind", "network"),
    [
        (254, 0, "ext4", False),
        (0, 23, "tmpfs", False),
        (0, 44, "overlay", False),
        (8, 17, "fuseblk", False),
        (0, 52, "nfs4", True),
        (0, 53, "cifs", True),
        (0, 39, "fuse.sshfs", True),
        (0, 61, "9p", True),
    ],
)
def test_the_type_is_that_of_the_mount_with_the_device_number(major, minor, kind, network):
    assert mounted_type(MOUNTINFO, os.makedev(major, minor)) == kind
    assert is_network_type(kind) is network


def test_a_device_that_is_not_listed_has_no_type():
    assert mounted_type(MOUNTINFO, os.makedev(254, 1)) is None
    assert mounted_type("", os.makedev(254, 0)) is None


@pytest.mark.parametrize("kind", ["fuse", "fuse.bindfs", "fuse.fuse-overlayfs", "btrfs", "sshfs"])
def test_what_is_local_or_does_not_say_is_no_network(kind):
    assert not is_network_type(kind)


@pytest.mark.parametrize(
    ("path", "network"),
    [
        (r"C:\Users\kim\a.mnem", False),
        (r"\\?\C:\Users\kim\a.mnem", False),
        (r"\\.\C:\a.mnem", False),
        (r"\\nas\team\a.mnem", True),
        (r"\\?\UNC\nas\team\a.mnem", True),
    ],
)
def test_windows_shares(path, network):
    assert is_network_share(path) is network


@pytest.mark.parametrize(
    ("path", "mounted"),
    [
        ("/data/agent.mnem", True),
        ("/data/a b\\.mnem", True),
        ("/data", True),
        ("/data/agent.mnem-wal", False),
        ("/data/agent", False),
        ("/srv/agent.mnem", False),
        ("rw,relatime", False),
    ],
)
def test_mount_points_are_told_from_what_lies_below_them(path, mounted):
    assert is_mount_point(MOUNTINFO, path) is mounted
    assert not is_mount_point("", path)


@pytest.fixture
def mounted_alone(tmp_path, monkeypatch):
    """A store that is listed as mounted by itself, as containers mount single files."""
    store = tmp_path / "a b.mnem"
    mnemosyne_vcs.open(store, create=True).close()
    mounts = tmp_path / "mountinfo"
    listed = str(store).replace(" ", r"\040")
    mounts.write_text(f"81 61 254:0 /x {listed} rw,relatime - ext4 /dev/vda rw\n")
    monkeypatch.setattr(filesystems, "MOUNTS", mounts)
    return store


def test_a_file_that_is_mounted_by_itself_is_not_written(mounted_alone, tmp_path):
    link = tmp_path / "link.mnem"
    link.symlink_to(mounted_alone)
    before = mounted_alone.read_bytes()
    for path in (mounted_alone, link):
        for options in ({}, {"create": True}):
            with pytest.raises(EngineError, match="mount the directory") as raised:
                mnemosyne_vcs.open(path, **options)
            assert str(mounted_alone) in str(raised.value)
    assert mounted_alone.read_bytes() == before
    assert len(mnemosyne_vcs.open(mounted_alone, read_only=True).at()) == 0
    mnemosyne_vcs.open(tmp_path / "beside.mnem", create=True).close()


def test_a_container_with_the_single_file_is_refused_and_one_with_its_directory_is_not(tmp_path):
    for name in ("host", "container"):
        (tmp_path / name).mkdir()
    mnemosyne_vcs.open(tmp_path / "host" / "a.mnem", create=True).close()
    code = (
        "import os, signal, sys, mnemosyne_vcs\n"
        "try: repo = mnemosyne_vcs.open('container/a.mnem')\n"
        "except mnemosyne_vcs.EngineError as error: sys.exit(f'refused {error}')\n"
        "repo.put('k', 1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    said = {}
    for what in ("/a.mnem", ""):
        script = (
            f"touch container/a.mnem; mount --bind host{what} container{what} && echo mounted "
            '&& exec "$@"'
        )
        ran = (
            subprocess.run(
                ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, "-c", code],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            if shutil.which("unshare")
            else None
        )
        if ran is None or not ran.stdout.startswith("mounted"):
            pytest.skip("no mounting here")
        said[what] = ran.stderr
    assert said["/a.mnem"].startswith("refused") and "mount the directory" in said["/a.mnem"]
    assert said[""] == ""
    assert len(mnemosyne_vcs.open(tmp_path / "host" / "a.mnem").at()) == 1


@pytest.fixture
def on_nfs(tmp_path, monkeypatch):
    """A directory whose device is listed as NFS's, as it would be if it were mounted so."""
    found = tmp_path.stat().st_dev
    listed = f"97 27 {os.major(found)}:{os.minor(found)} / {tmp_path} rw - nfs4 nas:/team rw\n"
    mounts = tmp_path / "mountinfo"
    mounts.write_text(listed)
    monkeypatch.setattr(filesystems, "MOUNTS", mounts)
    return tmp_path


def test_a_store_opened_for_writing_there_is_warned_of(on_nfs):
    store = on_nfs / "a.mnem"
    for _ in range(2):
        with pytest.warns(NetworkFileSystemWarning) as warned:
            mnemosyne_vcs.open(store, create=True).close()
        [warning] = warned
        said = str(warning.message)
        assert str(store) in said
        for part in ("nfs4", "overwriting", "damaging", "local disk", "postgresql://", "s3://"):
            assert part in said


@shared_memory
def test_a_link_to_there_is_warned_of(on_nfs):
    with TemporaryDirectory(dir="/dev/shm") as directory:
        link = Path(directory, "link")
        assert network_file_system(str(link)) is None
        link.symlink_to(on_nfs / "a.mnem")
        assert network_file_system(str(link)) == "nfs4"


def test_reading_there_is_silent(on_nfs):
    with pytest.warns(NetworkFileSystemWarning):
        mnemosyne_vcs.open(on_nfs / "a.mnem", create=True).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mnemosyne_vcs.open(on_nfs / "a.mnem", read_only=True).close()
        mnemosyne_vcs.open("memory://").close()


def test_by_default_each_path_is_shown_once(on_nfs):
    code = (
        "import mnemosyne_vcs\n"
        "from pathlib import Path\n"
        "from mnemosyne_vcs.engine.sqlite import filesystems\n"
        f"filesystems.MOUNTS = Path({str(filesystems.MOUNTS)!r})\n"
        "for name in ('a', 'a', 'b', 'a'): mnemosyne_vcs.open(name, create=True).close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=on_nfs, check=True, capture_output=True, text=True
    )
    assert done.stdout == ""
    assert done.stderr.count("NetworkFileSystemWarning: ") == 2


def test_where_mounts_cannot_be_listed_nothing_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(filesystems, "MOUNTS", tmp_path / "nothing")
    assert network_file_system(str(tmp_path / "a.mnem")) is None
    assert network_file_system(str(tmp_path / "no" / "a.mnem")) is None


@shared_memory
def test_memory_of_the_system_is_local():
    found = Path("/dev/shm").stat().st_dev
    assert mounted_type(filesystems.MOUNTS.read_text(), found) == "tmpfs"
    assert network_file_system("/dev/shm/a.mnem") is None


@pytest.mark.skipif(
    os.getuid() != 0 or not os.access(FUSE, os.R_OK | os.W_OK), reason="needs FUSE and root"
)
@pytest.mark.parametrize(
    ("kind", "told"), [("fuse.sshfs", "fuse.sshfs"), ("fuse.s3fs", "fuse.s3fs"), ("fuse", "None")]
)
def test_a_real_mount(tmp_path, kind, told):
    child = FUSE_CHILD
    done = subprocess.run(
        [sys.executable, str(child), str(tmp_path), kind],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    if "cannot mount" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{told}\n"

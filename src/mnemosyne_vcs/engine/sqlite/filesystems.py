"""Whether a file lies where SQLite can share it: not over a network, nor apart from its log."""

import os
import re
import stat
import warnings
from pathlib import Path, PureWindowsPath
from typing import ClassVar

from mnemosyne_vcs.errors import EngineError

__all__ = [
    "NetworkFileSystemWarning",
    "is_mount_point",
    "is_network_share",
    "is_network_type",
    "mounted_type",
    "network_file_system",
    "refuse_other_names",
    "warn_of_network",
]

MOUNTS = Path("/proc/self/mountinfo")
_OF_THE_SYSTEM = """
9p afs beegfs ceph cifs coda gfs2 gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs panfs prl_fs smb3 smbfs
vboxsf vmhgfs
"""
_OF_PROGRAMS = """
blobfuse blobfuse2 ceph-fuse curlftpfs davfs gcsfuse glusterfs goofys grpcfuse gvfsd-fuse juicefs
lizardfs mfs mount-s3 osxfs rclone s3fs s3ql seaweedfs smbnetfs sshfs vmhgfs-fuse
"""
_ESCAPED = re.compile(r"\\([0-7]{3})")
_NETWORK_TYPES = frozenset(
    (*_OF_THE_SYSTEM.split(), *(f"fuse.{name}" for name in _OF_PROGRAMS.split()))
)


class NetworkFileSystemWarning(UserWarning):
    """A SQLite store was opened for writing on a network file system.

    Attributes:
        kind: a stable word for machine readers.
    """

    kind: ClassVar[str] = "network-file-system"


def warn_of_network(path: str) -> None:
    """Warn if a store lies on a network file system.

    As Python treats warnings unless it is told otherwise, it is shown once for each path.

    Args:
        path: the file of the store, absolute.
    """
    if found := network_file_system(path):
        warnings.warn(
            f"{path} lies on a network file system ({found}), where SQLite cannot keep programs "
            "on other machines from overwriting commits and damaging the store; keep it on a "
            "local disk, or share the memory at a postgresql:// or s3:// URL",
            NetworkFileSystemWarning,
            stacklevel=2,
        )


def refuse_other_names(path: str) -> None:
    """Refuse to write to a file that has a second name, since each name has its own log.

    Args:
        path: the file of the store, with links followed.

    Raises:
        EngineError: the file itself is mounted there, or has several hard links.
    """
    try:
        mounts = os.fsdecode(MOUNTS.read_bytes())
    except OSError:
        mounts = ""
    if is_mount_point(mounts, path):
        raise EngineError(
            f"{path} is mounted as a single file, so that SQLite's log beside it stays in the "
            "container, and commits would be lost with it; mount the directory of the store "
            "(or read it with read_only=True)"
        )
    found = Path(path).stat()
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        raise EngineError(
            f"{path} has {found.st_nlink} names (hard links), each of which would have a log of "
            "its own, so that commits would be lost; remove the other names, or open a copy of the "
            "file (reading with read_only=True is possible)"
        )


def is_mount_point(mountinfo: str, path: str) -> bool:
    """Whether a file system is mounted at exactly that path.

    Args:
        mountinfo: the contents on Linux of `/proc/PID/mountinfo`.
        path: absolute, with links followed.
    """
    return any(_unescaped(mount) == path for mount in _mount_points(mountinfo))


def _mount_points(mountinfo: str) -> list[str]:
    return [line.split(" ")[4] for line in mountinfo.splitlines() if line.count(" ") > 4]


def _unescaped(text: str) -> str:
    """A path as it is, where mountinfo has octal numbers for blanks and backslashes."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)


def network_file_system(path: str) -> str | None:
    """The type of the network file system that a file is on; None if there is none.

    It is detected on Linux and on Windows; elsewhere the result is None.

    Args:
        path: the file, which need not exist; links are followed.
    """
    real = os.path.realpath(path)
    if os.name == "nt":
        return "a Windows share" if is_network_share(real) else None
    try:
        mounts = MOUNTS.read_text(errors="surrogateescape")
        found = mounted_type(mounts, Path(real).parent.stat().st_dev)
    except OSError:
        return None
    return found if found and is_network_type(found) else None


def mounted_type(mountinfo: str, device: int) -> str | None:
    """The type of a mounted file system; None if it is not listed.

    Args:
        mountinfo: the contents on Linux of `/proc/PID/mountinfo`.
        device: the device number of a file there, as `stat` gives it.
    """
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in mountinfo.splitlines():
        mount, _, source = line.partition(" - ")
        if mount.split(" ")[2:3] == [wanted]:
            return source.split(" ")[0]
    return None


def is_network_type(name: str) -> bool:
    """Whether a type of file system, by the name that Linux has for it, is one over a network."""
    return name in _NETWORK_TYPES


def is_network_share(path: str) -> bool:
    """Whether a Windows path leads to another machine, as in `\\\\host\\share`."""
    drive = PureWindowsPath(path).drive.upper()
    return drive.startswith("\\\\?\\UNC\\") or (
        drive.startswith("\\\\") and not drive.startswith(("\\\\?\\", "\\\\.\\"))
    )

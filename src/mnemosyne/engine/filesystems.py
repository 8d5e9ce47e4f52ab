"""Whether a file lies on a network file system, where SQLite's locks and shared memory fail."""

import os
import warnings
from pathlib import Path, PureWindowsPath
from typing import ClassVar

__all__ = [
    "NetworkFileSystemWarning",
    "is_network_share",
    "is_network_type",
    "mounted_type",
    "network_file_system",
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


def network_file_system(path: str) -> str | None:
    """The type of the network file system that a file is on; None if there is none, or no telling.

    It can be told on Linux, and on Windows.

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
        mountinfo: what Linux says in `/proc/PID/mountinfo`.
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

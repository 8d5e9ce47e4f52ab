"""The programs that child processes of the tests run."""

from pathlib import Path

BACKUP_CHILD = Path(__file__).with_name("backup_child.py")
ENGINE_CHILD = Path(__file__).with_name("engine_child.py")
FUSE_CHILD = Path(__file__).with_name("fuse_child.py")
REPACK_CHILD = Path(__file__).with_name("repack_child.py")

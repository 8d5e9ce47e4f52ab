"""Views in files: a cache that outlives the process, and that the processes of a machine share.

A file holds the view of one root, of one kind, as arrays, which are mapped into memory. A root is
named by its contents, so a file is right for every store that has that root, or it is damaged. It
is never changed: it is written under another name and then moved to its own. Each array has a
checksum, which is compared when the file is opened. A file that cannot be believed is deleted and
made again, and so nothing is lost with any of them.
"""

import json
import logging
import mmap
import os
import struct
import tempfile
import time
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mnemosyne_vcs.ids import ID_BYTES, Id

__all__ = ["Arrays", "StoredView", "ViewFiles"]

Arrays: TypeAlias = Mapping[str, NDArray[Any]]

_MAGIC = b"mnemosyne view 1\n"
_LENGTHS = struct.Struct("<II")
_ALIGNMENT = 64
_PIECE = 1 << 22
_OF_ONE_KIND = 2
_ABANDONED = 3600.0
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class StoredView:
    """A view that was read from a file.

    Attributes:
        records: the number of records of its root.
        arrays: what it consists of; they cannot be written.
    """

    records: int
    arrays: Arrays


class ViewFiles:
    """The files of the views of one store. Safe for use by many processes at once.

    A directory that cannot be written is read only; a full disk ends the writing of files by this
    object. Both are told to the log.

    Args:
        directory: where they are; made when the first file is written.
        writable: whether files may be written and deleted.
        budget: how many bytes all files together may have. Those that were not used for the longest
            time are deleted.
    """

    def __init__(self, directory: Path, *, writable: bool = True, budget: int = 1 << 31) -> None:
        self._directory = directory
        self._writable = writable
        self._budget = budget

    def roots(self, label: str) -> list[Id]:
        """The roots whose views are there, the last used first.

        Args:
            label: the kind of views.
        """
        start = _start(label)
        found = [path for path in self._paths() if path.name.startswith(start)]
        return [_root(path) for path in sorted(found, key=_used, reverse=True)]

    def load(self, label: str, root: Id) -> StoredView | None:
        """The view of a root; None if there is no file that can be believed."""
        path = self._path(label, root)
        try:
            with path.open("rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            stored = _decode(data, label, root)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
            _LOG.warning("the cached view %s cannot be used and is made again: %s", path, error)
            self._delete(path)
            return None
        with suppress(OSError):
            os.utime(path)
        return stored

    def save(self, label: str, root: Id, records: int, arrays: Arrays) -> None:
        """Write the view of a root.

        Args:
            label: the kind of views.
            root: the root.
            records: how many records it has.
            arrays: what the view consists of.
        """
        size = sum(array.nbytes for array in arrays.values())
        if not self._writable or size > self._budget:
            return
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(self._path(label, root), label, root, records, arrays)
            self._prune(self._path(label, root), _start(label))
        except OSError as error:
            self._writable = False
            _LOG.info("views are not cached in %s any more: %s", self._directory, error)

    def keep(self, existing: Callable[[Collection[Id]], Collection[Id]]) -> None:
        """Delete the views of roots that are no longer in the store.

        Args:
            existing: gives those of some roots that are.
        """
        paths = list(self._paths())
        roots = existing([_root(path) for path in paths])
        for path in paths:
            if _root(path) not in roots:
                self._delete(path)

    def _path(self, label: str, root: Id) -> Path:
        return self._directory / f"{_start(label)}{root.hex()}.view"

    def _paths(self) -> list[Path]:
        length = len(_start("")) + 2 * ID_BYTES
        return [path for path in self._directory.glob("*.view") if len(path.stem) == length]

    def _write(self, path: Path, label: str, root: Id, records: int, arrays: Arrays) -> None:
        number, name = tempfile.mkstemp(suffix=".tmp", dir=self._directory)
        try:
            with os.fdopen(number, "wb") as file:
                position = file.write(_head(label, root, records, arrays))
                for array in arrays.values():
                    position += file.write(bytes(-position % _ALIGNMENT))
                    position += file.write(_bytes(array))
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _prune(self, newest: Path, start: str) -> None:
        """Delete what is beyond the budget, old views of one kind, and what others left behind."""
        paths = sorted(self._paths(), key=_used, reverse=True)
        paths.remove(newest)
        left, others = self._budget - newest.stat().st_size, 1
        for path in paths:
            same = path.name.startswith(start)
            others += same
            with suppress(FileNotFoundError):
                left -= path.stat().st_size
            if left < 0 or (same and others > _OF_ONE_KIND):
                self._delete(path)
        for path in self._directory.glob("*.tmp"):
            if _used(path) < time.time() - _ABANDONED:
                self._delete(path)

    def _delete(self, path: Path) -> None:
        if self._writable:
            with suppress(OSError):
                path.unlink()


def _start(label: str) -> str:
    return sha256(label.encode()).hexdigest()[:16] + "-"


def _root(path: Path) -> Id:
    return bytes.fromhex(path.stem[-2 * ID_BYTES :])


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _bytes(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _checksum(data: memoryview) -> int:
    value = 0
    for start in range(0, len(data), _PIECE):
        value = zlib.crc32(data[start : start + _PIECE], value)
    return value


def _head(label: str, root: Id, records: int, arrays: Arrays) -> bytes:
    fields = [
        [name, array.dtype.str, list(array.shape), _checksum(_bytes(array))]
        for name, array in arrays.items()
    ]
    told = {"label": label, "root": root.hex(), "records": records, "arrays": fields}
    text = json.dumps(told).encode()
    return _MAGIC + _LENGTHS.pack(len(text), zlib.crc32(text)) + text


def _decode(data: mmap.mmap, label: str, root: Id) -> StoredView:
    """The view in a file.

    Raises:
        ValueError: it is damaged, or not such a file. `KeyError`, `TypeError` and `struct.error`
            mean the same.
    """
    start = len(_MAGIC) + _LENGTHS.size
    if data[: len(_MAGIC)] != _MAGIC:
        raise ValueError("it does not begin as a view")
    length, checksum = _LENGTHS.unpack(data[len(_MAGIC) : start])
    text = data[start : start + length]
    if zlib.crc32(text) != checksum:
        raise ValueError("its head is damaged")
    told = cast("dict[str, Any]", json.loads(text))
    if told["label"] != label or told["root"] != root.hex():
        raise ValueError("it holds another view")
    arrays, position, whole = dict[str, NDArray[Any]](), start + length, memoryview(data)
    for name, kind, shape, expected in told["arrays"]:
        position += -position % _ALIGNMENT
        array = np.ndarray(shape, kind, data, position)
        piece = whole[position : position + array.nbytes]
        if _checksum(piece) != expected:
            raise ValueError(f"{name} is damaged")
        arrays[name] = array
        position += array.nbytes
    return StoredView(told["records"], arrays)

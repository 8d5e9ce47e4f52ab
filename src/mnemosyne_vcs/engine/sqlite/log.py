"""The write-ahead log beside a SQLite file, and whether it is the log of that file.

SQLite finds the log only by its name. If another file is put in the place of the store, such as a
backup, SQLite applies the pages of a log that was left behind to that file.

Each write of Mnemosyne puts page 1 into the log. Its header has two numbers that tell files apart:
the schema cookie, which is drawn at random for every new store and every backup, and the change
counter, which never falls, and grows by one with the first transaction of a log. The file itself
has page 1 as it was when the log began, or as one of the transactions in the log left it.
"""

import os
import secrets
from collections.abc import Hashable, Iterator
from pathlib import Path
from struct import Struct
from typing import BinaryIO, NamedTuple

__all__ = ["HEADER_BYTES", "Log", "Stamp", "is_log_of", "log_there", "new_cookie", "read_beginning"]

HEADER_BYTES = 100
"""Bytes that the header of a SQLite file takes, at the beginning of page 1."""
COOKIE_SLACK = 1000
"""How far changes of the schema may have moved the cookie while one log was written."""
_WORDS_OF_HEADER = Struct(">8I")
_WORDS_OF_FRAME = Struct(">6I")
_MAGIC = 0x377F0682
_WORD = 1 << 32
_MASK = _WORD - 1


Log = tuple[int, int | None]


class Stamp(NamedTuple):
    """Which files are there, or were when a connection was opened.

    Attributes:
        file: what tells the store's file from others.
        log: what tells its log, and the index of that, from others; None without a log.
        written: what changes when the file is written to, where that matters.
    """

    file: Hashable
    log: Log | None
    written: Hashable = None


def log_there(path: str) -> Log | None:
    """The identity of the log of a file, and of its index; None without a log."""
    try:
        log = os.stat(path + "-wal").st_ino  # noqa: PTH116 - on the path of every call
    except OSError:
        return None
    try:
        return log, os.stat(path + "-shm").st_ino  # noqa: PTH116
    except OSError:
        return log, None


class _Page(NamedTuple):
    """The numbers in the header of page 1 that tell files apart."""

    counter: int
    cookie: int


def new_cookie() -> int:
    """A schema cookie for a new file, which no other file has by chance."""
    return (1 << 16) + secrets.randbelow(1 << 30)


def read_beginning(path: str) -> bytes:
    """The header of a log, which changes when it is begun anew; empty without a log.

    Raises:
        OSError: the log cannot be read.
    """
    try:
        with Path(path + "-wal").open("rb") as file:
            return file.read(_WORDS_OF_HEADER.size)
    except FileNotFoundError:
        return b""


def is_log_of(path: str, header: bytes) -> bool:
    """Whether the log beside a file can be the log of that file.

    Args:
        path: the file. If it has no log, or one without anything valid in it, that is fine.
        header: the first 100 bytes of the file, without what the log says of them.

    Raises:
        OSError: the log cannot be read.
    """
    try:
        with Path(path + "-wal").open("rb") as file:
            pages = _first_pages(file)
            first = next(pages, None)
            if first is None:
                return True
            here = _page(header)
            changed = (here.cookie - first.cookie + COOKIE_SLACK) % _WORD
            if changed > 2 * COOKIE_SLACK:
                return False
            behind = (first.counter - here.counter) % _WORD
            return behind <= 1 or any(page.counter == here.counter for page in pages)
    except FileNotFoundError:
        return True


def _page(header: bytes) -> _Page:
    counter, cookie = (int.from_bytes(header[at : at + 4], "big") for at in (24, 40))
    return _Page(counter, cookie)


def _first_pages(log: BinaryIO) -> Iterator[_Page]:
    """Page 1 as the frames of a log have it, the first of which is surely valid."""
    head = log.read(_WORDS_OF_HEADER.size)
    if len(head) < _WORDS_OF_HEADER.size:
        return
    magic, _, page_bytes, _, *salts, sum1, sum2 = _WORDS_OF_HEADER.unpack(head)
    order = ">" if magic & 1 else "<"
    sums = _checksum(order, head[:24], (0, 0))
    if magic & ~1 != _MAGIC or not 512 <= page_bytes <= 65536 or sums != (sum1, sum2):
        return
    found = False
    frame_bytes = _WORDS_OF_FRAME.size + page_bytes
    while len(frame := log.read(frame_bytes)) == frame_bytes:
        number, _, *salts_here, sum1, sum2 = _WORDS_OF_FRAME.unpack_from(frame)
        if salts_here != salts:
            return
        page = frame[_WORDS_OF_FRAME.size :]
        if not found:
            sums = _checksum(order, page, _checksum(order, frame[:8], sums))
            if sums != (sum1, sum2):
                return
        if number == 1:
            found = True
            yield _page(page)


def _checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    """SQLite's checksum of a log, carried on over more data."""
    words = Struct(f"{order}{len(data) // 4}I").unpack(data)
    first, second = sums
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _MASK
        second = (second + odd + first) & _MASK
    return first, second

"""Blocks that are kept nearby: which, for how long, and never damaged ones."""

from pathlib import Path
from random import Random

import apsw
import pytest

from mnemosyne_vcs.engine.objectstore.cache import BlockCache, DiskCache
from mnemosyne_vcs.errors import EngineError
from mnemosyne_vcs.format.objects import object_id

MEGABYTE = 1_000_000


def blobs(numbers, size=1000):
    each = (Random(number).randbytes(size) for number in numbers)
    return {object_id(data): data for data in each}


def test_memory_keeps_what_was_used_last():
    cache = BlockCache(5000)
    blocks = blobs(range(5))
    cache.put(blocks)
    first, second = list(blocks)[:2]
    assert cache.get([first]) == {first: blocks[first]}
    more = blobs([5])
    cache.put(more)
    assert cache.get([second]) == {}
    assert cache.get([first, *more]) == {first: blocks[first], **more}


def test_what_is_larger_than_the_budget_is_not_kept():
    cache = BlockCache(500)
    cache.put(blobs([1]))
    assert cache.get(blobs([1])) == {}


def test_a_block_that_is_put_again_counts_once():
    cache = BlockCache(2000)
    for _ in range(5):
        cache.put(blobs([1]))
    cache.put(blobs([2]))
    assert cache.get(blobs([1, 2])) == blobs([1, 2])


def test_the_disk_keeps_what_was_read_for_the_next_process(tmp_path: Path):
    directory = str(tmp_path / "deep" / "cache")
    first = BlockCache(MEGABYTE, DiskCache(directory, MEGABYTE))
    first.put(blobs(range(1200), 100))
    first.keep(blobs([5000]))
    first.close()
    second = BlockCache(MEGABYTE, DiskCache(directory, MEGABYTE))
    assert second.get(blobs(range(1300), 100)) == blobs(range(1200), 100)
    assert second.get(blobs([5000])) == {}
    second.close()
    assert second.get(blobs([1], 100)) == blobs([1], 100)


def test_the_disk_lets_go_of_what_was_stored_first(tmp_path: Path):
    disk = DiskCache(str(tmp_path), 200_000)
    for number in range(0, 1000, 10):
        disk.put(blobs(range(number, number + 10)))
    disk.close()
    assert (tmp_path / "blocks.sqlite").stat().st_size < 400_000
    assert disk.get(blobs(range(990, 1000))) == blobs(range(990, 1000))
    assert disk.get(blobs(range(10))) == {}


def test_damaged_blocks_count_as_absent(tmp_path: Path):
    disk = DiskCache(str(tmp_path), MEGABYTE)
    disk.put(blobs([1, 2]))
    one, two = blobs([1]), blobs([2])
    with apsw.Connection(str(tmp_path / "blocks.sqlite")) as file:
        file.execute("UPDATE blocks SET data = zeroblob(1000) WHERE id = ?", tuple(one))
    assert disk.get([*one, *two]) == two


def test_a_damaged_file_is_made_anew(tmp_path: Path):
    disk = DiskCache(str(tmp_path), MEGABYTE)
    disk.put(blobs(range(100)))
    disk.close()
    path = tmp_path / "blocks.sqlite"
    path.write_bytes(b"garbage!" * (path.stat().st_size // 8))
    assert disk.get(blobs([1])) == {}
    disk.put(blobs([1]))
    assert disk.get(blobs([1])) == blobs([1])


def test_a_file_that_another_process_writes_to_counts_as_empty(tmp_path, monkeypatch):
    monkeypatch.setattr("mnemosyne_vcs.engine.objectstore.cache.BUSY_MILLISECONDS", 1)
    disk = DiskCache(str(tmp_path), MEGABYTE)
    other = apsw.Connection(str(tmp_path / "blocks.sqlite"))
    other.execute("BEGIN IMMEDIATE")
    disk.put(blobs([1]))
    other.execute("COMMIT")
    other.close()
    assert disk.get(blobs([1])) == {}
    disk.put(blobs([1]))
    assert disk.get(blobs([1])) == blobs([1])


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match="file cannot hold a cache"):
        DiskCache(str(tmp_path / "file"), MEGABYTE)

"""Views in files: what they save, and that nothing wrong in them is ever believed."""

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import mnemosyne_vcs
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.testing.faults import SlowEngine
from mnemosyne_vcs.tree import EMPTY_ROOT
from mnemosyne_vcs.views.cache import ViewCache
from mnemosyne_vcs.views.files import ViewFiles
from mnemosyne_vcs.views.identity import IdentityViewBuilder
from mnemosyne_vcs.views.vectors import VectorViewBuilder

COUNT, DIMENSION = 1300, 12
ROOT = bytes(range(36))
ARRAYS = {
    "a": np.arange(7, dtype=np.int8),
    "none": np.empty((0, 5), np.float32),
    "b": np.arange(6, dtype=np.float64).reshape(2, 3),
}


def some_vectors(seed, count=COUNT, dimension=DIMENSION):
    values = np.random.default_rng(seed).standard_normal((count, dimension))
    return {f"k/{at:05}": each for at, each in enumerate(values.astype(np.float32))}


@pytest.fixture
def store(new_store, entry):
    """A store in memory, a root with vectors, and the vectors."""
    made, vectors = new_store(), some_vectors(1)
    root = made.edit(EMPTY_ROOT, {key: entry(each) for key, each in vectors.items()})
    return made, root, vectors


def opened(store, directory, kind=None):
    """A cache as a new process has it, and its kind of views."""
    store.engine.asked.clear()
    return ViewCache(store.blocks, directory=directory), kind or VectorViewBuilder()


def answers(view, seed=5):
    rng = np.random.default_rng(seed)
    return [view.search(rng.standard_normal(DIMENSION).astype(np.float32)) for _ in range(4)]


def test_another_process_reads_no_vector_again(store, tmp_path):
    made, root, vectors = store
    cache, kind = opened(made, tmp_path)
    first = answers(cache.get(kind, root))
    assert len(list(tmp_path.iterdir())) == 1
    cache, kind = opened(made, tmp_path)
    view = cache.get(kind, root)
    assert len(made.engine.asked) < 5
    assert view.dimensions() == {DIMENSION: len(vectors)}
    assert answers(view) == first
    assert len(made.engine.asked) < 200


def test_it_goes_on_from_there_in_any_direction(store, entry, tmp_path):
    made, root, vectors = store
    cache, kind = opened(made, tmp_path)
    cache.get(kind, root)
    fewer = made.edit(root, deletes=[f"k/{at:05}" for at in range(0, COUNT, 3)])
    other = made.edit(fewer, {f"n/{at}": entry(each) for at, each in enumerate(vectors.values())})
    small = made.edit(root, {"k/00007": entry(np.ones(DIMENSION, np.float32)), "x": entry()})
    changed = made.edit(small, {"y": entry(np.ones(3, np.float32))})
    for at in (small, fewer, changed, other, root):
        expected = answers(ViewCache(made.blocks).get(VectorViewBuilder(), at))
        cache, kind = opened(made, tmp_path)
        assert answers(cache.get(kind, at)) == expected
        for then in (fewer, small, root):
            plain = ViewCache(made.blocks).get(VectorViewBuilder(), then)
            assert answers(cache.get(kind, then)) == answers(plain)


def test_small_changes_write_no_file(store, entry, tmp_path):
    made, root, _ = store
    cache, kind = opened(made, tmp_path)
    cache.get(kind, root)
    files = set(tmp_path.iterdir())
    for at in range(40):
        root = made.edit(root, {f"z/{at}": entry(np.ones(DIMENSION, np.float32))})
        cache.get(kind, root)
    assert set(tmp_path.iterdir()) == files
    many = {f"y/{at}": entry(each) for at, each in enumerate(some_vectors(3).values())}
    cache.get(kind, made.edit(root, many))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_small_memory_writes_no_file(new_store, entry, tmp_path):
    made = new_store()
    some = {key: entry(each) for key, each in some_vectors(1, 1000).items()}
    cache, kind = opened(made, tmp_path)
    cache.get(kind, made.edit(EMPTY_ROOT, some))
    assert not list(tmp_path.iterdir())


def test_views_by_a_function_that_has_no_name_of_its_own_have_no_files(store, tmp_path):
    """Two functions within others may have the same name, and give other views."""
    made, root, _ = store

    def builder(length):
        return IdentityViewBuilder(lambda key: key[:length])

    for length in (1, 3):
        cache, kind = opened(made, tmp_path, builder(length))
        assert len(cache.get(kind, root)) == len({key[:length] for key in made.states[root]})
    assert not list(tmp_path.iterdir())
    cache, kind = opened(made, tmp_path, IdentityViewBuilder())
    assert len(cache.get(kind, root)) == COUNT
    assert len(list(tmp_path.iterdir())) == 1


def test_rows_of_a_file_are_given_back(store, entry, tmp_path):
    made, root, _ = store
    cache, kind = opened(made, tmp_path)
    cache.get(kind, root)
    cache, kind = opened(made, tmp_path)
    rows = cache.get(kind, root).by_dimension[DIMENSION].store
    assert rows.nbytes > COUNT * DIMENSION
    cache.clear()
    assert rows.nbytes == 0
    again = cache.get(kind, root)
    assert answers(again) == answers(ViewCache(made.blocks).get(VectorViewBuilder(), root))


def test_a_far_store_keeps_exact_vectors_in_the_file(store, tmp_path):
    made, root, _ = store
    far = Blocks(SlowEngine(made.engine, 0.0))
    first = answers(ViewCache(far, directory=tmp_path).get(VectorViewBuilder(), root))
    near = ViewCache(made.blocks, directory=tmp_path).get(VectorViewBuilder(), root)
    assert answers(near) == first
    view = ViewCache(far, directory=tmp_path).get(VectorViewBuilder(), root)
    made.engine.asked.clear()
    assert answers(view) == first
    assert not made.engine.asked


@pytest.mark.parametrize("part", [0.0, 0.0005, 0.001, 0.01, 0.3, 0.8, 0.95])
@pytest.mark.parametrize("how", ["flipped", "cut"])
def test_a_damaged_file_is_made_again(store, tmp_path, caplog, part, how):
    made, root, _ = store
    cache, kind = opened(made, tmp_path)
    first = answers(cache.get(kind, root))
    (file,) = tmp_path.iterdir()
    data = bytearray(file.read_bytes())
    at = int(len(data) * part)
    if how == "cut":
        del data[at:]
    else:
        data[at] ^= 1
    file.unlink()
    file.write_bytes(data)
    cache, kind = opened(made, tmp_path)
    assert answers(cache.get(kind, root)) == first
    assert "is made again" in caplog.text
    cache, kind = opened(made, tmp_path)
    assert answers(cache.get(kind, root)) == first
    assert len(made.engine.asked) < 200


def test_every_flipped_byte_of_a_small_file_is_noticed(tmp_path):
    files = ViewFiles(tmp_path)
    files.save("kind", ROOT, 3, ARRAYS)
    (file,) = tmp_path.iterdir()
    data = file.read_bytes()
    used = [at for at, each in enumerate(data) if each]
    for at in used:
        changed = bytearray(data)
        changed[at] ^= 0x40
        file.unlink(missing_ok=True)
        file.write_bytes(changed)
        assert files.load("kind", ROOT) is None, at
        assert not file.exists()


def test_what_was_saved_is_loaded(tmp_path):
    files = ViewFiles(tmp_path / "made" / "when needed")
    assert files.load("kind", ROOT) is None
    assert files.roots("kind") == []
    files.save("kind", ROOT, 3, ARRAYS)
    files.save("other", ROOT[::-1], 4, {})
    stored = files.load("kind", ROOT)
    assert stored.records == 3
    assert stored.arrays.keys() == ARRAYS.keys()
    for name, array in stored.arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        assert array.tolist() == ARRAYS[name].tolist()
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert (files.roots("kind"), files.roots("other")) == ([ROOT], [ROOT[::-1]])
    assert files.load("other", ROOT) is None


def test_files_stay_within_their_budget(tmp_path):
    files = ViewFiles(tmp_path, budget=100_000)
    roots = [bytes([at]) * 36 for at in range(9)]
    for at, root in enumerate(roots):
        files.save(f"kind {at}", root, 1, {"a": np.zeros(30_000, np.uint8)})
        os.utime(next(tmp_path.glob(f"*{root.hex()}.view")), (at, at))
    left = {at for at, root in enumerate(roots) if files.roots(f"kind {at}")}
    assert left == {6, 7, 8}
    files.save("large", roots[0], 1, {"a": np.zeros(100_001, np.uint8)})
    assert files.roots("large") == []


def test_there_are_few_files_of_one_kind(tmp_path):
    files = ViewFiles(tmp_path)
    for at in range(6):
        files.save("kind", bytes([at]) * 36, 1, ARRAYS)
        for path in tmp_path.iterdir():
            os.utime(path, (path.stat().st_mtime - 10,) * 2)
    assert files.roots("kind") == [b"\5" * 36, b"\4" * 36]


def test_what_a_dead_writer_left_is_deleted_in_time(tmp_path):
    files = ViewFiles(tmp_path)
    old, new = tmp_path / "old.tmp", tmp_path / "new.tmp"
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    files.save("kind", ROOT, 1, ARRAYS)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_directory_that_cannot_be_made_is_done_without(store, tmp_path):
    made, root, _ = store
    (tmp_path / "file").touch()
    cache, kind = opened(made, tmp_path / "file")
    first = answers(cache.get(kind, root))
    assert first == answers(ViewCache(made.blocks).get(VectorViewBuilder(), root))


def fill_the_disk(directory, root):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    files = ViewFiles(directory)
    files.save("kind", root, 1, {"a": np.ones(9000, np.uint8)})
    assert files.load("kind", root) is None
    files.save("small", root, 1, ARRAYS)
    assert files.load("small", root) is None


def test_a_full_disk_leaves_nothing_behind(tmp_path):
    child = multiprocessing.get_context("spawn").Process(
        target=fill_the_disk, args=(tmp_path, ROOT)
    )
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert not list(tmp_path.iterdir())


WRITER = """
import sys
from datetime import timedelta
from pathlib import Path
import numpy as np
from mnemosyne_vcs.views.files import ViewFiles
from mnemosyne_vcs.views.identity import IdentityViewBuilder
files, root = ViewFiles(Path(sys.argv[1])), bytes(range(36))
arrays = {str(i): np.full(2_000_000, i, np.uint8) for i in range(4)}
while True:
    print("begins", flush=True)
    files.save("kind", root, 1, arrays)
"""


def test_a_writer_that_is_killed_leaves_a_whole_file_or_none(tmp_path):
    """Killed while it writes the first file, the second, and so on."""
    files = ViewFiles(tmp_path)
    for written in (0, 1, 2, 5, 9):
        child = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE)
        try:
            for _ in range(1 + written):
                assert child.stdout.readline() == b"begins\n"
        finally:
            child.kill()
            child.wait()
            child.stdout.close()
        stored = files.load("kind", ROOT)
        assert stored is not None or not written
        if stored is not None:
            assert len(stored.arrays) == 4
            assert all((array == int(name)).all() for name, array in stored.arrays.items())


def search_in_another_process(path, seed):
    with mnemosyne_vcs.open(path) as repository:
        query = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
        return [(hit.record.key, hit.score) for hit in repository.at().search(query)]


def filled(path, seed):
    repository = mnemosyne_vcs.open(path, create=True)
    with repository.transaction() as tx:
        for key, vector in some_vectors(seed).items():
            tx.put(key, {"key": key}, embedding=vector)
    return repository


def views_of(path):
    return Path(f"{path}-views")


def test_processes_that_build_at_once_agree(tmp_path):
    filled(tmp_path / "m", 1).close()
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        found = pool.starmap(search_in_another_process, [(tmp_path / "m", 9)] * 8)
    assert all(each == found[0] for each in found)
    assert len(list(views_of(tmp_path / "m").glob("*.view"))) == 1
    assert search_in_another_process(tmp_path / "m", 9) == found[0]


def test_a_store_that_was_replaced_is_not_taken_for_the_old_one(tmp_path):
    filled(tmp_path / "a", 1).close()
    filled(tmp_path / "b", 2).close()
    first = search_in_another_process(tmp_path / "a", 9)
    wanted = search_in_another_process(tmp_path / "b", 9)
    (tmp_path / "b").replace(tmp_path / "a")
    assert first != search_in_another_process(tmp_path / "a", 9) == wanted


def test_two_stores_may_share_a_directory(tmp_path):
    for name, seed in (("a", 1), ("b", 2)):
        filled(tmp_path / name, seed).close()
    alone = [search_in_another_process(tmp_path / name, 9) for name in "ab"]
    for path in (views_of(tmp_path / "b"), views_of(tmp_path / "a")):
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    views_of(tmp_path / "a").mkdir()
    views_of(tmp_path / "b").symlink_to(views_of(tmp_path / "a"))
    for _ in range(3):
        assert [search_in_another_process(tmp_path / name, 9) for name in "ab"] == alone
    assert len(list(views_of(tmp_path / "a").iterdir())) == 2


def test_a_deleted_file_is_made_again_and_one_in_use_still_works(tmp_path):
    with filled(tmp_path / "m", 1) as repository:
        wanted = search_in_another_process(tmp_path / "m", 9)
        query = np.random.default_rng(9).standard_normal(DIMENSION).astype(np.float32)
        repository.at().search(query)
        for file in views_of(tmp_path / "m").iterdir():
            file.unlink()
        hits = repository.at().search(query)
        assert [(hit.record.key, hit.score) for hit in hits] == wanted
    assert search_in_another_process(tmp_path / "m", 9) == wanted
    assert len(list(views_of(tmp_path / "m").iterdir())) == 1


def test_nothing_is_written_where_no_cache_is_wanted(tmp_path):
    filled(tmp_path / "m", 1).close()
    with mnemosyne_vcs.open(tmp_path / "m", cache=False) as repository:
        repository.at().search(np.ones(DIMENSION, np.float32))
    assert not views_of(tmp_path / "m").exists()
    with mnemosyne_vcs.open(tmp_path / "m", read_only=True) as repository:
        repository.at().search(np.ones(DIMENSION, np.float32))
    assert views_of(tmp_path / "m").exists()


def test_gc_deletes_the_views_of_what_it_collects(tmp_path):
    with filled(tmp_path / "m", 1) as repository:
        repository.create_branch("side")
        with repository.transaction("side") as tx:
            for key, vector in some_vectors(4).items():
                tx.put(f"side/{key}", {}, embedding=vector)
        repository.at("main").search(np.ones(DIMENSION, np.float32))
        repository.at("side").search(np.ones(DIMENSION, np.float32))
        assert len(list(views_of(tmp_path / "m").iterdir())) == 2
        repository.delete_branch("side")
        repository.gc(dry_run=True, keep_reflog=timedelta(0))
        assert len(list(views_of(tmp_path / "m").iterdir())) == 2
        repository.gc(keep_reflog=timedelta(0))
        assert len(list(views_of(tmp_path / "m").iterdir())) == 1

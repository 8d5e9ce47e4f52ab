"""Objects that were damaged or deleted in the bucket: told and named, and never wrong data."""

import random
from dataclasses import replace
from itertools import count

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import CorruptObjectError, FormatVersionError
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.objectstore import manifest as manifests
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.format.objects import object_id

KINDS = {"manifest": 1, "logs": 3, "packs": 3}


@pytest.fixture(params=["whole", "in parts"])
def way(request, monkeypatch):
    """How packs are read; with limits so low that the logs have segments."""
    monkeypatch.setattr("mnemosyne_vcs.engine.objectstore.logs.RECENT_BYTES", 300)
    if request.param == "in parts":
        monkeypatch.setattr("mnemosyne_vcs.engine.objectstore.pack_reader.WHOLE_BYTES", 0)
    return request.param


@pytest.fixture
def stored(url, way):
    """A repository, and what there is in it."""
    with mnemosyne_vcs.open(url, create=True, author="tester") as repo:
        for number in range(4):
            repo.put(f"k/{number}", {"n": number}, embedding=[number, 1])
        return look(repo)


def look(repo):
    """All there is to see, past every cache of views."""
    return (
        {record.key: (record.content, record.embedding.tolist()) for record in repo.at().scan()},
        [commit.id for commit in repo.log()],
        [blame.commit.id for blame in repo.history("k/1")],
        [entry.new for entry in repo.reflog("main")],
    )


def names_of(store, folder, kind):
    """The objects of one kind, the same number of them each time."""
    found = [key for key in store.keys(folder) if key.startswith(f"{folder}/{kind}")]
    assert len(found) >= KINDS[kind]
    return sorted(found)[:: len(found) // KINDS[kind]]


def assert_told_or_right(url, expected, name):
    """Gives whether it was told."""
    try:
        with mnemosyne_vcs.open(url, read_only=True) as repo:
            assert look(repo) == expected
            return not repo.verify().ok
    except CorruptObjectError as error:
        assert name in error.message or "object bafy" in error.message
        return True


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_bits_are_told_and_never_believed(seaweedfs, url, folder, stored, kind):
    chance, told = random.Random(7), []
    for key in names_of(seaweedfs, folder, kind):
        data = seaweedfs.get(key)
        for position in (0, len(data) - 1, *chance.sample(range(len(data)), 6)):
            flipped = data[position] ^ (1 << chance.randrange(8))
            seaweedfs.put(key, data[:position] + bytes([flipped]) + data[position + 1 :])
            told.append(assert_told_or_right(url, stored, key.removeprefix(f"{folder}/")))
        seaweedfs.put(key, data)
    assert all(told) or kind == "packs"
    assert sum(told) > len(told) / 2
    assert not assert_told_or_right(url, stored, "")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_cut_short_is_told(seaweedfs, url, folder, stored, kind):
    for key in names_of(seaweedfs, folder, kind):
        data = seaweedfs.get(key)
        for size in (0, 1, len(data) // 2, len(data) - 1):
            seaweedfs.put(key, data[:size])
            assert assert_told_or_right(url, stored, key.removeprefix(f"{folder}/"))
        seaweedfs.put(key, data)
    assert not assert_told_or_right(url, stored, "")


@pytest.mark.parametrize("kind", ["logs", "packs"])
def test_what_was_deleted_is_named(seaweedfs, url, folder, stored, kind):
    for key in names_of(seaweedfs, folder, kind):
        data = seaweedfs.get(key)
        seaweedfs.delete(key)
        name = key.removeprefix(f"{folder}/")
        with pytest.raises(CorruptObjectError, match=f"no object '{name}'.*restore it"):
            look(mnemosyne_vcs.open(url))
        seaweedfs.put(key, data)
    assert not assert_told_or_right(url, stored, "")


def test_a_damaged_pack_is_not_compacted_away(seaweedfs, url, folder, stored):
    key = names_of(seaweedfs, folder, "packs")[0]
    data = seaweedfs.get(key)
    seaweedfs.put(key, data[:-1] + bytes([data[-1] ^ 1]))
    engine = open_engine(url)
    with pytest.raises(CorruptObjectError, match="object bafy"):
        engine.compact()
    seaweedfs.put(key, data)
    engine.compact()
    assert not assert_told_or_right(url, stored, "")


def test_a_writer_that_lacks_a_segment_says_so(seaweedfs, url, folder, way, monkeypatch):
    monkeypatch.setattr("mnemosyne_vcs.engine.objectstore.logs.FAN", 2)
    engine = open_engine(url, create=True)
    numbers = count()

    def write():
        data = b"%d" % next(numbers)
        block = object_id(data)
        engine.write({block: data}, RefUpdate(f"r{data}", None, block))

    while not any("/logs/" in key for key in seaweedfs.keys(folder)):
        write()
    for key in seaweedfs.keys(folder):
        if "/logs/" in key:
            seaweedfs.delete(key)
    with pytest.raises(CorruptObjectError, match="no object 'logs/"):
        for _ in range(40):
            write()


def test_a_newer_format_is_told(seaweedfs, url, folder, monkeypatch):
    engine = open_engine(url, create=True)
    found = manifests.decode(seaweedfs.get(f"{folder}/manifest"), url)
    with monkeypatch.context() as later:
        later.setattr(manifests, "FORMAT", 2)
        seaweedfs.put(f"{folder}/manifest", manifests.encode(replace(found, version=7)))
    for act in (lambda: open_engine(url), engine.refs, lambda: engine.set_setting("a", "b")):
        with pytest.raises(FormatVersionError, match=r"format 2.*upgrade Mnemosyne") as caught:
            act()
        assert url in caught.value.message


def test_something_else_in_place_of_a_repository_is_told(seaweedfs, url, folder):
    for data in (b"", b"hello", b"mnemosyne manifest\n"):
        seaweedfs.put(f"{folder}/manifest", data)
        with pytest.raises(CorruptObjectError, match="'manifest' is damaged, or something else"):
            open_engine(url, create=True)

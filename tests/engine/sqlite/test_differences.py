"""Objects of a SQLite store that are stored as differences, and stores of the first format."""

import lzma
import random
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mnemosyne_vcs
from children import REPACK_CHILD
from mnemosyne_vcs import CorruptObjectError
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.sqlite.differences import (
    LARGEST,
    VERSIONS,
    base_place,
    difference,
    whole,
)
from mnemosyne_vcs.engine.sqlite.statements import FORMAT
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.ids import text_id
from mnemosyne_vcs.testing._children import Child
from mnemosyne_vcs.testing.engines import blob, versions

FIRST_FORMAT = Path(__file__).parent / "data" / "format-1.mnem.xz"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.mnem"


@pytest.fixture
def engine(path):
    engine = open_engine(path, create=True)
    yield engine
    engine.close()


@pytest.fixture
def old(path):
    """A store that the first version made: 60 records, and a commit that changed each."""
    path.write_bytes(lzma.decompress(FIRST_FORMAT.read_bytes()))
    return path


def ask(path, sql, *values):
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def depths(path):
    """How many differences each object is away from one that is whole, by its id."""
    rows = {n: (block, base) for n, block, base in ask(path, "SELECT n, id, base FROM objects")}

    def depth(n):
        base = rows[n][1]
        return 0 if base is None else 1 + depth(base)

    return {rows[n][0]: depth(n) for n in rows}


def pack(engine, objects):
    """Write versions one by one, and store them as differences."""
    for block, data in objects.items():
        engine.write({block: data})
    engine.repack((new, old) for old, new in pairwise(objects))


def test_the_bases_of_32_versions_are_at_most_five_steps_from_the_whole_one(engine, path):
    pack(engine, dict(versions(200)))
    found = list(depths(path).values())
    assert [found[start : start + VERSIONS] for start in range(0, 192, VERSIONS)] == [
        [place.bit_count() for place in range(VERSIONS)]
    ] * 6
    assert [base_place(place) for place in range(8)] == [0, 0, 2, 0, 4, 4, 6, 0]


def test_bytes_that_do_not_match_the_id_are_no_base(engine, path):
    (block, data), (second, newer), (third, newest) = versions(3)
    engine.write({block: data[:-1], second: newer, third: newest})
    engine.repack([(second, block), (third, second)])
    assert depths(path) == {block: 0, second: 0, third: 1}
    assert dict(engine.read([second, third])) == {second: newer, third: newest}


def test_deleting_a_base_leaves_nothing_of_its_bytes(engine, path):
    secret = b"the number of the card is 4821"
    filler = random.Random(1).randbytes(2000)
    objects = [filler[:1000] + secret + filler[1000:], filler, filler + b"more"]
    ids = [object_id(data) for data in objects]
    pack(engine, dict(zip(ids, objects, strict=True)))
    assert depths(path) == {ids[0]: 0, ids[1]: 1, ids[2]: 1}
    engine.delete(ids[:1])
    assert dict(engine.read(ids)) == dict(zip(ids[1:], objects[1:], strict=True))
    assert depths(path) == {ids[1]: 0, ids[2]: 1}
    engine.close()
    assert secret not in path.read_bytes()


def test_chains_do_not_grow_when_bases_go(engine, path):
    objects = dict(versions(3 * VERSIONS))
    pack(engine, objects)
    chance, left = random.Random(5), list(objects)
    while len(left) > 10:
        gone = chance.sample(left, 10)
        engine.delete(gone)
        left = [block for block in left if block not in gone]
        before = depths(path)
        assert max(before.values()) <= 5
        assert dict(engine.read(left)) == {block: objects[block] for block in left}
    assert sum(1 for depth in before.values() if not depth) <= 4


def test_a_damaged_dependant_keeps_its_base(engine, path):
    objects = versions(3)
    pack(engine, dict(objects))
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE objects SET data = zeroblob(40) WHERE base IS NOT NULL")
    connection.close()
    with pytest.raises(CorruptObjectError, match="is corrupt"):
        engine.delete([objects[0][0]])
    assert set(engine.read([block for block, _ in objects])) == {block for block, _ in objects}


@pytest.mark.parametrize("base", [None, 1, 2, 10**9])
def test_chains_that_lead_nowhere_or_in_a_circle_give_what_is_stored(engine, path, base):
    objects = versions(2)
    pack(engine, dict(objects))
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE objects SET base = ? WHERE n = 2", (base,))
    connection.execute("UPDATE objects SET base = 2, data = x'0102' WHERE n = 1 AND ? = 1", (base,))
    connection.close()
    (second, data), found = objects[1], engine.read([block for block, _ in objects])
    assert set(found) == {block for block, _ in objects}
    assert (found[second] == data) == (base == 1 and found[objects[0][0]] == objects[0][1])


def test_a_flipped_byte_in_a_difference_or_a_base_is_named(tmp_path):
    path, chance = tmp_path / "a.mnem", random.Random(2)
    with mnemosyne_vcs.open(path, create=True) as repo:
        for number in range(20):
            repo.put(f"k/{number % 4}", {"text": "the same all the time" * 20, "seen": number})
        repo.gc(compact=True)
        kept = [repo.at(commit.id)["k/0"].content for commit in repo.log(limit=9)]
    rows = ask(path, "SELECT n, id, data, base FROM objects")
    assert sum(base is not None for *_, base in rows) > 12
    for n, block, data, _ in rows:
        at = chance.randrange(len(data))
        damaged = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        ask(path, "UPDATE objects SET data = ? WHERE n = ?", damaged, n)
        with mnemosyne_vcs.open(path) as repo:
            problems = repo.verify().problems
            assert text_id(block) in {problem.object for problem in problems}
            assert {problem.kind for problem in problems} <= {"corrupt", "index"}
        ask(path, "UPDATE objects SET data = ? WHERE n = ?", data, n)
    with mnemosyne_vcs.open(path) as repo:
        assert repo.verify().ok
        assert [repo.at(commit.id)["k/0"].content for commit in repo.log(limit=9)] == kept


def test_kills_while_it_writes_collects_and_compacts_lose_nothing(path):
    mnemosyne_vcs.open(path, create=True).close()
    for kill in range(8):
        with Child(REPACK_CHILD, path) as child:
            said = [child.line() for _ in range(7 * kill + 3)]
            said += child.kill()
        with mnemosyne_vcs.open(path) as repo:
            assert repo.verify().ok
            assert set(said) <= {commit.id for commit in repo.log()}
    assert max(depths(path).values()) <= 5


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_order_of_writes_deletions_and_repacking_agrees_with_a_dictionary(
    tmp_path_factory, data
):
    path = tmp_path_factory.mktemp("any") / "store.mnem"
    engine = open_engine(path, create=True)
    pool = [each for number in range(2) for each in versions(12, number, 300)]
    numbers = st.integers(0, len(pool) - 1)
    acts = st.one_of(
        st.tuples(st.just("write"), st.lists(numbers, max_size=6)),
        st.tuples(st.just("delete"), st.lists(numbers, max_size=8)),
        st.tuples(st.just("repack"), st.lists(st.tuples(numbers, numbers), max_size=24)),
        st.tuples(st.just("compact"), st.just(())),
    )
    there = {}
    for act, what in data.draw(st.lists(acts, max_size=25)):
        if act == "write":
            new = {pool[n][0]: pool[n][1] for n in what}
            engine.write(new)
            there |= new
        elif act == "delete":
            engine.delete([pool[n][0] for n in what])
            for n in what:
                there.pop(pool[n][0], None)
        elif act == "repack":
            engine.repack([(pool[n][0], pool[old][0]) for n, old in what])
        else:
            engine.compact()
        assert dict(engine.read([block for block, _ in pool])) == there
        assert engine.sizes([block for block, _ in pool]) == {b: len(d) for b, d in there.items()}
        assert max(depths(path).values(), default=0) <= 5
    engine.close()


@given(base=st.binary(max_size=3000), data=st.binary(max_size=3000), cut=st.integers(0, 3000))
def test_a_difference_gives_back_what_it_was_made_of(base, data, cut):
    for each in (data, base[:cut] + data, base[:cut] + data[:50] + base[cut:]):
        packed = difference(base, each)
        assert packed is None or whole(base, packed, len(each)) == each


def test_differences_reach_over_the_largest_objects():
    base = random.Random(1).randbytes(LARGEST - 4)
    packed = difference(base, base + b"more")
    assert packed is not None
    assert len(packed) < 1000
    assert whole(base, packed, LARGEST) == base + b"more"
    assert difference(base, base + b"and more") is None
    assert difference(base, base[:100]) is None


def test_a_store_of_the_first_format_can_be_read(old):
    before = old.read_bytes()
    with mnemosyne_vcs.open(old, read_only=True) as repo:
        assert len(repo.at()) == 59
        assert repo.at("seen")["team/0/000"].content == {"text": "fact 0", "seen": 1}
        assert repo.verify().ok
        can = repo.blocks.can
        ids = list(repo.blocks.engine.ids())
        assert can.sizes(ids) == {b: len(d) for b, d in repo.blocks.engine.read(ids).items()}
    assert old.read_bytes() == before
    mnemosyne_vcs.open(old).close()
    assert ask(old, "PRAGMA user_version") == [(1,)]


def test_the_first_write_makes_a_store_of_the_first_format_one_of_this(old):
    with mnemosyne_vcs.open(old, read_only=True) as reader, mnemosyne_vcs.open(old) as repo:
        assert len(reader.at()) == 59
        commits = list(repo.log())
        for number in range(10):
            repo.put("team/1/001", {"text": "fact 1", "seen": number})
            assert reader.at()["team/1/001"].content["seen"] == number
            assert set(reader.log()) > set(commits)
        repo.gc(compact=True)
        assert reader.verify().ok
        assert repo.verify().ok
        repo.blocks.engine.set_setting("x", "y")
    assert ask(old, "PRAGMA user_version") == [(FORMAT,)]
    assert max(depths(old).values()) > 0


def test_a_store_that_an_older_program_marked_as_its_own_is_written_on(old):
    with mnemosyne_vcs.open(old) as repo:
        repo.put("a", 1)
    ask(old, "PRAGMA user_version = 1")
    with mnemosyne_vcs.open(old) as repo:
        repo.put("a", 2)
        assert repo.verify().ok
    assert ask(old, "PRAGMA user_version") == [(FORMAT,)]


def test_a_program_that_does_not_know_of_differences_cannot_delete(old):
    with mnemosyne_vcs.open(old) as repo:
        repo.put("a", 1)
    with pytest.raises(apsw.SQLError, match="keeps_bases"):
        ask(old, "DELETE FROM objects")


def test_an_upgrade_that_fails_changes_nothing(old):
    engine = open_engine(old)
    with pytest.raises(ZeroDivisionError), engine.exclusive():
        raise ZeroDivisionError
    engine.close()
    assert ask(old, "PRAGMA user_version") == [(1,)]
    assert len(ask(old, "SELECT 1 FROM pragma_table_info('objects')")) == 3


def test_the_history_of_the_first_format_is_compacted(old):
    with mnemosyne_vcs.open(old) as repo:
        texts = {commit.id: dict_of(repo.at(commit.id)) for commit in repo.log()}
        before = old.stat().st_size
        repo.gc(compact=True, keep_reflog=timedelta(0))
        assert old.stat().st_size < before * 0.6
        assert {commit.id: dict_of(repo.at(commit.id)) for commit in repo.log()} == texts
        assert repo.verify().ok
        small = old.stat().st_size
        repo.gc(compact=True)
        assert old.stat().st_size <= small
        backup = old.with_name("backup.mnem")
        repo.backup(backup)
        assert repo.verify().ok
    with mnemosyne_vcs.open(backup) as copy:
        assert copy.verify().ok
        assert {commit.id: dict_of(copy.at(commit.id)) for commit in copy.log()} == texts
    assert max(depths(backup).values()) <= 5


def test_what_a_branch_has_now_stays_whole(tmp_path):
    path = tmp_path / "a.mnem"
    with mnemosyne_vcs.open(path, create=True) as repo:
        for number in range(90):
            repo.put(f"k/{number % 30:02}", {"text": "the same all the time" * 9, "seen": number})
        repo.create_branch("old", "main~40")
        repo.gc(compact=True)
        heads = [repo.blocks.commit(head) for head in repo.blocks.engine.refs("branch/").values()]
        found = depths(path)
        for head in heads:
            node = repo.blocks.node(head.tree_cid)
            assert {found[block] for block in (head.tree_cid, *node.links)} == {0}
        assert sum(map(bool, found.values())) > 60


def dict_of(snapshot):
    return {record.key: record.content for record in snapshot.scan()}


def test_a_clone_and_a_bundle_of_differences_are_whole(tmp_path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True, author="me") as repo:
        for number in range(70):
            repo.put(f"k/{number % 5}", {"text": "the same", "seen": number})
        repo.gc(compact=True)
        repo.export_bundle(tmp_path / "all.bundle")
        with mnemosyne_vcs.clone(tmp_path / "a.mnem", tmp_path / "b.mnem") as copy:
            assert list(copy.log()) == list(repo.log())
            assert copy.verify().ok
        with mnemosyne_vcs.open(tmp_path / "c.mnem", create=True) as copy:
            copy.import_bundle(tmp_path / "all.bundle")
            assert list(copy.log()) == list(repo.log())
            assert copy.verify().ok


def test_objects_that_do_not_resemble_what_they_replace_are_whole(engine, path):
    objects = dict(blob(number, 3000) for number in range(2))
    pack(engine, objects)
    assert set(depths(path).values()) == {0}
    assert dict(engine.read(list(objects))) == objects


def test_repacking_leaves_bases_whole(engine, path):
    objects = versions(70)
    engine.write(dict(objects))
    pairs = [(new, old) for (old, _), (new, _) in pairwise(objects)]
    engine.repack(pairs[35:])
    engine.repack(pairs)
    found = depths(path)
    assert max(found.values()) <= 5
    whole_ones = [at for at, (block, _) in enumerate(objects) if not found[block]]
    assert whole_ones == [0, 32, 35, 67]
    assert dict(engine.read([block for block, _ in objects])) == dict(objects)

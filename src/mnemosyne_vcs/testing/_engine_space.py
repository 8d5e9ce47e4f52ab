"""The contract of engines that list and delete their objects, or copy themselves."""

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import (
    BacksUp,
    Deletes,
    Engine,
    Enumerates,
    Exclusive,
    HasHistoryIndex,
    HasReflog,
    HasSpace,
    IndexEntry,
    RefUpdate,
    Repacks,
)
from mnemosyne_vcs.errors import AlreadyExistsError, EngineError, ReadOnlyError
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.testing._engine_hooks import (
    EngineHooks,
    blob,
    find,
    require,
    versions,
)

__all__ = ["SpaceContract"]


class _Deletes(EngineHooks):
    def test_deleted_objects_are_gone_and_the_others_stay(self, engine: Engine) -> None:
        deletes = require(engine, Deletes)
        objects = dict(blob(number) for number in range(1500))
        engine.write(objects)
        gone = list(objects)[::2]
        deletes.delete(set(gone))
        deletes.delete([*gone[:3], blob(9999)[0]])
        deletes.delete([])
        left = {block: data for block, data in objects.items() if block not in gone}
        assert dict(engine.read(list(objects))) == left
        if listing := find(engine, Enumerates):
            assert sorted(listing.ids()) == sorted(left)

    def test_what_was_deleted_can_be_written_again(self, engine: Engine) -> None:
        deletes = require(engine, Deletes)
        block, data = blob(1)
        for _ in range(2):
            engine.write({block: data})
            assert dict(engine.read([block])) == {block: data}
            deletes.delete([block])
            assert dict(engine.read([block])) == {}

    def test_a_deleted_commit_leaves_the_index_and_not_the_reflog(self, engine: Engine) -> None:
        deletes, index = require(engine, Deletes), require(engine, HasHistoryIndex)
        one, two = blob(1), blob(2)
        first = IndexEntry(one[0], "t1", ["k", "one"])
        engine.write(dict([one]), RefUpdate("r", None, one[0], index=first))
        second = IndexEntry(two[0], "t2", ["k", "two"])
        engine.write(dict([two]), RefUpdate("r", one[0], two[0], index=second))
        engine.write({}, RefUpdate("r", two[0], one[0]))
        deletes.delete([two[0]])
        assert index.commits_of_key("k") == [one[0]]
        assert index.commits_of_key("two") == index.commits_of_transaction("t2") == []
        assert (index.indexed(one[0]), index.indexed(two[0])) == (True, False)
        index.add_to_index([IndexEntry(blob(3)[0], "t3", ["three"])])
        assert index.commits_of_key("two") == []
        if reflog := find(engine, HasReflog):
            assert len(list(reflog.reflog("r"))) == 3

    def test_versions_stay_when_those_that_they_replaced_are_deleted(self, engine: Engine) -> None:
        deletes, repacks = require(engine, Deletes), require(engine, Repacks)
        objects = dict(versions(100))
        engine.write(objects)
        repacks.repack((new, old) for old, new in pairwise(objects))
        left = list(objects.items())
        for part in range(4):
            gone = {block for block, _ in left[part::4]}
            deletes.delete(gone)
            left = [each for each in left if each[0] not in gone]
            assert dict(engine.read(list(objects))) == dict(left)
        engine.write(dict(versions(20, number=1)))
        deletes.delete([block for block, _ in left])
        assert dict(engine.read(list(objects))) == {}

    def test_a_deletion_of_what_was_replaced_is_undone_with_the_rest(self, engine: Engine) -> None:
        deletes, exclusive = require(engine, Deletes), require(engine, Exclusive)
        repacks, objects = require(engine, Repacks), dict(versions(10))
        engine.write(objects)
        repacks.repack((new, old) for old, new in pairwise(objects))
        gone = list(objects)[:5]
        with pytest.raises(ZeroDivisionError), exclusive.exclusive():
            deletes.delete(gone)
            assert set(engine.read(list(objects))) == set(list(objects)[5:])
            raise ZeroDivisionError
        assert dict(engine.read(list(objects))) == objects

    @pytest.mark.parametrize("seed", range(3))
    def test_any_sequence_of_versions_and_deletions_agrees_with_a_dictionary(
        self, engine: Engine, seed: int
    ) -> None:
        deletes, random = require(engine, Deletes), Random(seed)
        pool = [each for number in range(3) for each in versions(20, number)]
        there: dict[Id, bytes] = {}
        for _ in range(80):
            act = random.randrange(10)
            if act < 6:
                new = dict(random.choices(pool, k=random.randrange(5)))
                engine.write(new)
                there |= new
            elif act < 8:
                gone = {block for block, _ in random.choices(pool, k=random.randrange(15))}
                deletes.delete(gone)
                there = {block: data for block, data in there.items() if block not in gone}
            elif act == 8 and (repacks := find(engine, Repacks)):
                ids = [block for block, _ in pool]
                repacks.repack([(random.choice(ids), random.choice(ids)) for _ in range(50)])
            elif space := find(engine, HasSpace):
                space.compact()
            assert dict(engine.read([block for block, _ in pool])) == there

    def test_a_deletion_in_an_exclusive_that_fails_is_undone(self, engine: Engine) -> None:
        deletes, exclusive = require(engine, Deletes), require(engine, Exclusive)
        block, data = blob(1)
        engine.write({block: data})
        with pytest.raises(ZeroDivisionError), exclusive.exclusive():
            deletes.delete([block])
            assert dict(engine.read([block])) == {}
            raise ZeroDivisionError
        assert dict(engine.read([block])) == {block: data}

    def test_compacting_changes_nothing_that_can_be_read(self, engine: Engine) -> None:
        deletes, space = require(engine, Deletes), require(engine, HasSpace)
        objects = dict(blob(number, 5000) for number in range(400))
        kept, gone = dict(list(objects.items())[:40]), list(objects)[40:]
        engine.write(objects, RefUpdate("r", None, gone[0], "who"))
        before = space.size()
        deletes.delete(gone)
        space.compact()
        assert space.size() < before / 2
        assert dict(engine.read(list(objects))) == kept
        assert dict(engine.refs()) == {"r": gone[0]}
        engine.write(objects)
        assert dict(engine.read(gone[:1])) == {gone[0]: objects[gone[0]]}

    def test_compacting_inside_an_exclusive_is_refused(self, engine: Engine) -> None:
        space, exclusive = require(engine, HasSpace), require(engine, Exclusive)
        with exclusive.exclusive(), pytest.raises(EngineError, match="inside a transaction"):
            space.compact()

    def test_a_store_for_reading_deletes_nothing(self, engine: Engine) -> None:
        require(engine, Deletes)
        block, data = blob(1)
        engine.write({block: data})
        reader = self.for_reading(engine)
        if reader is None:
            pytest.skip("no read-only engines")
        with pytest.raises(ReadOnlyError):
            require(reader, Deletes).delete([block])
        if space := find(reader, HasSpace):
            with pytest.raises(ReadOnlyError):
                space.compact()
        assert dict(reader.read([block])) == {block: data}
        reader.close()


class _Repacks(EngineHooks):
    def test_repacked_objects_are_read_back_and_take_less_space(self, engine: Engine) -> None:
        repacks, space = require(engine, Repacks), require(engine, HasSpace)
        objects = dict(versions(300))
        for block, data in objects.items():
            engine.write({block: data})
        space.compact()
        before = space.size()
        missing = blob(1)[0]
        pairs = [(new, old) for old, new in pairwise(objects)]
        repacks.repack([(missing, pairs[0][0]), *pairs, (pairs[0][1], missing)])
        space.compact()
        assert space.size() < before / 3
        assert dict(engine.read(list(objects))) == objects
        for block, data in objects.items():
            assert dict(engine.read([block])) == {block: data}
        sizes = Capabilities.of(engine).sizes(list(objects))
        assert sizes == {block: len(data) for block, data in objects.items()}
        engine.close()
        assert dict(engine.read(list(objects))) == objects
        repacks.repack(pairs)
        repacks.repack([(old, new) for new, old in pairs])
        repacks.repack([(block, block) for block in objects])
        repacks.repack([])
        assert dict(engine.read(list(objects))) == objects

    def test_objects_of_every_size_may_be_repacked(self, engine: Engine) -> None:
        repacks = require(engine, Repacks)
        sizes = [0, 1, 100, 200, 16_000, 31_990, 32_001, 70_000, 300, 0]
        objects = dict(blob(number, size) for number, size in enumerate(sizes))
        more = {object_id(data): data for each in objects.values() for data in [each + b"more"]}
        engine.write(objects | more)
        repacks.repack(zip(more, objects, strict=False))
        repacks.repack(pairwise(more))
        assert dict(engine.read([*objects, *more])) == objects | more

    def test_a_store_for_reading_is_not_repacked(self, engine: Engine) -> None:
        require(engine, Repacks)
        (old, data), (new, newer) = versions(2)
        engine.write({old: data, new: newer})
        reader = self.for_reading(engine)
        if reader is None:
            pytest.skip("no read-only engines")
        with pytest.raises(ReadOnlyError):
            require(reader, Repacks).repack([(new, old)])
        reader.close()


class _Copies(EngineHooks):
    def test_every_object_is_listed(self, engine: Engine) -> None:
        listing = require(engine, Enumerates)
        assert list(listing.ids()) == []
        objects = dict(blob(number) for number in range(2500))
        engine.write(objects)
        engine.write(objects)
        assert sorted(listing.ids()) == sorted(objects)
        some = next(iter(objects))
        for length in (1, 4, 5, 6, 36):
            expected = sorted(block for block in objects if block.startswith(some[:length]))
            assert sorted(listing.ids(some[:length])) == expected
        assert list(listing.ids(b"\xff")) == []

    def test_the_size_grows_with_what_is_stored(self, engine: Engine) -> None:
        space = require(engine, HasSpace)
        before = space.size()
        engine.write(dict([blob(1, 1_000_000)]))
        assert before + 1_000_000 <= space.size() <= before + 4_000_000

    def test_a_backup_opens_as_a_store_of_its_own(self, engine: Engine, tmp_path: Path) -> None:
        copies = require(engine, BacksUp)
        objects = dict(blob(number, 5000) for number in range(20))
        head = next(iter(objects))
        update = RefUpdate("r", None, head, "who", 1, "why", IndexEntry(head, "t", ["k"]))
        engine.write(objects, update)
        path = str(tmp_path / "backup é%20?")
        copies.backup(path)
        engine.write({}, RefUpdate("r", head, None))
        copy = self.copy_at(path)
        assert copy is not None, "override copy_at to test the backup"
        assert dict(copy.refs()) == {"r": head}
        assert dict(copy.read(list(objects))) == objects
        if reflog := find(copy, HasReflog):
            assert [entry.author for entry in reflog.reflog("r")] == ["who"]
        if index := find(copy, HasHistoryIndex):
            assert index.commits_of_key("k") == [head]
        copy.write({}, RefUpdate("s", None, head))
        copy.close()
        assert dict(engine.refs()) == {}

    def test_a_backup_overwrites_nothing(self, engine: Engine, tmp_path: Path) -> None:
        copies = require(engine, BacksUp)
        path = tmp_path / "there"
        path.write_bytes(b"precious")
        with pytest.raises(AlreadyExistsError, match="there"):
            copies.backup(str(path))
        assert path.read_bytes() == b"precious"


class SpaceContract(_Deletes, _Repacks, _Copies):
    """The contract of such an engine; skipped if it does not have the capability."""

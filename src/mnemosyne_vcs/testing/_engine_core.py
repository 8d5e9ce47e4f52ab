"""The part of the engine contract that every engine must keep."""

from itertools import pairwise
from random import Random
from threading import Event, Thread

import pytest

from mnemosyne_vcs.engine.protocol import Engine, RefUpdate
from mnemosyne_vcs.errors import CorruptObjectError, ReadOnlyError, RefConflictError
from mnemosyne_vcs.format.objects import check_id, object_id
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.testing._engine_hooks import (
    HOSTILE_NAMES,
    PATIENCE,
    EngineHooks,
    blob,
    in_threads,
)

__all__ = ["CoreContract"]


class _Objects(EngineHooks):
    def test_written_objects_are_read_back(self, engine: Engine) -> None:
        objects = dict(blob(number, size) for number, size in enumerate([0, 1, 500, 3000, 70_000]))
        engine.write(objects)
        assert dict(engine.read(list(objects))) == objects

    def test_absent_objects_are_absent_from_the_answer(self, engine: Engine) -> None:
        there, missing = blob(1), blob(2)
        engine.write(dict([there]))
        assert dict(engine.read([missing[0], there[0]])) == dict([there])
        assert dict(engine.read([missing[0]])) == {}

    def test_empty_batches(self, engine: Engine) -> None:
        engine.write({})
        assert dict(engine.read([])) == {}
        assert dict(engine.refs()) == {}

    def test_ids_may_come_in_any_collection(self, engine: Engine) -> None:
        objects = dict(blob(number) for number in range(3))
        engine.write(objects)
        for ids in (list(objects), tuple(objects), set(objects), objects.keys(), [*objects] * 2):
            assert dict(engine.read(ids)) == objects

    def test_five_thousand_ids_in_one_read(self, engine: Engine) -> None:
        written = dict(blob(number) for number in range(2500))
        engine.write(written)
        absent = [blob(number)[0] for number in range(2500, 5000)]
        assert dict(engine.read([*written, *absent])) == written

    def test_an_object_of_ten_megabytes(self, engine: Engine) -> None:
        block, data = blob(1, 10_000_000)
        engine.write({block: data})
        assert engine.read([block])[block] == data

    def test_an_object_that_exists_is_left_as_it_is(self, engine: Engine) -> None:
        block, data = blob(1)
        engine.write({block: data})
        engine.write({block: b"something else", **dict([blob(2)])})
        assert engine.read([block])[block] == data
        assert blob(2)[0] in engine.read([blob(2)[0]])

    def test_bytes_are_read_from_the_store_and_not_checked(self, engine: Engine) -> None:
        block, data = blob(1)
        engine.write({block: data})
        if not self.replace_bytes(engine, block, b"damaged"):
            pytest.skip("no way to change an object behind the engine's back")
        found = engine.read([block])[block]
        assert found == b"damaged"
        with pytest.raises(CorruptObjectError):
            check_id(block, found)


class _Refs(EngineHooks):
    def test_a_ref_is_made_moved_and_deleted(self, engine: Engine) -> None:
        first, second = blob(1)[0], blob(2)[0]
        assert engine.ref("r") is None
        for old, new in pairwise([None, first, second, None, first]):
            engine.write({}, RefUpdate("r", old, new))
            assert engine.ref("r") == new
            assert dict(engine.refs()) == ({} if new is None else {"r": new})

    def test_objects_and_ref_arrive_together(self, engine: Engine) -> None:
        block, data = blob(1)
        engine.write({block: data}, RefUpdate("r", None, block))
        assert engine.ref("r") == block
        assert dict(engine.read([block])) == {block: data}

    @pytest.mark.parametrize("present", [None, 1])
    @pytest.mark.parametrize("expected", [None, 1, 2])
    @pytest.mark.parametrize("new", [None, 1, 3])
    def test_a_ref_moves_only_from_where_it_is_expected(
        self, engine: Engine, present: int | None, expected: int | None, new: int | None
    ) -> None:
        def target(number: int | None) -> Id | None:
            return None if number is None else blob(number)[0]

        if present is not None:
            engine.write({}, RefUpdate("r", None, target(present)))
        extra, data = blob(9)
        update = RefUpdate("r", target(expected), target(new))
        if present == expected:
            engine.write({extra: data}, update)
            assert engine.ref("r") == target(new)
            assert extra in engine.read([extra])
            return
        with pytest.raises(RefConflictError, match="'r'"):
            engine.write({extra: data}, update)
        assert engine.ref("r") == target(present)
        assert dict(engine.read([extra])) == {}

    def test_refs_are_told_apart_whatever_their_names(self, engine: Engine) -> None:
        targets = {name: blob(number)[0] for number, name in enumerate(HOSTILE_NAMES)}
        for name, target in targets.items():
            engine.write({}, RefUpdate(name, None, target))
        assert {name: engine.ref(name) for name in targets} == targets
        assert list(engine.refs().items()) == sorted(targets.items())
        for gone in HOSTILE_NAMES[::2]:
            engine.write({}, RefUpdate(gone, targets.pop(gone), None))
        assert dict(engine.refs()) == targets

    @pytest.mark.parametrize("prefix", ["", "a", "a%", "a_", "A", "é", "記", "\U0010ffff", "zz"])
    def test_refs_by_prefix(self, engine: Engine, prefix: str) -> None:
        names = [*HOSTILE_NAMES, "a%", "a%c", "a_c", "axc", "éa", "\U0010ffffa"]
        target = blob(1)[0]
        for name in names:
            engine.write({}, RefUpdate(name, None, target))
        expected = sorted(name for name in names if name.startswith(prefix))
        assert list(engine.refs(prefix)) == expected


class _Life(EngineHooks):
    def test_close_may_be_repeated_and_a_later_call_reopens(self, engine: Engine) -> None:
        block, data = blob(1)
        engine.write({block: data}, RefUpdate("r", None, block))
        engine.close()
        engine.close()
        assert engine.ref("r") == block
        engine.close()
        engine.write(dict([blob(2)]), RefUpdate("r", block, blob(2)[0]))
        assert engine.ref("r") == blob(2)[0]
        assert dict(engine.read([block])) == {block: data}

    def test_the_url_is_a_string(self, engine: Engine) -> None:
        assert "://" in engine.url
        assert engine.read_only is False

    def test_each_engine_on_a_store_sees_the_others_writes_at_once(self, engine: Engine) -> None:
        other = self.again(engine)
        if other is None:
            pytest.skip("one engine a store")
        sides, old = [engine, other], None
        for number in range(20):
            block, data = blob(number)
            sides[number % 2].write({block: data}, RefUpdate("r", old, block))
            for side in sides:
                assert side.ref("r") == block
                assert dict(side.read([block])) == {block: data}
                assert dict(side.refs()) == {"r": block}
            old = block
        with pytest.raises(RefConflictError):
            engine.write({}, RefUpdate("r", None, blob(1)[0]))
        other.close()

    def test_reading_only(self, engine: Engine) -> None:
        block, data = blob(1)
        engine.write({block: data}, RefUpdate("r", None, block))
        reader = self.for_reading(engine)
        if reader is None:
            pytest.skip("no read-only engines")
        assert reader.read_only
        for objects, update in [
            ({}, None),
            (dict([blob(2)]), None),
            ({}, RefUpdate("r", block, None)),
        ]:
            with pytest.raises(ReadOnlyError):
                reader.write(objects, update)
        assert dict(reader.read([block, blob(2)[0]])) == {block: data}
        assert reader.ref("r") == block
        engine.write(dict([blob(3)]), RefUpdate("r", block, blob(3)[0]))
        assert reader.ref("r") == blob(3)[0]
        reader.close()


class _Races(EngineHooks):
    def test_threads_that_move_one_ref_lose_nothing(self, engine: Engine) -> None:
        threads, moves = 8, 10

        def work(thread: int) -> None:
            for move in range(moves):
                while True:
                    head = engine.ref("r")
                    seen = engine.read([head])[head] if head else b""
                    data = seen + bytes([thread, move])
                    block = object_id(data)
                    try:
                        engine.write({block: data}, RefUpdate("r", head, block))
                        break
                    except RefConflictError:
                        continue

        in_threads(threads, work)
        head = engine.ref("r")
        assert head is not None
        chain = engine.read([head])[head]
        landed = sorted((chain[at], chain[at + 1]) for at in range(0, len(chain), 2))
        assert landed == [(thread, move) for thread in range(threads) for move in range(moves)]

    def test_threads_that_move_refs_of_their_own_never_conflict(self, engine: Engine) -> None:
        def work(thread: int) -> None:
            old = None
            for move in range(10):
                block, data = blob(thread * 100 + move)
                engine.write({block: data}, RefUpdate(f"r{thread}", old, block))
                assert engine.ref(f"r{thread}") == block
                old = block

        in_threads(6, work)
        assert dict(engine.refs()) == {f"r{n}": blob(n * 100 + 9)[0] for n in range(6)}

    def test_readers_never_see_half_a_write(self, engine: Engine) -> None:
        done = Event()
        torn: list[Id] = []
        rounds = [0]

        def read() -> None:
            while not done.is_set():
                head = engine.ref("r")
                if head is not None and len(engine.read([head])) != 1:
                    torn.append(head)
                rounds[0] += 1

        reader = Thread(target=read, daemon=True)
        reader.start()
        old, number = None, 0
        while number < 50 or rounds[0] == 0:
            block, data = blob(number)
            engine.write({block: data, **dict([blob(-1 - number)])}, RefUpdate("r", old, block))
            old, number = block, number + 1
        done.set()
        reader.join(PATIENCE)
        assert not reader.is_alive()
        assert torn == []

    @pytest.mark.parametrize("seed", range(5))
    def test_any_sequence_of_writes_agrees_with_a_dictionary(
        self, engine: Engine, seed: int
    ) -> None:
        random = Random(seed)
        objects: dict[Id, bytes] = {}
        refs: dict[str, Id] = {}
        for _ in range(60):
            new = dict(blob(random.randrange(40)) for _ in range(random.randrange(4)))
            name = random.choice("abc")
            old = random.choice([refs.get(name), refs.get(name), blob(random.randrange(40))[0]])
            target = random.choice([None, blob(random.randrange(40))[0]])
            if refs.get(name) == old:
                engine.write(new, RefUpdate(name, old, target))
                objects |= new
                if target is None:
                    refs.pop(name, None)
                else:
                    refs[name] = target
            else:
                with pytest.raises(RefConflictError):
                    engine.write(new, RefUpdate(name, old, target))
            if random.random() < 0.05:
                engine.close()
            assert dict(engine.refs()) == refs
            assert dict(engine.read([blob(number)[0] for number in range(40)])) == objects


class CoreContract(_Objects, _Refs, _Life, _Races):
    """What every engine promises."""

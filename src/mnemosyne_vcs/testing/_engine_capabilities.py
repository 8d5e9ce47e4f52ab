"""The part of the engine contract about capabilities; each is tested if the engine has it."""

from itertools import pairwise
from threading import Event, Thread

import pytest

from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import (
    Deletes,
    Engine,
    Exclusive,
    HasFacts,
    HasHistoryIndex,
    HasReflog,
    HasSettings,
    IndexEntry,
    ListsHistoryIndex,
    RefUpdate,
    TellsSizes,
)
from mnemosyne_vcs.errors import ReadOnlyError, RefConflictError
from mnemosyne_vcs.ids import Id, text_id
from mnemosyne_vcs.model import ReflogEntry
from mnemosyne_vcs.testing._engine_hooks import (
    HOSTILE_NAMES,
    PATIENCE,
    EngineHooks,
    blob,
    find,
    require,
)

__all__ = ["CapabilityContract"]


class _Reflog(EngineHooks):
    def test_the_reflog_tells_every_move_newest_first(self, engine: Engine) -> None:
        reflog = require(engine, HasReflog)
        targets = [None, blob(1)[0], blob(2)[0], None, blob(1)[0], None]
        expected: list[ReflogEntry] = []
        for when, (old, new) in enumerate(pairwise(targets)):
            engine.write({}, RefUpdate("r", old, new, "Ö'who", 10**13 + when, f"why {when}"))
            engine.write({}, RefUpdate(f"r{when}", None, blob(9)[0], "another"))
            moved = (None if old is None else text_id(old), None if new is None else text_id(new))
            expected.insert(0, ReflogEntry("r", *moved, "Ö'who", 10**13 + when, f"why {when}"))
            assert list(reflog.reflog("r")) == expected
        assert engine.ref("r") is None

    def test_the_reflog_keeps_times_before_1970(self, engine: Engine) -> None:
        reflog = require(engine, HasReflog)
        engine.write({}, RefUpdate("r", None, blob(1)[0], when=-(10**12)))
        assert [move.timestamp_ms for move in reflog.reflog("r")] == [-(10**12)]

    def test_the_reflog_of_all_refs_holds_those_that_are_gone(self, engine: Engine) -> None:
        reflog = require(engine, HasReflog)
        one, two = blob(1)[0], blob(2)[0]
        assert list(reflog.reflog(None)) == []
        for name, old, new in [("a", None, one), ("b", None, two), ("a", one, None)]:
            engine.write({}, RefUpdate(name, old, new))
        assert [(e.name, e.old, e.new) for e in reflog.reflog(None)] == [
            ("a", text_id(one), None),
            ("b", None, text_id(two)),
            ("a", None, text_id(one)),
        ]

    def test_a_ref_that_never_was_has_no_reflog(self, engine: Engine) -> None:
        assert list(require(engine, HasReflog).reflog("r")) == []

    def test_a_refused_move_leaves_no_trace_in_the_reflog(self, engine: Engine) -> None:
        reflog = require(engine, HasReflog)
        engine.write({}, RefUpdate("r", None, blob(1)[0]))
        with pytest.raises(RefConflictError):
            engine.write({}, RefUpdate("r", blob(2)[0], blob(3)[0]))
        assert len(list(reflog.reflog("r"))) == 1

    def test_a_reflog_may_be_read_while_the_ref_moves(self, engine: Engine) -> None:
        reflog = require(engine, HasReflog)
        old: Id | None = None
        for number in range(5):
            engine.write({}, RefUpdate("r", old, old := blob(number)[0]))
        entries = reflog.reflog("r")
        first = next(entries)
        engine.write({}, RefUpdate("r", old, None))
        assert [first.new, *(entry.new for entry in entries)] == [
            text_id(blob(number)[0]) for number in (4, 3, 2, 1, 0)
        ]

    def test_reflogs_of_hostile_names(self, engine: Engine) -> None:
        reflog = require(engine, HasReflog)
        for name in HOSTILE_NAMES:
            engine.write({}, RefUpdate(name, None, blob(1)[0], who=name, why=name))
        for name in HOSTILE_NAMES:
            assert [(e.name, e.author, e.message) for e in reflog.reflog(name)] == [
                (name, name, name)
            ]


class _Settings(EngineHooks):
    def test_settings_are_kept_replaced_and_forgotten(self, engine: Engine) -> None:
        settings = require(engine, HasSettings)
        assert dict(settings.settings()) == {}
        settings.set_setting("none", None)
        for name in reversed(HOSTILE_NAMES):
            if "\0" not in name:
                settings.set_setting(name, f"first {name}")
                settings.set_setting(name, f"then {name}")
        names = sorted(name for name in HOSTILE_NAMES if "\0" not in name)
        assert list(settings.settings().items()) == [(name, f"then {name}") for name in names]
        assert dict(settings.settings("a_")) == {"a_b": "then a_b"}
        settings.set_setting("a_b", None)
        assert dict(settings.settings("a_")) == {}
        assert len(settings.settings()) == len(names) - 1
        assert dict(engine.refs()) == {}

    def test_settings_are_there_for_others(self, engine: Engine) -> None:
        settings = require(engine, HasSettings)
        settings.set_setting("remote/origin", "sqlite:////x.mnem")
        for other in (self.again(engine), self.for_reading(engine)):
            if other is None:
                continue
            reader = require(other, HasSettings)
            assert dict(reader.settings()) == {"remote/origin": "sqlite:////x.mnem"}
            if other.read_only:
                with pytest.raises(ReadOnlyError):
                    reader.set_setting("remote/origin", None)
            other.close()
        assert dict(settings.settings()) == {"remote/origin": "sqlite:////x.mnem"}


class _HistoryIndex(EngineHooks):
    def test_commits_are_found_by_transaction_and_by_key(self, engine: Engine) -> None:
        index = require(engine, HasHistoryIndex)
        one, two, three = (blob(number)[0] for number in (1, 2, 3))
        entries = [
            IndexEntry(one, "t1", ["a", "b%", "é/記"]),
            IndexEntry(two, "t2", {"a"}),
            IndexEntry(three, "t1", ("b%", "b%")),
        ]
        index.add_to_index(entries)
        for _ in range(2):
            assert index.commits_of_transaction("t1") == [one, three]
            assert index.commits_of_transaction("t2") == [two]
            assert index.commits_of_transaction("t") == []
            assert index.commits_of_key("a") == [two, one]
            assert index.commits_of_key("b%") == [three, one]
            assert index.commits_of_key("é/記") == [one]
            assert index.commits_of_key("b") == []
            assert [index.indexed(block) for block in (one, two, three)] == [True] * 3
            assert not index.indexed(blob(4)[0])
            index.add_to_index(reversed(entries))

    def test_commits_are_found_by_a_range_of_keys(self, engine: Engine) -> None:
        index = require(engine, HasHistoryIndex)
        one, two, three = (blob(number)[0] for number in (1, 2, 3))
        index.add_to_index(
            [
                IndexEntry(one, "t1", ["a", "a/b", "a%"]),
                IndexEntry(two, "t2", ["a/é", "b"]),
                IndexEntry(three, "t3", ["a/b", "a/c", "\U0010ffff"]),
            ]
        )
        assert index.commits_of_keys("a/", "a0") == [three, two, one]
        assert index.commits_of_keys("a/c", "a0") == [three, two]
        assert index.commits_of_keys("a/b", "a/c") == [three, one]
        assert index.commits_of_keys("b", None) == [three, two]
        assert index.commits_of_keys("c", "d") == []

    def test_the_commits_before_one_were_indexed_before_it(self, engine: Engine) -> None:
        index = require(engine, HasHistoryIndex)
        commits = [blob(number)[0] for number in range(6)]
        index.add_to_index(IndexEntry(commit, "t", []) for commit in commits[:5])
        assert index.commits_before(commits[3], 2) == [commits[3], commits[2]]
        assert index.commits_before(commits[3], 100) == commits[3::-1]
        assert index.commits_before(commits[5], 100) == []

    def test_an_indexed_commit_stays_as_it_is(self, engine: Engine) -> None:
        index = require(engine, HasHistoryIndex)
        commit = blob(1)[0]
        index.add_to_index([IndexEntry(commit, "t", ["a"])])
        index.add_to_index([IndexEntry(commit, "other", ["b"])])
        assert index.commits_of_transaction("t") == [commit]
        assert index.commits_of_transaction("other") == []
        assert index.commits_of_key("b") == []

    def test_the_index_is_cleared_and_built_again(self, engine: Engine) -> None:
        index = require(engine, HasHistoryIndex)
        entries = [IndexEntry(blob(n)[0], f"t{n % 3}", [f"k{n % 5}"]) for n in range(20)]
        index.add_to_index(iter(entries))
        before = index.commits_of_key("k1"), index.commits_of_transaction("t1")
        index.clear_index()
        assert not index.indexed(entries[0].commit)
        assert index.commits_of_key("k1") == index.commits_of_transaction("t1") == []
        index.add_to_index(iter(entries))
        assert (index.commits_of_key("k1"), index.commits_of_transaction("t1")) == before
        index.add_to_index([])

    def test_the_index_finds_commits_by_fact(self, engine: Engine) -> None:
        facts, index = require(engine, HasFacts), require(engine, HasHistoryIndex)
        one, two, three, other = (blob(n)[0] for n in range(1, 5))
        by, run = ("author", "é/記"), ("run", "r%' 1")
        assert facts.commits_without_facts() == facts.commits_of_fact(*run) == []
        assert facts.values_of_facts("run") == []
        index.add_to_index([IndexEntry(one, "t1", ["a"]), IndexEntry(two, "t2", [])])
        assert facts.commits_without_facts() == [one, two]
        assert facts.commits_of_fact(*run) == []
        engine.write({}, RefUpdate("r", None, three, index=IndexEntry(three, "t3", "k", {by, run})))
        assert facts.commits_without_facts() == [one, two]
        facts.add_facts({one: [by, run, run], other: [by, run]})
        assert facts.commits_without_facts() == [two]
        assert facts.commits_of_fact(*run) == facts.commits_of_fact(*by) == [three, one]
        assert sorted(facts.values_of_facts("run")) == sorted([(one, run[1]), (three, run[1])])
        assert facts.values_of_facts("r%") == []
        assert facts.commits_of_fact("run", "r%") == facts.commits_of_fact("author", run[1]) == []
        if listing := find(engine, ListsHistoryIndex):
            listed = {e.commit: e.facts and set(e.facts) for e in listing.index_entries()}
            assert listed == {one: {by, run}, two: None, three: {by, run}}
        if deletes := find(engine, Deletes):
            deletes.delete([one])
            assert facts.commits_of_fact(*run) == [three]
        index.clear_index()
        assert facts.commits_of_fact(*run) == facts.commits_without_facts() == []

    def test_the_index_is_listed(self, engine: Engine) -> None:
        index = require(engine, HasHistoryIndex)
        listing = require(engine, ListsHistoryIndex)
        assert list(listing.index_entries()) == []
        entries = {
            blob(1)[0]: ("t1", {"a", "b%", "é/記"}),
            blob(2)[0]: ("t2", set[str]()),
            blob(3)[0]: ("t1", {"a"}),
        }

        def listed() -> dict[Id, tuple[str, set[str]]]:
            return {e.commit: (e.transaction, set(e.keys)) for e in listing.index_entries()}

        index.add_to_index(IndexEntry(commit, *entry) for commit, entry in entries.items())
        assert listed() == entries
        engine.write({}, RefUpdate("r", None, blob(4)[0], index=IndexEntry(blob(4)[0], "t4", "k")))
        assert listed() == {**entries, blob(4)[0]: ("t4", {"k"})}
        if deletes := find(engine, Deletes):
            deletes.delete([blob(3)[0]])
            del entries[blob(3)[0]]
            assert listed() == {**entries, blob(4)[0]: ("t4", {"k"})}
        index.clear_index()
        assert listed() == {}

    def test_a_write_is_indexed_with_its_ref_or_not_at_all(self, engine: Engine) -> None:
        index = require(engine, HasHistoryIndex)
        one, two = blob(1)[0], blob(2)[0]
        engine.write({}, RefUpdate("r", None, one, index=IndexEntry(one, "t1", ["k"])))
        with pytest.raises(RefConflictError):
            engine.write({}, RefUpdate("r", None, two, index=IndexEntry(two, "t2", ["k"])))
        assert index.commits_of_key("k") == [one]
        assert not index.indexed(two)
        engine.write({}, RefUpdate("s", None, one, index=IndexEntry(one, "t1", ["k"])))
        assert index.commits_of_key("k") == [one]


class _ReadsMany(EngineHooks):
    def test_each_object_that_exists_is_given_once(self, engine: Engine) -> None:
        read_many = Capabilities.of(engine).read_many
        objects = dict(blob(number, number) for number in range(1, 1500))
        for start in range(0, 1500, 300):
            engine.write(dict(list(objects.items())[start : start + 300]))
        wanted = list(objects)[::-2]
        asked = {*wanted, blob(5000)[0]}
        given = [each for part in read_many(asked) for each in part.items()]
        assert sorted(given) == sorted((block, objects[block]) for block in wanted)
        assert [part for part in read_many([]) if part] == []

    def test_what_is_pending_is_given_too(self, engine: Engine) -> None:
        read_many = Capabilities.of(engine).read_many
        one, two = blob(1), blob(2)
        engine.write(dict([one]))
        with require(engine, Exclusive).exclusive():
            engine.write(dict([two]))
            given = [each for part in read_many([one[0], two[0]]) for each in part.items()]
            assert sorted(given) == sorted([one, two])


class _TellsSizes(EngineHooks):
    def test_the_sizes_of_objects_that_exist_are_told(self, engine: Engine) -> None:
        can = Capabilities.of(engine)
        objects = dict(blob(number, number * 7) for number in range(1, 1500))
        big = blob(1, 400_000)
        engine.write({**objects, **dict([big])})
        asked = [*list(objects)[::2], big[0], blob(5000)[0]]
        there = {block: len({**objects, **dict([big])}[block]) for block in asked[:-1]}
        assert can.sizes(asked) == there
        assert can.exists(asked) == there.keys()
        assert can.sizes([]) == {}
        if told := find(engine, TellsSizes):
            assert dict(told.sizes(asked)) == there
            assert dict(told.sizes([])) == {}

    def test_sizes_and_reading_agree_inside_an_exclusive(self, engine: Engine) -> None:
        can, exclusive = Capabilities.of(engine), require(engine, Exclusive)
        old, new = blob(1), blob(2)
        engine.write(dict([old]))
        with exclusive.exclusive():
            engine.write(dict([new]))
            assert can.exists([old[0], new[0]]) == {old[0], new[0]}
            if deletes := find(engine, Deletes):
                deletes.delete([old[0]])
                assert can.exists([old[0], new[0]]) == {new[0]}

    def test_others_see_at_once_what_exists(self, engine: Engine) -> None:
        other = self.again(engine)
        if other is None:
            pytest.skip("no second engine on the same store")
        block, data = blob(1)
        assert Capabilities.of(other).exists([block]) == set()
        engine.write({block: data})
        assert Capabilities.of(other).sizes([block]) == {block: len(data)}
        other.close()


class _Exclusive(EngineHooks):
    def test_what_is_done_inside_is_kept(self, engine: Engine) -> None:
        block, data = blob(1)
        with require(engine, Exclusive).exclusive():
            engine.write({block: data}, RefUpdate("r", None, block))
            assert engine.ref("r") == block
            assert dict(engine.read([block])) == {block: data}
            engine.write({}, RefUpdate("s", None, block))
            assert dict(engine.refs()) == {"r": block, "s": block}
        assert dict(engine.refs()) == {"r": block, "s": block}
        assert dict(engine.read([block])) == {block: data}

    def test_an_exception_undoes_what_was_done_inside(self, engine: Engine) -> None:
        before, inside = blob(1)[0], blob(2)
        engine.write({}, RefUpdate("r", None, before))
        with pytest.raises(ZeroDivisionError), require(engine, Exclusive).exclusive():
            index = IndexEntry(inside[0], "t", ["k"])
            engine.write(dict([inside]), RefUpdate("r", before, inside[0], index=index))
            engine.write({}, RefUpdate("s", None, before))
            raise ZeroDivisionError
        assert dict(engine.refs()) == {"r": before}
        assert dict(engine.read([inside[0]])) == {}
        if reflog := find(engine, HasReflog):
            assert len(list(reflog.reflog("r"))) == 1
        if index := find(engine, HasHistoryIndex):
            assert not index.indexed(inside[0])
        engine.write({}, RefUpdate("r", before, None))
        assert dict(engine.refs()) == {}

    def test_a_conflict_inside_leaves_the_rest_usable(self, engine: Engine) -> None:
        one, two, lost = blob(1)[0], blob(2)[0], blob(3)
        with require(engine, Exclusive).exclusive():
            engine.write({}, RefUpdate("r", None, one))
            with pytest.raises(RefConflictError):
                engine.write(dict([lost]), RefUpdate("r", None, two))
            engine.write({}, RefUpdate("r", one, two))
        assert engine.ref("r") == two
        assert dict(engine.read([lost[0]])) == {}

    def test_one_inside_another_is_undone_by_itself(self, engine: Engine) -> None:
        exclusive = require(engine, Exclusive)
        target = blob(1)[0]
        with exclusive.exclusive():
            engine.write({}, RefUpdate("outer", None, target))
            with exclusive.exclusive():
                engine.write({}, RefUpdate("kept", None, target))
            with pytest.raises(ZeroDivisionError), exclusive.exclusive():
                engine.write({}, RefUpdate("undone", None, target))
                raise ZeroDivisionError
            assert list(engine.refs()) == ["kept", "outer"]
        assert list(engine.refs()) == ["kept", "outer"]

    def test_others_neither_see_it_nor_write_before_it_ends(self, engine: Engine) -> None:
        exclusive = require(engine, Exclusive)
        one, two = blob(1)[0], blob(2)[0]
        started, outcome = Event(), list[Exception | None]()

        def write() -> None:
            started.set()
            try:
                engine.write({}, RefUpdate("r", None, two))
            except RefConflictError as error:
                outcome.append(error)
            else:
                outcome.append(None)

        writer = Thread(target=write, daemon=True)
        seen: list[Id | None] = []
        reader = Thread(target=lambda: seen.append(engine.ref("r")), daemon=True)
        with exclusive.exclusive():
            engine.write({}, RefUpdate("r", None, one))
            writer.start()
            assert started.wait(PATIENCE)
            reader.start()
            reader.join(PATIENCE)
            assert seen == [None]
            assert outcome == []
        writer.join(PATIENCE)
        assert [type(error) for error in outcome] == [RefConflictError]
        assert engine.ref("r") == one

    def test_reading_only_holds_no_lock(self, engine: Engine) -> None:
        require(engine, Exclusive)
        reader = self.for_reading(engine)
        if reader is None:
            pytest.skip("no read-only engines")
        with pytest.raises(ReadOnlyError), require(reader, Exclusive).exclusive():
            pass
        reader.close()


class CapabilityContract(
    _Reflog,
    _Settings,
    _HistoryIndex,
    _ReadsMany,
    _TellsSizes,
    _Exclusive,
):
    """The contract of an engine's capabilities."""

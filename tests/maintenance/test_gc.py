"""Garbage collection: only what nothing reaches goes, and writers beside it lose nothing."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import (
    CorruptObjectError,
    EngineError,
    NotFoundError,
    ReadOnlyError,
    Repository,
)
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Engine, RefUpdate
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.ids import parse_id
from mnemosyne_vcs.refs import initialise
from mnemosyne_vcs.testing import FaultyEngine
from mnemosyne_vcs.testing._peers import fresh
from mnemosyne_vcs.testing.repository._fixtures import Clock
from mnemosyne_vcs.testing.repository.gc import AT_ONCE, GcContract, abandon, stored
from peers import Asked


class TestGc(GcContract):
    pass


DAY = 86_400_000


def test_recent_lines_of_the_reflog_keep_what_they_name(timed: Repository, clock: Clock):
    head = abandon(timed)
    clock.advance(29 * DAY)
    later = abandon(timed, "later")
    assert timed.gc().objects == 0
    clock.advance(2 * DAY)
    assert timed.gc().objects == 12
    assert timed.at(later)["later/2"].content == 2
    with pytest.raises(NotFoundError):
        timed.at(head)
    assert [move.new for move in timed.reflog("trial")][1] == head
    with pytest.raises(NotFoundError, match=rf"trial@\{{1\}} was {head}.*garbage"):
        timed.at("trial@{1}")
    clock.advance(30 * DAY)
    assert timed.gc().objects == 12
    assert timed.gc(keep_reflog=timedelta(days=365)).objects == 0
    assert timed.verify().ok


def test_a_damaged_store_is_not_collected(tmp_path: Path):
    engine = open_engine(tmp_path / "a.mnem", create=True)
    initialise(engine, when=0)
    repo = Repository(engine)
    abandon(repo)
    commit = repo.put("a", 1)
    root = commit.tree_cid
    data = engine.read([root])[root]
    engine.delete([root])
    with pytest.raises(NotFoundError, match=commit.tree):
        Repository(engine).gc(keep_reflog=AT_ONCE)
    engine.write({root: data[:-1] + bytes([data[-1] ^ 1])})
    before = stored(repo)
    with pytest.raises(CorruptObjectError, match=commit.tree):
        Repository(engine).gc(keep_reflog=AT_ONCE)
    assert stored(repo) == before


def test_a_read_only_store_only_says_what_it_would_do(tmp_path: Path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True) as repo:
        abandon(repo)
    with mnemosyne_vcs.open(tmp_path / "a.mnem", read_only=True) as repo:
        assert repo.gc(keep_reflog=AT_ONCE, dry_run=True).objects == 12
        with pytest.raises(ReadOnlyError):
            repo.gc(keep_reflog=AT_ONCE)


@pytest.mark.parametrize("lacking", ["delete", "enumerate"])
def test_an_engine_that_cannot_list_or_delete_says_so(lacking: str):
    class Bare(FaultyEngine):
        @property
        def capabilities(self) -> Capabilities:
            return replace(super().capabilities, **{lacking: None})

    with pytest.raises(EngineError, match=r"memory://.*cannot list and delete"):
        Repository(Bare(fresh().blocks.engine)).gc()


def test_a_deletion_that_fails_leaves_all_there():
    engine = FaultyEngine(open_engine("memory://"), calls=["delete"])
    repo = Repository(engine)
    initialise(repo.blocks.engine, when=0)
    abandon(repo)
    before = stored(repo)
    engine.schedule("before", "after")
    for _ in range(2):
        with pytest.raises(EngineError, match="by schedule"):
            repo.gc(keep_reflog=AT_ONCE)
        assert stored(repo) == before
    assert repo.gc(keep_reflog=AT_ONCE).objects == 12


def test_compacting_gives_the_room_back(tmp_path: Path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True) as repo:
        repo.put("a", 1)
        repo.create_branch("trial")
        with repo.transaction("trial") as tx:
            for i in range(300):
                tx.put(f"k/{i}", i, embedding=[float(i)] * 1000)
        repo.delete_branch("trial")
        seen: list[int] = []
        before = repo.stats().bytes
        repo.create_branch("other")
        repo.put("other", 1, branch="other")
        repo.delete_branch("other")
        assert repo.gc(keep_reflog=timedelta(days=1)).objects == 0
        assert repo.stats().bytes >= before
        report = repo.gc(keep_reflog=AT_ONCE, compact=True, progress=seen.append)
        assert report.bytes > 1_200_000
        assert repo.stats().bytes < before - report.bytes * 0.9
        assert seen == sorted(seen)
        assert seen
        assert repo.verify().ok


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["put", "branch", "drop", "tag", "untag", "gc", "undo"]),
        st.integers(0, 2),
    ),
    max_size=25,
)


@given(OPERATIONS)
def test_exactly_what_refs_reach_is_kept(operations: list[tuple[str, int]]):
    repo = mnemosyne_vcs.open("memory://", create=True)
    for number, (what, which) in enumerate(operations):
        branch = sorted(repo.branches())[which % len(repo.branches())]
        match what:
            case "put":
                repo.put(f"k{which}", number, branch=branch, embedding=[1.0, number])
            case "branch" if f"b{which}" not in repo.branches():
                repo.create_branch(f"b{which}", revision=branch)
            case "drop" if branch != "main":
                repo.delete_branch(branch)
            case "tag" if f"t{which}" not in repo.tags():
                repo.create_tag(f"t{which}", revision=branch)
            case "untag" if f"t{which}" in repo.tags():
                repo.delete_tag(f"t{which}")
            case "gc":
                repo.gc(keep_reflog=AT_ONCE)
            case "undo" if any(repo.log(branch)):
                repo.undo(branch=branch)
            case _:
                pass
    heads = {**repo.branches(), **repo.tags()}
    before = {name: dict(repo.at(name)) for name in heads}
    repo.gc(keep_reflog=AT_ONCE)
    assert repo.verify().ok
    assert {name: dict(repo.at(name)) for name in heads} == before
    fresh = mnemosyne_vcs.open("memory://", create=True)
    for name, head in heads.items():
        copy_of(repo, fresh, name, head)
    assert stored(repo) == stored(fresh)


def copy_of(source: Repository, target: Repository, name: str, head: str) -> None:
    """Copy a history object by object, along links found by another way than the collector's."""
    import libipld

    queue = [parse_id(head)]
    while queue:
        block = queue.pop()
        if target.blocks.engine.read([block]):
            continue
        data = source.blocks.read_one(block)
        target.blocks.engine.write({block: data})
        if block[1] == 0x71:
            queue += links_in(libipld.decode_dag_cbor(data))
    ref = f"heads/{name}"
    if target.blocks.engine.ref(ref) is None:
        target.blocks.engine.write({}, RefUpdate(ref, None, parse_id(head)))


def links_in(value: object) -> Iterator[bytes]:
    match value:
        case bytes():
            yield value
        case dict():
            for item in value.values():
                yield from links_in(item)
        case list():
            for item in value:
                yield from links_in(item)
        case _:
            pass


def test_a_dry_run_reads_no_garbage():
    repo = fresh()
    abandon(repo)
    engine = Asked(repo.blocks.engine)
    report = Repository(engine).gc(keep_reflog=AT_ONCE, dry_run=True)
    before = repo.blocks.engine.read(stored(repo))
    repo.gc(keep_reflog=AT_ONCE)
    garbage = before.keys() - stored(repo)
    assert (report.objects, report.bytes) == (len(garbage), sum(len(before[b]) for b in garbage))
    assert garbage.isdisjoint(engine.read_ids)
    assert garbage


class Moving(FaultyEngine):
    """Between two looks at the refs, others move one and collect what it led to, some times."""

    def __init__(self, engine: Engine, times: int) -> None:
        super().__init__(engine)
        self.moves = iter(range(3 * times))  # a missing object has the refs looked at too
        self.lists = self.looks = 0

    def refs(self, prefix: str = "") -> dict[str, bytes]:
        self.looks += 1
        found = dict(super().refs(prefix))
        move = next(self.moves, None) if self.lists else None
        return found if move is None else found | {"branch/moving": object_id(b"%d" % move)}

    def ids(self, prefix: bytes = b"") -> Iterator[bytes]:
        self.lists += 1
        return super().ids(prefix)


class Unlocked(Moving):
    """The same without a write lock."""

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, lock=None)


@pytest.mark.parametrize(("times", "lists", "looks"), [(0, 2, 2), (1, 3, 5), (2, 4, 8), (3, 5, 10)])
def test_refs_that_move_are_looked_at_again_and_in_the_end_under_the_lock(
    times: int, lists: int, looks: int
):
    repo = fresh()
    abandon(repo)
    engine = Moving(repo.blocks.engine, times)
    report = Repository(engine).gc(keep_reflog=AT_ONCE)
    assert (report.objects, report.kept) == (12, len(stored(repo)))
    assert (engine.lists, engine.looks) == (lists, looks)
    assert repo.verify().ok


@pytest.mark.parametrize(("kind", "dry_run"), [(Moving, True), (Unlocked, False)])
def test_refs_that_always_move_are_an_error_where_no_lock_stops_them(
    kind: type[Moving], dry_run: bool
):
    repo = fresh()
    abandon(repo)
    before = stored(repo)
    assert Repository(kind(repo.blocks.engine, 2)).gc(keep_reflog=AT_ONCE, dry_run=True).objects
    with pytest.raises(NotFoundError):
        Repository(kind(repo.blocks.engine, 3)).gc(keep_reflog=AT_ONCE, dry_run=dry_run)
    assert stored(repo) == before

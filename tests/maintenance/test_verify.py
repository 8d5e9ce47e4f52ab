"""Checking a store: what is wrong is told, and nothing else, whatever runs beside it."""

from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from time import monotonic

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import CorruptObjectError, EngineError, NotFoundError, Repository
from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.ids import parse_id
from mnemosyne_vcs.refs import initialise
from mnemosyne_vcs.testing import FaultyEngine
from mnemosyne_vcs.testing._peers import fresh
from mnemosyne_vcs.testing._races import race
from mnemosyne_vcs.testing.repository.verify import AT_ONCE, VerifyContract, disturbed, on_trial
from peers import Plain, filled
from soak import SECONDS


class TestVerify(VerifyContract):
    pass


def test_a_copy_of_a_store_that_is_collected_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mnemosyne_vcs.maintenance.backup.batches", partial(batches, size=2))
    repo, names = fresh(), count()

    def back_up(other: Repository) -> None:
        path = tmp_path / f"{next(names)}.mnem"
        other.backup(path)
        with mnemosyne_vcs.open(path) as copy:
            assert copy.verify().ok

    times = list(disturbed(repo, back_up))
    assert len(times) > 2
    assert set(times) == {None}
    assert list(tmp_path.glob(".*")) == []


def test_missing_vectors_records_and_commits_are_told_apart_from_collected_ones():
    repo = filled()
    engine = repo.blocks.engine
    record = next(link for node in leaves(repo) for link in node.links)
    vector = next(iter(repo.at()["k/001"].vectors.ids.values()))
    for lost in (parse_id(repo.resolve("main~1").id), record, vector):
        kept = engine.read([lost])
        engine.delete([lost])
        assert [problem.object for problem in repo.verify().problems]
        with pytest.raises(NotFoundError, match="restore it from a backup or a clone"):
            repo.blocks.read_one(lost)
        engine.write(kept)


def leaves(repo: Repository):
    queue = [repo.resolve().tree_cid]
    while queue:
        node = repo.blocks.node(queue.pop())
        if node.level:
            queue += node.links
        else:
            yield node


def test_what_would_take_long_to_tell_is_left_open(monkeypatch: pytest.MonkeyPatch):
    repo = filled()
    head = on_trial(repo)
    root = repo.resolve(head).tree_cid
    repo.delete_branch("trial")
    repo.gc(keep_reflog=AT_ONCE)
    monkeypatch.setattr("mnemosyne_vcs.reach.MOST_READ", 3)
    with pytest.raises(NotFoundError, match="collected, or the store is damaged; `verify` shows"):
        Repository(repo.blocks.engine).blocks.read_one(root)


class TestIncomplete:
    @pytest.fixture
    def half(self, tmp_path: Path) -> Path:
        """A clone that broke off when it had sent some objects."""
        path = tmp_path / "half.mnem"
        for number in count(3):
            faulty = FaultyEngine(filled(900).blocks.engine, [*[None] * number, "before"])
            faulty = FaultyEngine(faulty.engine, [*[None] * number, "before"], calls=["read"])
            with pytest.raises(EngineError):
                mnemosyne_vcs.clone(Repository(faulty), path)
            if path.exists():
                return path
        raise AssertionError("unreachable")

    def test_a_clone_that_broke_off_is_not_sound(self, half: Path):
        with mnemosyne_vcs.open(half) as repo:
            report = repo.verify()
            assert [problem.kind for problem in report.problems] == ["corrupt"]
            assert "run the same clone again" in report.problems[0].message
            assert report.objects > 0
            stats = repo.stats()
            assert (stats.branches, stats.commits, stats.records) == (0, 0, {})

    def test_it_does_not_become_an_empty_memory(self, half: Path):
        for _ in range(2):
            with pytest.raises(CorruptObjectError, match=r"half\.mnem is incomplete.*clone again"):
                mnemosyne_vcs.open(half, create=True)

    def test_the_same_clone_goes_on_from_there(self, half: Path):
        held = set(open_engine(half).ids())
        with mnemosyne_vcs.clone(filled(900), half) as copy:
            assert copy.verify().ok
            assert held <= set(copy.blocks.engine.ids())
        mnemosyne_vcs.open(half, create=True).close()

    def test_stores_without_a_branch(self, tmp_path: Path):
        engine = open_engine(tmp_path / "a.mnem", create=True)
        repo = Repository(engine)
        assert "is empty: it has no commit" in repo.verify().problems[0].message
        assert repo.stats().commits == 0
        initialise(repo.blocks.engine, when=0)
        assert repo.verify().ok
        repo.put("a", 1)
        repo.create_tag("v1")
        repo.delete_branch("main")
        assert "all were deleted" in repo.verify().problems[0].message
        repo.delete_tag("v1")
        assert "all were deleted" in repo.verify().problems[0].message
        with pytest.raises(CorruptObjectError, match="reflog"):
            mnemosyne_vcs.open(tmp_path / "a.mnem", create=True)
        repo.create_branch("main", revision=next(repo.reflog("main")).old)
        assert repo.verify().ok

    def test_a_history_without_the_first_commit(self, repo: Repository):
        repo.put("a", 1)
        first = parse_id(repo.resolve("main~1").id)
        repo.blocks.engine.delete([first])
        assert len(repo.verify().problems) == 1

    def test_an_engine_that_lists_nothing(self):
        engine = Plain()
        repo = Repository(engine)
        assert not repo.verify().ok
        initialise(repo.blocks.engine, when=0)
        assert repo.verify().ok
        half = Plain()
        half.write(engine.read([parse_id(repo.resolve().id)]))
        with pytest.raises(CorruptObjectError, match="incomplete"):
            initialise(half, when=0)

    def test_two_that_make_a_store_at_once(self):
        repo = Repository(filled().blocks.engine)
        engine = repo.blocks.engine
        refs, calls = engine.refs, count()
        engine.refs = lambda prefix="": refs(prefix) if next(calls) else {}
        initialise(repo.blocks.engine, when=0)
        assert repo.verify().ok

    def test_an_empty_file_is_not_a_store(self, tmp_path: Path):
        path = tmp_path / "a.mnem"
        path.touch()
        for options in ({}, {"read_only": True}):
            with pytest.raises(CorruptObjectError, match="empty file"):
                mnemosyne_vcs.open(path, **options)


class TestCloning:
    def test_what_fails_before_anything_was_sent_leaves_no_file(self, tmp_path: Path):
        for number in range(3):
            faulty = FaultyEngine(
                filled().blocks.engine, [*[None] * number, "before"], calls=["read"]
            )
            with pytest.raises(EngineError):
                mnemosyne_vcs.clone(Repository(faulty), tmp_path / "copy.mnem")
            assert list(tmp_path.iterdir()) == []

    def test_a_file_that_was_there_is_left(self, tmp_path: Path):
        path = tmp_path / "copy.mnem"
        path.touch()
        faulty = FaultyEngine(filled().blocks.engine, ["before"], calls=["read"])
        with pytest.raises(EngineError):
            mnemosyne_vcs.clone(Repository(faulty), path)
        assert path.exists()

    def test_a_source_on_an_engine_that_is_not_built_in_is_no_remote(self, tmp_path: Path):
        engine = Plain()
        repo = Repository(engine)
        initialise(repo.blocks.engine, when=0)
        repo.put("a", 1)
        with mnemosyne_vcs.clone(repo, tmp_path / "copy.mnem", remote="there") as copy:
            assert copy.at()["a"].content == 1
            assert copy.remotes() == {}
            assert copy.verify().ok


@pytest.mark.soak
def test_verify_two_collectors_readers_and_writers_together(
    shared_url: str, opened: Callable[..., Repository]
):
    opened(shared_url, create=True)
    soak_together(lambda name="": opened(shared_url, author=name))


@pytest.mark.soak
def test_the_same_in_memory():
    engine = fresh().blocks.engine
    soak_together(lambda name="": Repository(engine, author=name))


def soak_together(another: Callable[..., Repository]) -> None:
    """Have threads, each with a repository of its own on one store, work for `SOAK_SECONDS`."""
    another().put("total", 0)
    until = monotonic() + SECONDS
    counts = {"commits": 0, "verified": 0, "collected": 0, "read": 0, "gone": 0, "copied": 0}

    def write(name: str) -> None:
        repo = another(name)
        for number in count():
            if monotonic() > until:
                return
            trial = f"{name}-{number}"
            repo.put(f"{name}/{number % 20}", number, embedding=[1.0, number])
            repo.create_branch(trial)
            repo.put(f"{name}/lost", number, branch=trial, embedding=[2.0, number])
            repo.merge(trial) if number % 3 == 0 else repo.undo(branch=trial)
            repo.delete_branch(trial)
            counts["commits"] += 3

    def verify(repo: Repository) -> None:
        assert repo.verify().problems == ()
        counts["verified"] += 1

    def collect(repo: Repository) -> None:
        counts["collected"] += repo.gc(keep_reflog=AT_ONCE).objects

    def read(repo: Repository) -> None:
        for name in repo.branches():
            try:
                at = repo.resolve(name).id
                now = repo.at(at)
                records = {record.key: record.content for record in now.scan()}
                assert len(now.search([1.0, 0.0], limit=len(now))) == len(now) - 1
                blamed = {each.key: each.record.content for each in repo.blame_all("", at)}
                assert blamed == records
                counts["read"] += 1
            except NotFoundError as error:
                assert name != "main"
                assert "backup" not in str(error)
                counts["gone"] += 1

    def copy(repo: Repository) -> None:
        with mnemosyne_vcs.clone(repo, "memory://") as other:
            assert other.verify().ok
        counts["copied"] += 1

    beside = [partial(act, another()) for act in (verify, collect, collect, read, copy)]
    race([partial(write, name) for name in ("w1", "w2")], beside)
    print(counts)
    last = another()
    last.gc(keep_reflog=AT_ONCE)
    assert last.verify().ok
    assert all(counts.values())

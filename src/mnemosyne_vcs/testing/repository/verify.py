# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: verification."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import MnemosyneError, NotFoundError, Repository
from mnemosyne_vcs.blocks import CollectedError
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.ids import parse_id
from mnemosyne_vcs.maintenance.verify import verify_objects
from mnemosyne_vcs.testing._peers import Disturbed, fresh
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures, needs

__all__ = ["VerifyContract"]

AT_ONCE = timedelta(0)


Act = Callable[[Repository], object]


def on_trial(repo: Repository) -> str:
    """A branch with commits of its own, which share a record and a vector with nothing."""
    repo.create_branch("trial")
    repo.put("trial/0", 0, branch="trial", embedding=[1.0, 0.0])
    return repo.put("trial/1", 1, branch="trial", embedding=[1.0, 1.0]).id


def disturbed(repo: Repository, act: Act) -> Iterator[MnemosyneError | None]:
    """Do something over and over, and have the branch `trial` deleted and collected before its
    first read, before its second one, and so on; gives what it raises each time."""
    for number in count(1):
        on_trial(repo)

        def take_away() -> None:
            repo.delete_branch("trial")
            assert repo.gc(keep_reflog=AT_ONCE).objects > 0

        engine = Disturbed(repo.blocks.engine, take_away, {number})
        raised: MnemosyneError | None = None
        try:
            act(Repository(engine))
        except MnemosyneError as error:
            raised = error
        if engine.reads < number:
            repo.delete_branch("trial")
            repo.gc(keep_reflog=AT_ONCE)
            return
        yield raised


def read_all(other: Repository) -> None:
    now = other.at("trial")
    assert [record.content for record in now.scan("trial/")] == [0, 1]
    assert [record.embedding.tolist() for record in now.scan("trial/")] == [[1, 0], [1, 1]]
    assert [hit.record.key for hit in now.search([1.0, 0.0], limit=1)] == ["trial/0"]


ACTS: dict[str, Act] = {
    "read": read_all,
    "log": lambda other: list(other.log("trial", prefix="trial/")),
    "history": lambda other: list(other.history("trial/0", "trial")),
    "blame": lambda other: other.blame("trial/1", "trial"),
    "diff": lambda other: list(other.diff("main", "trial")),
    "push": lambda other: other.push(fresh(), "trial"),
    "merge": lambda other: other.plan_merge("trial"),
    "trace": lambda other: list(other.trace(source="x")),
}


class VerifyContract(RepositoryFixtures):
    """What a repository promises of verification."""

    @needs("delete", "enumerate", "lock")
    def test_what_a_collector_takes_while_it_reads_is_not_damage(self, repo: Repository):
        repo.put("a", 1, embedding=[1.0, 2.0])

        def check(other: Repository) -> None:
            assert other.verify().problems == ()

        times = list(disturbed(repo, check))
        assert len(times) > 5
        assert set(times) == {None}

    @needs("delete", "enumerate", "lock")
    def test_two_collectors_do_not_disturb_each_other(self, repo: Repository):
        repo.put("a", 1, embedding=[1.0, 2.0])
        times = list(disturbed(repo, lambda other: other.gc(keep_reflog=AT_ONCE)))
        assert len(times) > 5
        assert set(times) == {None}
        assert set(disturbed(repo, partial(Repository.gc, keep_reflog=AT_ONCE, dry_run=True))) == {
            None
        }
        assert repo.verify().ok

    @needs("delete", "enumerate", "lock")
    def test_what_is_copied_while_it_is_collected_is_whole(self, repo: Repository, tmp_path: Path):
        repo.put("a", 1, embedding=[1.0, 2.0])
        names = count()

        def clone(other: Repository) -> None:
            assert mnemosyne_vcs.clone(other, "memory://").verify().ok

        def fetch(other: Repository) -> None:
            copy = fresh()
            copy.fetch(other)
            assert verify_objects(copy.blocks).ok

        def export(other: Repository) -> None:
            path = tmp_path / f"{next(names)}.car"
            other.export_bundle(path)
            copy = fresh()
            copy.import_bundle(path)
            assert copy.verify().ok

        for act in (clone, fetch, export, Repository.stats):
            assert set(disturbed(repo, act)) == {None}
        assert list(tmp_path.glob(".*")) == []

    @needs("delete", "enumerate", "lock")
    @pytest.mark.parametrize("act", ACTS)
    def test_who_reads_a_branch_that_is_collected_is_told_so(self, repo: Repository, act: str):
        repo.put("a", 1, embedding=[1.0, 2.0])
        raised = [error for error in disturbed(repo, ACTS[act]) if error is not None]
        for error in raised:
            assert isinstance(error, NotFoundError)
            assert "backup" not in str(error)
            assert "garbage collected" in str(error) or "there is no" in str(error)

    @needs("delete", "enumerate", "lock")
    def test_a_snapshot_of_a_collected_commit_says_what_became_of_it(self, repo: Repository):
        head = on_trial(repo)
        now = Repository(repo.blocks.engine).at("trial")
        repo.delete_branch("trial")
        repo.gc(keep_reflog=AT_ONCE)
        for read in (
            lambda: now["trial/0"],
            lambda: list(now.scan()),
            lambda: now.search([1.0, 0.0]),
        ):
            with pytest.raises(CollectedError, match="no branch, tag or remote reaches its commit"):
                read()
        with pytest.raises(NotFoundError, match=f"there is no commit {head}"):
            repo.at(head)
        assert repo.verify().ok

    @needs("delete", "enumerate", "lock")
    def test_what_refs_still_reach_and_is_missing_is_damage(self, repo: Repository):
        repo.put("a", 1)
        shared = repo.put("a", 2, embedding=[1.0, 2.0])
        on_trial(repo)
        root = shared.tree_cid

        def take_away() -> None:
            repo.delete_branch("trial")
            repo.blocks.engine.delete([root])

        engine = Disturbed(repo.blocks.engine, take_away, {2})
        report = Repository(engine).verify()
        assert [problem.object for problem in report.problems] == [shared.tree]
        assert "missing" in report.problems[0].message
        with pytest.raises(NotFoundError, match="restore it from a backup or a clone") as caught:
            list(Repository(repo.blocks.engine).at().scan())
        assert not isinstance(caught.value, CollectedError)
        with pytest.raises(NotFoundError, match=shared.tree):
            repo.gc(keep_reflog=AT_ONCE)

    @needs("delete", "enumerate", "lock")
    def test_a_listed_object_that_is_not_given_is_damage(self, repo: Repository):
        repo.put("a", 1)
        engine = repo.blocks.engine
        ids = engine.ids
        head = on_trial(repo)
        repo.delete_branch("trial")
        engine.delete([parse_id(head)])
        engine.ids = lambda prefix=b"": iter([*ids(prefix), parse_id(head)])
        assert [problem.object for problem in repo.verify().problems] == [head]

    @needs("delete", "enumerate", "lock")
    def test_refs_to_nothing_are_damage(self, repo: Repository):
        repo.put("a", 1)
        head = parse_id(repo.put("b", 1).id)
        repo.blocks.engine.delete([head])
        repo.blocks.engine.write({}, RefUpdate("tag/x", None, head))
        assert len(Repository(repo.blocks.engine).verify().problems) == 1

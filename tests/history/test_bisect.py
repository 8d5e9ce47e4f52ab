"""Bisect: the search on lines of commits, and on histories with branches and merges."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import InconclusiveError, Repository
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.graph import bisect
from mnemosyne_vcs.ids import text_id
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.testing.repository.bisect import BisectContract, holds


class TestBisect(BisectContract):
    pass


def commit(name: str, *parents: Commit) -> Commit:
    generation = 1 + max((p.generation for p in parents), default=-1)
    ids = tuple(parent.id for parent in parents)
    cid = text_id(object_id(name.encode()))
    return Commit(cid, ids, "", "", "", name, generation, generation)


def line(length: int) -> list[Commit]:
    commits = [commit("0")]
    for number in range(1, length):
        commits.append(commit(str(number), commits[-1]))
    return commits


def search(commits: list[Commit], probe: Callable[[Commit], object], **options: bool) -> Commit:
    lookup = {each.cid: each for each in commits}.__getitem__
    return bisect(lookup, probe, commits[0].cid, commits[-1].cid, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [2, 3, 4, 9, 64])
def test_every_place_in_a_line_is_found(length: int):
    commits = line(length)
    for fault in range(1, length):
        assert search(commits, lambda c, f=fault: int(c.message) >= f).message == str(fault)


def test_it_looks_about_log2_times():
    commits, asked = line(1025), []
    assert (
        search(commits, lambda c: asked.append(c.message) or int(c.message) >= 700).message == "700"
    )
    assert len(asked) == len(set(asked)) <= 11


@given(st.integers(2, 40), st.data())
def test_skipped_commits_are_avoided_or_named(length: int, data: st.DataObject):
    commits = line(length)
    fault = data.draw(st.integers(1, length - 1))
    skipped = data.draw(st.sets(st.integers(1, max(1, length - 2))))

    def probe(c: Commit) -> object:
        return "skip" if int(c.message) in skipped else int(c.message) >= fault

    try:
        assert search(commits, probe).message == str(fault)
    except InconclusiveError as error:
        candidates = [int(c.message) for c in error.candidates]
        assert fault in candidates
        assert candidates == list(range(candidates[0], candidates[-1] + 1))
        assert set(candidates[:-1]) <= skipped


def test_a_fault_in_the_merged_side_is_found_there_unless_told_not_to():
    base = commit("base")
    side = [commit("s1", base)]
    side += [commit("s2", side[-1])]
    side += [commit("s3", side[-1])]
    main = commit("m1", base)
    merge = commit("merge", main, side[-1])
    after = commit("after", merge)
    commits = [base, *side, main, merge, after]
    faulty = {"s2", "s3", "merge", "after"}
    assert search(commits, lambda c: c.message in faulty).message == "s2"
    assert search(commits, lambda c: c.message in faulty, descend=False).message == "merge"
    assert search(commits, lambda c: c.message in {"merge", "after"}).message == "merge"
    with pytest.raises(InconclusiveError) as caught:
        search(commits, lambda c: "skip" if c.message == "s3" else c.message in faulty)
    assert [c.message for c in caught.value.candidates] == ["s1", "s2", "s3", "merge"]


STEPS = st.lists(st.sampled_from(["work", "work", "work", "branch", "merge"]), min_size=1)


@given(STEPS, STEPS, st.sampled_from(["main", "side"]))
def test_a_planted_fault_is_found_on_histories_that_branch(
    before: list[str], after: list[str], where: str
):
    with mnemosyne_vcs.open("memory://", create=True) as repo:
        work = Work(repo)
        for step in before:
            work.do(step)
        work.do("branch")
        with repo.transaction(branch=where, message="the fault") as tx:
            tx.put("belief", "wrong")
        planted = repo.resolve(where)
        for step in [*after, "merge"]:
            work.do(step)
        repo.put("last", 1)
        assert repo.bisect(holds("belief", "wrong")).id == planted.id
        assert repo.blame("belief").commit.id == planted.id


class Work:
    """Unrelated work on main and on a side branch, which now and then is merged."""

    def __init__(self, repo: Repository) -> None:
        self.repo = repo
        self.count = 0
        repo.create_branch("side")

    def do(self, step: str) -> None:
        self.count += 1
        if step == "merge":
            self.repo.merge("side")
        elif step == "branch":
            self.repo.merge("main", into="side")
        else:
            branch = ("main", "side")[self.count % 2]
            self.repo.put(f"{branch}/{self.count}", self.count, branch=branch)

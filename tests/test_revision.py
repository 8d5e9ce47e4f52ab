"""Revisions: every form of naming a commit."""

import pytest

from conftest import Clock
from mnemosyne import InvalidRevisionError, NotFoundError, Repository
from mnemosyne.revision import short_id

HOUR = 3_600_000


def test_branch_tag_id_and_prefix(repo: Repository):
    commit = repo.put("a", 1)
    repo.create_tag("v1")
    repo.create_branch("team/x")
    for revision in ("main", "v1", "team/x", commit.id, commit.id[:20], short_id(commit.id)):
        assert repo.resolve(revision).id == commit.id
    assert repo.resolve(commit.id.upper()[:25].lower()).id == commit.id


def test_a_branch_wins_over_a_tag_of_the_same_name(repo: Repository):
    repo.put("a", 1)
    repo.create_tag("x")
    newer = repo.put("a", 2)
    repo.create_branch("x")
    assert repo.resolve("x").id == newer.id


def test_steps_back(repo: Repository):
    commits = [repo.put("a", i) for i in range(4)]
    assert repo.resolve("main~1").id == commits[2].id
    assert repo.resolve("main~").id == commits[2].id
    assert repo.resolve("main~3").id == commits[0].id
    assert repo.resolve("main^").id == commits[2].id
    assert repo.resolve("main^1~1").id == commits[1].id
    assert repo.resolve("main~0").id == commits[3].id
    assert repo.resolve(f"{commits[1].id}~1").id == commits[0].id
    with pytest.raises(NotFoundError, match="main\\^2"):
        repo.resolve("main^2")
    with pytest.raises(NotFoundError):
        repo.resolve("main~9")


def test_where_a_branch_was(timed: Repository, clock: Clock):
    start = clock.now
    clock.advance(HOUR)
    first = timed.put("a", 1)
    clock.advance(30 * HOUR)
    second = timed.put("a", 2)
    clock.advance(HOUR)
    assert timed.resolve("main@{now}").id == second.id
    assert timed.resolve("main@{yesterday}").id == first.id
    assert timed.resolve("main@{2 hours ago}").id == first.id
    assert timed.resolve("main@{30 minutes ago}").id == second.id
    assert timed.resolve("main@{1}").id == first.id
    assert timed.resolve("main@{0}~1").id == first.id
    moment = first.when.isoformat()
    assert timed.resolve(f"main@{{{moment}}}").id == first.id
    naive = first.when.replace(tzinfo=None).isoformat(timespec="minutes")
    assert timed.resolve(f"main@{{{naive}}}").generation <= 1
    assert start < first.time


def test_a_branch_that_was_not_there_yet(timed: Repository, clock: Clock):
    clock.advance(10**9)
    timed.create_branch("later")
    with pytest.raises(NotFoundError, match="did not exist"):
        timed.resolve("later@{yesterday}")
    with pytest.raises(NotFoundError, match="'none'"):
        timed.resolve("none@{now}")


def test_undo_shows_in_where_a_branch_was(timed: Repository, clock: Clock):
    timed.put("a", 1)
    clock.advance(HOUR)
    timed.undo()
    assert "a" not in timed.at()
    assert timed.at("main@{30 minutes ago}")["a"].content == 1


@pytest.mark.parametrize(
    "text", ["", "~1", "main~x", "main@{", "main@{soon}", "main@{-1}", "main~1@{now}", "a{b", "m}"]
)
def test_what_is_no_revision(repo: Repository, text: str):
    with pytest.raises(InvalidRevisionError):
        repo.resolve(text)


@pytest.mark.parametrize("text", ["none", "zzzz", "bafyreiaaaaaaaaa", "abcd2345", "MAIN"])
def test_what_names_nothing(repo: Repository, text: str):
    with pytest.raises(NotFoundError, match=text):
        repo.resolve(text)


@pytest.mark.parametrize("revision", ["HEAD", "HEAD~2", "HEAD^"])
def test_there_is_no_head_and_the_message_says_what_to_write(repo: Repository, revision: str):
    with pytest.raises(NotFoundError, match="such as `main`"):
        repo.resolve(revision)


def test_a_branch_may_be_called_head(repo: Repository):
    repo.create_branch("HEAD")
    assert repo.resolve("HEAD").id == repo.resolve("main").id


def test_an_ambiguous_prefix_lists_the_candidates(repo: Repository):
    for i in range(40):
        repo.put("a", i)
    with pytest.raises(InvalidRevisionError, match="several"):
        repo.resolve("bafyrei")

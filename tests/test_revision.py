"""Revisions: every form of naming a commit."""

from pathlib import Path

import pytest

from mnemosyne_vcs import InvalidRevisionError, NotFoundError, Repository, ValidationError
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.ids import short_id
from mnemosyne_vcs.testing.repository._fixtures import Clock

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
    moment = first.time.isoformat()
    assert timed.resolve(f"main@{{{moment}}}").id == first.id
    naive = first.time.replace(tzinfo=None).isoformat(timespec="minutes")
    assert timed.resolve(f"main@{{{naive}}}").generation <= 1
    assert start < first.timestamp_ms


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


NINES = "9" * 11


@pytest.mark.parametrize("number", [NINES, "9" * 5000, "1" + "0" * 18])
def test_numbers_that_no_history_has_are_told_at_once(repo: Repository, number: str):
    commit = repo.put("a", 1)
    for revision in (f"main~{number}", f"main^{number}", f"{commit.id}~{number}"):
        with pytest.raises(NotFoundError, match=r"main|bafy"):
            repo.resolve(revision)
    for revision in (f"main@{{{number}}}", f"main@{{{number} weeks ago}}"):
        with pytest.raises(NotFoundError, match="did not exist"):
            repo.resolve(revision)
    assert repo.resolve("main~" + "0" * 5000 + "1").id == commit.parents[0]


def test_steps_do_not_cost_memory(repo: Repository):
    import tracemalloc

    repo.put("a", 1)
    tracemalloc.start()
    try:
        with pytest.raises(NotFoundError):
            repo.resolve("main~100000000")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_only_the_digits_0_to_9_are_numbers(repo: Repository):
    repo.put("a", 1)
    for revision in ("main~\u0661", "main^\u0661", "main@{\u0661}", "main@{\u0661 hours ago}"):
        with pytest.raises(InvalidRevisionError):
            repo.resolve(revision)


def test_a_branch_or_tag_is_not_named_like_a_commit(repo: Repository):
    commit = repo.put("a", 1)
    other = "bafyrei" + "a" * 52
    for name in (commit.id, other):
        for create in (repo.create_branch, repo.create_tag):
            with pytest.raises(ValidationError, match="form of a commit id"):
                create(name)
    assert (len(repo.branches()), repo.tags()) == (1, {})
    assert repo.create_branch(f"of/{commit.id}").id == commit.id
    assert repo.create_branch(commit.id[:-1]).id == commit.id


def test_a_branch_of_an_older_version_that_is_named_so_can_be_deleted(repo: Repository):
    commit = repo.put("a", 1)
    for kind in ("branch/", "tag/"):
        update = RefUpdate(kind + commit.id, None, commit.cid)
        repo.blocks.engine.write({}, update)
    repo.delete_branch(commit.id)
    repo.delete_tag(commit.id)
    assert commit.id not in repo.branches() | repo.tags()


def test_a_bundle_brings_no_such_name(repo: Repository, tmp_path: Path):
    commit = repo.put("a", 1)
    repo.blocks.engine.write({}, RefUpdate(f"branch/{commit.id}", None, commit.cid))
    path = tmp_path / "a.car"
    repo.export_bundle(path)
    repo.delete_branch(commit.id)
    with pytest.raises(ValidationError, match="form of a commit id"):
        repo.import_bundle(path)
    repo.import_bundle(path, prefix="theirs/")
    assert f"theirs/{commit.id}" in repo.branches()


def test_a_commit_is_found_by_its_id(repo):
    commit = repo.put("a", 1)
    repo.create_tag(commit.short_id[:5])  # a name that could be the start of an id

    for text in (commit.id, commit.id[:15], commit.short_id, commit.short_id.upper()):
        assert repo.commit(text) == commit
    assert repo.commit(commit.short_id[:5]) == commit
    for wrong in ("main", "abc", f"{commit.short_id}~1", "a b c d"):
        with pytest.raises((InvalidRevisionError, NotFoundError)):
            repo.commit(wrong)
    with pytest.raises(InvalidRevisionError, match="string"):
        repo.commit(7)

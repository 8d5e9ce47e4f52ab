"""What the messages and trailers of merges and undos say."""

import pytest

from mnemosyne_vcs import ConflictError, Repository


def clashing(repo: Repository, count: int) -> Repository:
    """Two branches that have each changed some records of their own accord."""
    keys = [f"é{number}" for number in range(count)]
    for branch in ("main", "trial"):
        with repo.transaction(branch) as tx:
            for key in keys:
                tx.put(key, branch)
        if branch == "main":
            repo.create_branch("trial", revision="main~1")
    return repo


@pytest.mark.parametrize(
    ("count", "more"), [(5, ""), (6, " and 1 more"), (8, " and 3 more"), (12, " and 7 more")]
)
def test_five_conflicts_are_named_and_the_others_counted(repo: Repository, count: int, more: str):
    repo.put("base", 0)
    with pytest.raises(ConflictError) as caught:
        clashing(repo, count).merge("trial")
    message = str(caught.value)
    assert message.count("(add/add)") == 5
    assert f"(add/add){more} in different ways" in message
    assert ("more" in message) == bool(more)


def test_the_trailer_of_what_was_settled_is_readable(repo: Repository):
    repo.put("base", 0)
    commit = clashing(repo, 2).merge("trial", on_conflict="ours")
    assert commit.trailers["Resolved"] == '{"é0":"ours","é1":"ours"}'


def test_an_undo_says_what_it_takes_back(repo: Repository):
    for number in range(4):
        repo.put("k", number, message=f"put {number}")
    assert repo.undo(2).message == "undo 2 commits"
    assert repo.undo().message == "undo: undo 2 commits"

"""No change puts vectors side by side that no search can compare, without being told to."""

from collections.abc import Callable
from typing import Any

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import DimensionError, Repository

Branches = Callable[..., Repository]


@pytest.fixture
def branches(repo: Repository) -> Branches:
    """`main` and `side`, each with records of its own: key and vector, or key, vector and model."""

    def make(ours: Any, theirs: Any, base: Any = ()) -> Repository:
        put(repo, "main", base)
        repo.create_branch("side")
        put(repo, "main", ours)
        put(repo, "side", theirs)
        return repo

    return make


def put(repo: Repository, branch: str, records: Any) -> None:
    with repo.transaction(branch) as tx:
        for key, vector, *embedder in records:
            tx.put(key, key, embedding=vector, embedder=embedder[0] if embedder else None)


def refused(act: Callable[..., Any], *args: Any, **options: Any) -> str:
    with pytest.raises(DimensionError) as error:
        act(*args, **options)
    plan = getattr(act.__self__, f"plan_{act.__name__}")  # type: ignore[attr-defined]
    with pytest.raises(DimensionError):
        plan(*args, **options)
    plan(*args, allow_mixed_vectors=True, **options)
    return str(error.value)


def test_a_merge_of_two_dimensions_is_refused_unless_it_is_allowed(branches: Branches):
    repo = branches([("/a", [1, 0])], [("/s/b", [1, 0, 0])])
    head = repo.resolve()
    message = refused(repo.merge, "side")
    assert "embeddings of 2 and 3 dimensions side by side below '/'" in message
    assert repo.resolve() == head
    repo.merge("side", allow_mixed_vectors=True)
    assert repo.at().dimensions() == [2, 3]


def test_what_is_mixed_already_may_stay_so(branches: Branches):
    mixed = [("k/a", [1, 0]), ("k/z", [1, 0, 0])]
    repo = branches([("k/c", [0, 1])], [("k/d", [0, 1, 0])], mixed)
    repo.merge("side")
    repo.merge("main", into="side")
    assert len(repo.at("side")) == 4


def test_a_side_that_is_mixed_mixes_the_other(branches: Branches):
    repo = branches([("k/a", [1, 0])], [("k/b", [1, 0]), ("k/c", [1, 0, 0])])
    refused(repo.merge, "side")


def test_a_branch_without_vectors_takes_what_comes(branches: Branches):
    repo = branches([("k/a", None)], [("k/b", [1, 0]), ("k/c", [1, 0, 0])])
    repo.merge("side")
    assert repo.at().dimensions() == [2, 3]


@pytest.mark.parametrize(
    ("ours", "theirs", "fits"),
    [
        ("text/a", "image/b", True),
        ("a", "b", False),
        ("a", "text/b", True),
        ("a", "/b", True),
        ("text/a", "text/deep/b", False),
        ("/text/a", "/image/b", False),
    ],
)
def test_only_keys_with_one_first_part_belong_together(
    branches: Branches, ours: str, theirs: str, fits: bool
):
    repo = branches([(ours, [1, 0])], [(theirs, [1, 0, 0])])
    if fits:
        repo.merge("side")
    else:
        refused(repo.merge, "side")


def test_only_vectors_of_one_name_belong_together(repo: Repository):
    repo.put("k/a", 1, vectors={"text": [1, 0], "image": [1, 0, 0]})
    repo.create_branch("side")
    repo.put("k/b", 1, vectors={"text": [1, 0]})
    repo.put("k/c", 1, vectors={"image": [1, 0, 0], "more": [1]}, branch="side")
    repo.merge("side")
    repo.put("k/d", 1, vectors={"more": [1, 0]}, branch="side")
    assert "vectors named 'more' of 1 and 2 dimensions" in refused(repo.merge, "side")


def test_a_side_that_was_embedded_anew_takes_all_of_the_other_along_or_none(branches: Branches):
    old = [("/a", [1, 0]), ("/b", [0, 1])]
    repo = branches([], [("/a", [1, 0, 0]), ("/b", [0, 1, 0])], old)
    repo.create_branch("other")
    repo.merge("side")
    assert repo.at().dimensions() == [3]
    put(repo, "other", [("/c", [1, 1])])
    refused(repo.merge, "other")
    refused(repo.merge, "side", "other")


def test_records_without_vectors_do_not_matter(branches: Branches):
    many = [(f"/{n:03}", None) for n in range(40)]
    repo = branches([*many, ("/x", [1, 0])], [("/y", [1, 0, 0]), ("/z", None)])
    refused(repo.merge, "side")
    with repo.transaction() as tx:
        tx.delete("/x")
    repo.merge("side")


def test_models_that_are_known_and_differ_are_told_apart(branches: Branches):
    repo = branches([("/a", [1, 0], "small")], [("/b", [0, 1], "large")])
    message = refused(repo.merge, "side")
    assert "embeddings of the models 'large' and 'small' side by side" in message


@pytest.mark.parametrize(("ours", "theirs"), [(None, "large"), ("small", None), (None, None)])
def test_models_that_are_unknown_fit(branches: Branches, ours: Any, theirs: Any):
    branches([("/a", [1, 0], ours)], [("/b", [0, 1], theirs)]).merge("side")


def test_models_that_were_mixed_before_may_stay_so(branches: Branches):
    base = [("/a", [1, 0], "small"), ("/b", [1, 0], "large")]
    repo = branches([("/c", [0, 1], "small")], [("/d", [0, 1], "third")], base)
    repo.merge("side")
    put(repo, "side", [("/e", [1])])
    refused(repo.merge, "side")


def test_conflicts_come_first(branches: Branches):
    repo = branches([("/a", [1, 0]), ("/x", [1, 1])], [("/b", [1, 0, 0]), ("/x", [0, 1])])
    with pytest.raises(mnemosyne_vcs.ConflictError):
        repo.merge("side")
    assert repo.plan_merge("side").conflicts
    refused(repo.merge, "side", on_conflict="ours")


def test_a_resolution_counts_too(branches: Branches):
    repo = branches([("k/a", [1, 0]), ("k/x", [1, 1])], [("k/x", [0, 1])])
    value = mnemosyne_vcs.Replacement("new", embedding=[1, 0, 0])
    refused(repo.merge, "side", resolutions={"k/x": value})


def test_a_branch_that_only_moves_on_is_taken_as_it_is(branches: Branches):
    repo = branches([], [("/b", [1, 0, 0])], [("/a", [1, 0])])
    refused(repo.merge, "side")
    repo.plan_merge("side", fast_forward=True)
    repo.merge("side", fast_forward=True)
    assert repo.resolve() == repo.resolve("side")


def test_pull(repo: Repository, new_url: Any):
    repo.put("/a", 1, embedding=[1, 0])
    with mnemosyne_vcs.open(new_url(), create=True) as other:
        other.put("/b", 1, embedding=[1, 0, 0])
        with pytest.raises(DimensionError):
            repo.pull(other, allow_unrelated=True)
        repo.pull(other, allow_mixed_vectors=True, allow_unrelated=True)
    assert repo.at().dimensions() == [2, 3]


def emptied(repo: Repository) -> mnemosyne_vcs.Commit:
    """A memory that was emptied, and filled by another model since; the commit that emptied it."""
    put(repo, "main", [("/a", [1, 0]), ("/b", [0, 1])])

    def empty(tx: mnemosyne_vcs.Transaction) -> None:
        for key in list(tx.scan_keys()):
            tx.delete(key)

    commit = repo.transact(empty, trailers={"Run-Id": "reset"})
    put(repo, "main", [("/c", [1, 0, 0])])
    return commit


def test_revert(repo: Repository):
    refused(repo.revert, emptied(repo).id)


def test_undo(repo: Repository):
    emptied(repo)
    refused(repo.undo, trailer=("Run-Id", "reset"))
    repo.undo(2)
    assert repo.at().dimensions() == [2]


def test_cherry_pick(repo: Repository):
    emptied(repo)
    refused(repo.cherry_pick, "main~2")


def test_restore(repo: Repository):
    emptied(repo)
    refused(repo.restore, "/a", source="main~2")
    repo.restore(source="main~2")
    assert repo.at().dimensions() == [2]


def test_retract(repo: Repository):
    put(repo, "main", [("/a", [1, 0])])
    bad = mnemosyne_vcs.Provenance(source="bad")
    repo.put("/a", 2, embedding=[1, 0, 0], provenance=bad)
    repo.put("/b", 2, embedding=[1, 0, 0])
    refused(repo.retract, source="bad")
    repo.retract(source="bad", allow_mixed_vectors=True)
    assert repo.at().dimensions() == [2, 3]


def test_a_large_merge_reads_few_of_the_records_that_stay(branches: Branches, monkeypatch: Any):
    repo = branches(
        [(f"/m{n}", [1, 0]) for n in range(400)], [(f"/s{n}", [1, 0]) for n in range(20)]
    )
    read: set[bytes] = set()
    engine, plain = repo.blocks.engine, repo.blocks.engine.read

    def counted(ids: Any) -> Any:
        read.update(ids)
        return plain(ids)

    monkeypatch.setattr(engine, "read", counted)
    repo.merge("side")
    assert len(read) < 150

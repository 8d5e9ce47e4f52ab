"""Vectors of merged records: whose they are, and what an index of them is told."""

import pytest

from mnemosyne_vcs import Repository
from mnemosyne_vcs.testing._peers import fresh
from vector_engine import IndexingEngine


def test_a_record_that_both_sides_changed_keeps_its_vector(repo: Repository):
    base = repo.put("a", {"x": 0, "y": 0}, embedding=[1.0, 2.0])
    repo.create_branch("side")
    repo.put("a", {"x": 1, "y": 0}, embedding=[1.0, 2.0])
    repo.put("a", {"x": 0, "y": 1}, embedding=[1.0, 2.0], branch="side")
    repo.merge("side")
    merged = repo.at()["a"]
    assert merged.content == {"x": 1, "y": 1}
    assert merged.vectors.ids == repo.at(base)["a"].vectors.ids
    assert repo.verify().ok


@pytest.mark.parametrize("act", ["merge", "cherry-pick"])
def test_an_index_is_told_of_the_vectors_that_others_have_written(act: str):
    engine = IndexingEngine()
    repo = fresh(engine)
    repo.put("ours", 0, embedding=[0.0, 1.0])
    repo.create_branch("side")
    theirs = repo.put("theirs", 1, branch="side", embedding=[1.0, 0.0])
    repo.create_vector_index()
    repo.put("more", 2, embedding=[0.5, 1.0])
    repo.merge("side") if act == "merge" else repo.cherry_pick(theirs)
    assert engine.known_vector_root("branch/main") == repo.at().root
    assert [hit.record.key for hit in repo.at().search([1.0, 0.0])] == ["theirs", "more", "ours"]
    assert engine.asked == 1
    assert repo._views.nbytes() == 0

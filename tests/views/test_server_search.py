"""Searches by an engine's index give what searches without one give, wherever the index stands."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import DimensionError, ReadOnlyError, Repository, tree
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.engine.vector_index import VectorMove, VectorPart
from mnemosyne_vcs.testing._peers import fresh
from mnemosyne_vcs.views.keys import Selection
from mnemosyne_vcs.views.server_index import index_is_current
from vector_engine import IndexingEngine

KEYS = [f"{top}/{number}" for top in ("a", "a/b", "é") for number in range(10)]
NAMES = ["", "title"]


@pytest.fixture
def engine() -> IndexingEngine:
    return IndexingEngine()


@pytest.fixture
def repo(engine: IndexingEngine) -> Repository:
    repository = fresh(engine)
    with repository.transaction() as tx:
        for number, key in enumerate(KEYS):
            tx.put(key, number, embedding=[number, 1.0, 0.0])
    repository.create_vector_index()
    return repository


def keys(repo: Repository, revision: str = "main", limit: int = 3) -> list[str]:
    return [hit.record.key for hit in repo.at(revision).search([1.0, 0.0, 0.0], limit=limit)]


def plain(repo: Repository) -> Repository:
    """The same memory without any index."""
    return mnemosyne_vcs.clone(repo, "memory://")


def edit(repo: Repository, rng: np.random.Generator, branch: str) -> None:
    with repo.transaction(branch) as tx:
        for key in rng.choice(KEYS, rng.integers(1, 6), replace=False).tolist():
            if rng.random() < 0.3:
                if key in tx:
                    tx.delete(key)
                continue
            pool = [rng.standard_normal(3), np.ones(3), np.zeros(3), np.array([1.0, 1.0, 1 + 1e-6])]
            names = [name for name in NAMES if rng.random() < 0.7]
            vectors = {name: pool[rng.integers(4)].astype(np.float32) for name in names}
            tx.put(key, int(rng.integers(3)), vectors=vectors)


def question(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "prefix": ["", "", "a", "a/b/", "é", "none"][rng.integers(6)],
        "where": [None, lambda record: record.content != 1][rng.integers(2)],
        "within": [None, Selection(sorted(KEYS), rng.random(len(KEYS)) < 0.5)][rng.integers(2)],
        "limit": [0, 1, 2, 5, 40][rng.integers(5)],
        "min_score": float(rng.choice([-1.0, 0.0, 0.9])),
        "vector": [*NAMES, "none"][rng.integers(3)],
    }


def answer(snapshot: Any, query: Any, asked: dict[str, Any]) -> Any:
    try:
        hits = snapshot.search(query, **asked)
    except DimensionError as error:
        return str(error)
    return [(hit.record.key, hit.record.content, hit.score) for hit in hits]


@settings(max_examples=25)
@given(seed=st.integers(0, 10**9))
def test_both_ways_give_the_same(seed: int):
    rng, engine = np.random.default_rng(seed), IndexingEngine()
    repo = fresh(engine)
    repo.put("a/0", 0)
    edit(repo, rng, "main")
    repo.create_branch("other")
    repo.create_vector_index()
    for _ in range(4):
        for branch in ("main", "other"):
            edit(repo, rng, branch)
        without = plain(repo)
        for revision in ("main", "other", list(repo.log())[-1].id):
            for _ in range(4):
                query, asked = rng.standard_normal(3).astype(np.float32), question(rng)
                expected = answer(without.at(revision), query, asked)
                assert answer(repo.at(revision), query, asked) == expected
    assert engine.asked > 0


def test_the_index_answers_and_nothing_is_loaded(repo: Repository, engine: IndexingEngine):
    assert keys(repo) == ["é/9", "é/8", "é/7"]
    assert engine.asked == 1
    assert repo._views.nbytes() == 0


def test_a_commit_takes_the_index_along(repo: Repository, engine: IndexingEngine):
    repo.put("a/0", "first", embedding=[1.0, 0.0, 0.0])
    assert engine.known_vector_root("branch/main") == repo.at().root
    assert keys(repo) == ["a/0", "é/9", "é/8"]


def test_an_index_is_current_if_it_is_of_the_new_tree_or_if_there_is_none(
    repo: Repository, engine: IndexingEngine
):
    old, new = repo.at().root, repo.at("main~1").root
    head = repo.resolve().cid
    current = RefUpdate("branch/main", head, head, vectors=VectorMove(new, old, []))
    behind = RefUpdate("branch/main", head, head, vectors=VectorMove(old, new, []))
    assert index_is_current(repo.blocks, current)
    assert not index_is_current(repo.blocks, behind)
    assert index_is_current(repo.blocks, RefUpdate("branch/main", head, head))
    assert index_is_current(fresh().blocks, behind)


def test_another_tree_is_searched_by_the_keys_that_differ(repo: Repository, engine: IndexingEngine):
    repo.create_branch("trial")
    with repo.transaction("trial") as tx:
        tx.delete("é/9")
        tx.put("a/0", "best", embedding=[1.0, 0.0, 0.0])
        tx.put("new", "other kind", embedding=[0.0, 1.0, 0.0])
    assert keys(repo, "trial") == ["a/0", "é/8", "é/7"]
    assert keys(repo, "trial", 100)[-1] == "new"
    assert engine.asked == 2
    assert repo._views.nbytes() == 0


@pytest.mark.parametrize(("most", "asked"), [(3, 1), (2, 0)])
def test_a_tree_that_differs_too_much_is_loaded(
    repo: Repository, engine: IndexingEngine, monkeypatch: pytest.MonkeyPatch, most: int, asked: int
):
    repo.create_branch("trial")
    with repo.transaction("trial") as tx:
        for key in KEYS[:3]:
            tx.delete(key)
    monkeypatch.setattr("mnemosyne_vcs.views.server_search.MOST_BEHIND", most)
    assert keys(repo, "trial") == ["é/9", "é/8", "é/7"]
    assert engine.asked == asked
    assert (repo._views.nbytes() == 0) == bool(asked)


def test_an_index_that_is_behind_is_brought_along_by_a_search(
    repo: Repository, engine: IndexingEngine
):
    root = engine.known_vector_root("branch/main")
    repo.drop_vector_index()
    engine.add_vector_index("branch/main", tree.EMPTY_ROOT)
    assert engine.known_vector_root("branch/main") != root
    assert keys(repo) == ["é/9", "é/8", "é/7"]
    assert engine.known_vector_root("branch/main") == root


def test_an_index_that_moves_away_meanwhile_is_done_without(
    repo: Repository, engine: IndexingEngine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine, "nearest_vectors", lambda *_: None)
    assert keys(repo) == ["é/9", "é/8", "é/7"]


@pytest.mark.parametrize(
    ("wrong", "count"),
    [
        ([("a/0", None)], 1),
        ([("a/0", None), ("é/9", None)], 2),
        ([("more", "a/0")], 1),
        ([("a/0", "a/1")], 2),
    ],
)
def test_verify_counts_what_is_wrong_in_an_index(
    repo: Repository, engine: IndexingEngine, wrong: list[tuple[str, str | None]], count: int
):
    assert repo.verify().ok
    root = engine.known_vector_root("branch/main")
    assert root is not None
    rows = {row.key: row for row in engine._rows("branch/main", "", ())}
    given = [replace(rows[source], key=key) for key, source in wrong if source is not None]
    part = VectorPart([key for key, _ in wrong], given)
    assert engine.move_vector_index("branch/main", VectorMove(root, root, [part]))
    [problem] = repo.verify().problems
    assert (problem.kind, f" wrong in {count} places" in problem.message) == ("index", True)
    repo.drop_vector_index()
    repo.create_vector_index()
    assert repo.verify().ok


def test_an_index_that_is_dropped_while_it_is_verified_is_not_wrong(
    repo: Repository, engine: IndexingEngine, monkeypatch: pytest.MonkeyPatch
):
    listed = iter([engine.vector_indexes()])
    monkeypatch.setattr(engine, "vector_indexes", lambda: next(listed, []))
    assert repo.verify().ok
    assert next(listed, None) is None


def test_what_nothing_can_match_is_not_asked_of_the_index(repo: Repository, engine: IndexingEngine):
    for asked in ({"limit": 0}, {"prefix": "a\0"}):
        assert repo.at().search([1.0, 0.0, 0.0], **asked) == []
    assert engine.asked == 0


def test_a_wrong_dimension_is_known_from_the_index(repo: Repository):
    with pytest.raises(DimensionError, match="3"):
        repo.at().search([1.0, 0.0])
    assert repo._views.nbytes() == 0


def test_a_few_keys_are_asked_for_at_once(repo: Repository, engine: IndexingEngine):
    last = Selection(sorted(KEYS), np.array([key == "a/0" for key in sorted(KEYS)]))
    hits = repo.at().search([1.0, 0.0, 0.0], within=last, limit=1)
    assert [hit.record.key for hit in hits] == ["a/0"]
    assert engine.asked == 1


def test_the_nearest_of_several_indexes_is_asked(
    repo: Repository, engine: IndexingEngine, monkeypatch: pytest.MonkeyPatch
):
    with repo.transaction() as tx:
        for number in range(200):
            tx.put(f"more/{number:03}", number, embedding=[0.0, 1.0, number])
    for branch in ("a", "z"):
        repo.create_branch(branch)
        with repo.transaction(branch) as tx:
            for number in range(0, 200, 4):
                tx.put(f"more/{number:03}", branch, embedding=[0.0, 2.0, number])
        repo.create_vector_index(branch)
        repo.create_branch(f"{branch}-later", revision=branch)
        repo.put("more/000", 0, branch=f"{branch}-later", embedding=[1.0, 0.0, 0.0])
    monkeypatch.setattr("mnemosyne_vcs.views.server_search.MOST_BEHIND", 1)
    for branch in ("a-later", "z-later"):
        assert keys(repo, branch)[0] == "more/000"
    assert repo._views.nbytes() == 0


def test_an_index_that_is_behind_and_cannot_be_updated_is_searched_with_what_differs(
    repo: Repository, engine: IndexingEngine, monkeypatch: pytest.MonkeyPatch
):
    def refuse(ref: str, move: VectorMove) -> bool:
        raise ReadOnlyError("opened for reading")

    monkeypatch.setattr(engine, "move_vector_index", lambda ref, move: False)
    repo.put("a/0", "best", embedding=[1.0, 0.0, 0.0])
    monkeypatch.setattr(engine, "move_vector_index", refuse)
    assert engine.known_vector_root("branch/main") != repo.at().root
    assert keys(repo) == ["a/0", "é/9", "é/8"]
    assert engine.asked == 1
    assert repo._views.nbytes() == 0


def test_an_index_without_an_entry_for_a_name_finds_nothing(repo: Repository):
    assert repo.at().search([1.0, 0.0, 0.0], vector="title") == []

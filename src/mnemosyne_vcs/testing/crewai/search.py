"""Search: exact cosine, filters before the cut, limits that mean what they say."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mnemosyne_vcs.testing.crewai.base import (
    NEAR_X,
    BackendContract,
    X,
    Y,
    hit_ids,
    make,
    stored_ids,
)

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend
    from crewai.memory.types import MemoryRecord

SCORES = {
    "same": ([3.0, 4.0, 0.0, 0.0], 1.0),
    "scaled": ([0.03, 0.04, 0.0, 0.0], 1.0),
    "far": ([3000.0, 4000.0, 0.0, 0.0], 1.0),
    "orthogonal": ([-4.0, 3.0, 0.0, 0.0], 0.0),
    "45 degrees": ([-1.0, 7.0, 0.0, 0.0], math.sqrt(0.5)),
    "60 degrees": ([3.0, 4.0, math.sqrt(75.0), 0.0], 0.5),
}
CROWD = 120


def crowd(**fields: Any) -> list[MemoryRecord]:
    """Make many records that are nearer to the query X than any record of interest."""
    return [make(f"{n:03}", [1.0, n * 1e-4, 0.0, 0.0], **fields) for n in range(CROWD)]


class SearchContract(BackendContract):
    """Search ranks by exact cosine similarity among the records that match."""

    @pytest.mark.parametrize("name", SCORES)
    def test_score(self, backend: StorageBackend, name: str) -> None:
        """The score is the cosine of the angle, whatever the lengths of the vectors."""
        vector, expected = SCORES[name]
        backend.save([make("a", vector)])
        [(_, score)] = backend.search([3.0, 4.0, 0.0, 0.0], min_score=-1.0)
        assert score == pytest.approx(expected, abs=1e-6)

    def test_opposite(self, backend: StorageBackend) -> None:
        """An opposite vector ranks last and scores no more than an orthogonal one."""
        backend.save([make("opposite", [-1.0, 0.0, 0.0, 0.0]), make("orthogonal", Y), make("x")])
        hits = backend.search(X, min_score=-1.0)
        assert hit_ids(hits) == ["x", "orthogonal", "opposite"]
        assert hits[2][1] in (pytest.approx(-1.0, abs=1e-6), pytest.approx(0.0, abs=1e-6))

    def test_exact_order(self, backend: StorageBackend) -> None:
        """On 1,000 unnormalised vectors the ten nearest are those of float64 cosine, in order.

        Reported: https://github.com/crewAIInc/crewAI/issues/2242
        """
        rng = np.random.default_rng(20)
        matrix = (rng.normal(size=(1000, 32)) * rng.uniform(0.1, 10, (1000, 1))).astype(np.float32)
        backend.save([make(str(n), row.tolist()) for n, row in enumerate(matrix)])
        exact = matrix.astype(np.float64)
        for query in rng.normal(size=(10, 32)).astype(np.float32).astype(np.float64):
            cosine = exact @ query / (np.linalg.norm(exact, axis=1) * np.linalg.norm(query))
            best = np.argsort(-cosine)[:10]
            hits = backend.search(query.tolist(), limit=10)
            assert hit_ids(hits) == [str(n) for n in best]
            assert [score for _, score in hits] == pytest.approx(cosine[best], abs=1e-6)

    def test_result_types(self, backend: StorageBackend) -> None:
        """A result is a pair of a MemoryRecord and a number."""
        from crewai.memory.types import MemoryRecord

        backend.save([make("a")])
        [(record, score)] = backend.search(X)
        assert isinstance(record, MemoryRecord)
        assert float(score) == pytest.approx(1.0, abs=1e-6)

    def test_min_score(self, backend: StorageBackend) -> None:
        """The least score is inclusive."""
        backend.save([make("same"), make("near", NEAR_X), make("orthogonal", Y)])
        assert hit_ids(backend.search(X, min_score=1.0)) == ["same"]
        assert hit_ids(backend.search(X, min_score=0.79)) == ["same", "near"]
        assert hit_ids(backend.search(X, min_score=0.0)) == ["same", "near", "orthogonal"]

    def test_search_limit(self, backend: StorageBackend) -> None:
        """As many results as asked for come back, or all there are."""
        backend.save(crowd())
        assert len(backend.search(X)) == 10
        assert len(backend.search(X, limit=37)) == 37
        assert len(backend.search(X, limit=1000)) == CROWD

    @pytest.mark.parametrize("limit", [0, -1])
    def test_limit_not_positive(self, backend: StorageBackend, limit: int) -> None:
        """A limit of zero or less returns nothing and raises nothing."""
        backend.save([make("a")])
        assert backend.search(X, limit=limit) == []

    @pytest.mark.parametrize("query", [[], [1.0], X], ids=["empty", "1-d", "4-d"])
    def test_search_empty_store(self, backend: StorageBackend, query: list[float]) -> None:
        """An empty store answers any query with nothing."""
        assert backend.search(query) == []

    def test_zero_query(self, backend: StorageBackend) -> None:
        """A query vector of zeros is not an error, and its scores are finite."""
        backend.save([make("a")])
        assert all(math.isfinite(score) for _, score in backend.search([0.0] * 4, min_score=-1.0))

    def test_categories_any(self, backend: StorageBackend) -> None:
        """A record matches when it has any of the categories; None and [] do not filter."""
        backend.save([make("ab", categories=["a", "b"]), make("c", categories=["c"]), make("none")])
        expected = {("a",): {"ab"}, ("b", "c"): {"ab", "c"}, ("d",): set[str]()}
        found = {names: set(hit_ids(backend.search(X, categories=[*names]))) for names in expected}
        assert found == expected
        assert len(backend.search(X, categories=None)) == 3
        assert len(backend.search(X, categories=[])) == 3

    @pytest.mark.parametrize(
        ("wanted", "expected"),
        [
            ({"n": 1}, {"int", "float", "true"}),
            ({"n": "1"}, {"text"}),
            ({"n": None}, {"null", "absent"}),
            ({"n": {"a": [1, 2]}}, {"nested"}),
            ({"n": 1, "other": "x"}, {"int"}),
            ({}, {"int", "float", "true", "text", "null", "absent", "nested"}),
        ],
        ids=["number", "text", "null", "nested", "two keys", "empty"],
    )
    def test_metadata_equality(
        self, backend: StorageBackend, wanted: dict[str, Any], expected: set[str]
    ) -> None:
        """A metadata filter compares every key as Python does, a missing key being None."""
        values: dict[str, dict[str, Any]] = {
            "int": {"n": 1, "other": "x"},
            "float": {"n": 1.0},
            "true": {"n": True},
            "text": {"n": "1"},
            "null": {"n": None},
            "absent": {},
            "nested": {"n": {"a": [1, 2]}},
        }
        backend.save([make(name, metadata=value) for name, value in values.items()])
        assert set(hit_ids(backend.search(X, metadata_filter=wanted))) == expected

    @pytest.mark.parametrize(
        "filters",
        [
            {"categories": ["rare"]},
            {"metadata_filter": {"rare": True}},
            {"scope_prefix": "/rare"},
            {"categories": ["rare"], "metadata_filter": {"rare": True}},
            {"categories": ["rare"], "scope_prefix": "/rare"},
            {"scope_prefix": "/rare", "metadata_filter": {"rare": True}},
            {"categories": ["rare"], "metadata_filter": {"rare": True}, "scope_prefix": "/rare"},
        ],
        ids="+".join,
    )
    def test_filter_before_cut(self, backend: StorageBackend, filters: dict[str, Any]) -> None:
        """The only match is found behind any number of nearer records that do not match."""
        rare = make("rare", NEAR_X, scope="/rare", categories=["rare"], metadata={"rare": True})
        backend.save([*crowd(categories=["common"], scope="/common"), rare])
        assert hit_ids(backend.search(X, limit=1, **filters)) == ["rare"]

    def test_filters_intersect(self, backend: StorageBackend) -> None:
        """Scope, categories and metadata together give the records that match all three."""
        rows = {
            f"{s}{c}{m}": make(f"{s}{c}{m}", scope=f"/{s}", categories=[c], metadata={"m": m})
            for s, c, m in product("ab", "ab", "ab")
        }
        backend.save(list(rows.values()))
        hits = backend.search(X, scope_prefix="/a", categories=["b"], metadata_filter={"m": "a"})
        assert hit_ids(hits) == ["aba"]

    def test_category_pages_filled(self, backend: StorageBackend) -> None:
        """20 of 20 queries for a category that a fifth of the records have fill their limit."""
        rng = np.random.default_rng(7)
        backend.save(
            [
                make(str(n), row.tolist(), categories=["fifth" if n % 5 == 0 else "rest"])
                for n, row in enumerate(rng.normal(size=(300, 16)))
            ]
        )
        filled = [
            len(backend.search(query.tolist(), categories=["fifth"], limit=10, min_score=-1.0))
            for query in rng.normal(size=(20, 16))
        ]
        assert filled == [10] * 20

    def test_private_returned(self, backend: StorageBackend) -> None:
        """Private records of every source are returned: hiding them is CrewAI's part."""
        backend.save([make("a", source="u1", private=True), make("b", private=True), make("c")])
        assert set(hit_ids(backend.search(X))) == {"a", "b", "c"}
        assert stored_ids(backend) == {"a", "b", "c"}

"""Saving and updating: what replaces what, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from mnemosyne_vcs.testing.crewai.base import (
    BackendContract,
    OpenBackend,
    X,
    Y,
    hit_ids,
    make,
    must_get,
    stored_ids,
)

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend

NOT_JSON: dict[str, Any] = {
    "object": {"value": object()},
    "datetime": {"value": datetime(2025, 1, 1, tzinfo=UTC)},
    "set": {"value": {1, 2}},
    "bytes": {"value": b"raw"},
    "integer key": {1: "value"},
    "nested tuple key": {"value": {(1, 2): "x"}},
}
LONG = [1.0] * 8


class WritingContract(BackendContract):
    """Saving and updating replace whole records by id, or change nothing."""

    def test_save_returns_none(self, backend: StorageBackend) -> None:
        """Saving returns nothing, and the record is there when it returns."""
        result: object = backend.save([make("a")])
        assert result is None
        assert must_get(backend, "a").content == "content of a"

    def test_empty_save(self, open_backend: OpenBackend) -> None:
        """Saving no records does nothing, and fixes no dimension."""
        backend = open_backend()
        backend.save([])
        assert backend.count() == 0
        backend.save([make("long", LONG)])
        assert stored_ids(backend) == {"long"}

    def test_saved_copy(self, backend: StorageBackend) -> None:
        """Changing a record after saving it, or one that was returned, changes nothing stored."""
        record = make("a", list(X), categories=["kept"], metadata={"list": [1]})
        backend.save([record])
        for held in (record, must_get(backend, "a"), backend.search(X)[0][0]):
            held.content = "changed"
            held.categories.append("changed")
            held.metadata["list"].append(2)
            if held.embedding is not None:
                held.embedding[0] = 9.0
        found = must_get(backend, "a")
        assert (found.content, found.categories) == ("content of a", ["kept"])
        assert found.metadata == {"list": [1]}
        assert found.embedding is not None
        assert list(found.embedding) == X

    def test_duplicate_id(self, backend: StorageBackend) -> None:
        """Saving an id again replaces its record."""
        backend.save([make("a", content="old")])
        backend.save([make("a", Y, content="new")])
        assert backend.count() == 1
        assert must_get(backend, "a").content == "new"
        assert [(r.id, r.content) for r, _ in backend.search(Y)] == [("a", "new")]

    def test_duplicate_id_in_batch(self, backend: StorageBackend) -> None:
        """Of two records with one id in a batch, the last one counts."""
        backend.save([make("a", content="first"), make("b"), make("a", content="last")])
        assert backend.count() == 2
        assert must_get(backend, "a").content == "last"

    def test_duplicate_id_across_scopes(self, backend: StorageBackend) -> None:
        """Saving an id again in another scope moves it there."""
        backend.save([make("a", scope="/old")])
        backend.save([make("a", scope="/new")])
        assert (backend.count("/old"), backend.count("/new"), backend.count()) == (0, 1, 1)
        assert must_get(backend, "a").scope == "/new"
        assert backend.list_scopes() == ["/new"]

    @pytest.mark.parametrize("vector", [None, []], ids=["None", "empty"])
    def test_no_embedding(self, backend: StorageBackend, vector: list[float] | None) -> None:
        """A record without a vector is stored and listed, but search never returns it."""
        backend.save([make("bare", vector), make("real", X)])
        assert must_get(backend, "bare").embedding in (None, [])
        assert stored_ids(backend) == {"bare", "real"}
        assert hit_ids(backend.search(X, min_score=-1.0)) == ["real"]

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")], ids=str)
    def test_non_finite_vector(self, backend: StorageBackend, value: float) -> None:
        """A vector with NaN or infinity is a ValueError, and nothing of the batch is saved."""
        backend.save([make("before")])
        batch = [make("good"), make("bad", [value, 0.0, 0.0, 1.0])]
        with pytest.raises(ValueError):
            backend.save(batch)
        assert stored_ids(backend) == {"before"}

    @pytest.mark.parametrize("name", NOT_JSON)
    def test_metadata_not_json(self, backend: StorageBackend, name: str) -> None:
        """Metadata that is not JSON is a TypeError or ValueError, and nothing is saved."""
        backend.save([make("before")])
        bad = make("bad")
        bad.metadata = NOT_JSON[name]
        with pytest.raises((TypeError, ValueError)):
            backend.save([make("good"), bad])
        assert stored_ids(backend) == {"before"}

    def test_update_replaces(self, backend: StorageBackend) -> None:
        """Updating replaces the whole record: no field of the old one stays."""
        backend.save([make("a", categories=["old"], metadata={"old": 1}, source="s", private=True)])
        backend.update(make("a", Y, content="new", created_at=datetime(2020, 2, 2)))
        found = must_get(backend, "a")
        assert (found.content, found.categories, found.metadata) == ("new", [], {})
        assert (found.source, found.private) == (None, False)
        assert found.created_at == datetime(2020, 2, 2)
        assert hit_ids(backend.search(Y, min_score=0.99)) == ["a"]
        assert backend.count() == 1

    def test_update_unknown(self, backend: StorageBackend) -> None:
        """Updating an id that is not there adds the record, also in an empty store."""
        backend.update(make("new"))
        assert stored_ids(backend) == {"new"}

    def test_update_moves(self, backend: StorageBackend) -> None:
        """Updating a record's scope moves it."""
        backend.save([make("a", scope="/old/place"), make("b", scope="/old")])
        backend.update(make("a", scope="/new"))
        assert backend.count("/old") == 1
        assert hit_ids(backend.search(X, scope_prefix="/new")) == ["a"]
        assert backend.list_scopes() == ["/new", "/old"]

    def test_update_refused(self, backend: StorageBackend) -> None:
        """A refused update leaves the record as it was."""
        backend.save([make("a", content="kept")])
        bad = make("a", content="lost", metadata={"value": object()})
        with pytest.raises((TypeError, ValueError)):
            backend.update(bad)
        assert must_get(backend, "a").content == "kept"
        assert backend.count() == 1


class DimensionContract(BackendContract):
    """All vectors of a store have one length, the first one's, until all are replaced or reset."""

    def test_dimension_mixed_batch(self, backend: StorageBackend) -> None:
        """Two lengths in one batch are refused, and nothing is saved."""
        from crewai.memory.storage.backend import EmbeddingDimensionMismatchError

        with pytest.raises(EmbeddingDimensionMismatchError):
            backend.save([make("short"), make("long", LONG)])
        assert backend.count() == 0
        assert backend.get_record("short") is None

    def test_dimension_save(self, open_backend: OpenBackend) -> None:
        """Saving another length raises an error naming both, saves nothing, and so reopened.

        Reported: https://github.com/crewAIInc/crewAI/issues/2464
        """
        from crewai.memory.storage.backend import EmbeddingDimensionMismatchError

        first = open_backend()
        first.save([make("short")])
        for backend in (first, open_backend()):
            with pytest.raises(EmbeddingDimensionMismatchError) as caught:
                backend.save([make("good"), make("long", LONG)])
            assert (caught.value.stored_dim, caught.value.new_dim) == (4, 8)
            assert stored_ids(backend) == {"short"}

    def test_dimension_search(self, open_backend: OpenBackend) -> None:
        """Searching with another length raises an error naming both, and so reopened."""
        from crewai.memory.storage.backend import EmbeddingDimensionMismatchError

        first = open_backend()
        first.save([make("short")])
        for backend in (first, open_backend()):
            with pytest.raises(EmbeddingDimensionMismatchError) as caught:
                backend.search(LONG)
            assert (caught.value.stored_dim, caught.value.new_dim) == (4, 8)

    def test_dimension_update(self, backend: StorageBackend) -> None:
        """Updating one of several with another length raises, and the old record stays whole."""
        from crewai.memory.storage.backend import EmbeddingDimensionMismatchError

        backend.save([make("a", content="kept"), make("b", Y)])
        with pytest.raises(EmbeddingDimensionMismatchError):
            backend.update(make("a", LONG, content="lost"))
        assert must_get(backend, "a").content == "kept"
        assert hit_ids(backend.search(X, min_score=0.5)) == ["a"]

    def test_dimension_of_all(self, open_backend: OpenBackend) -> None:
        """A save that replaces every record may bring another length, and so reopened."""
        backend = open_backend()
        backend.save([make("a"), make("b", Y), make("bare", None)])
        backend.save([make("a", LONG), make("b", LONG, scope="/moved"), make("new", LONG)])
        for each in (backend, open_backend()):
            assert stored_ids(each) == {"a", "b", "bare", "new"}
            assert set(hit_ids(each.search(LONG))) == {"a", "b", "new"}

    def test_dimension_of_the_only_record(self, open_backend: OpenBackend) -> None:
        """Updating the only record may bring another length, and so reopened."""
        backend = open_backend()
        backend.save([make("a")])
        backend.update(make("a", LONG, content="new"))
        for each in (backend, open_backend()):
            assert must_get(each, "a").content == "new"
            assert hit_ids(each.search(LONG)) == ["a"]

    def test_dimension_unfixed(self, open_backend: OpenBackend) -> None:
        """A first record without a vector fixes no dimension, and so reopened."""
        first = open_backend()
        first.save([make("bare", None)])
        assert first.search(X) == []
        backend = open_backend()
        backend.save([make("real")])
        assert hit_ids(backend.search(X)) == ["real"]
        assert stored_ids(backend) == {"bare", "real"}

    def test_dimension_reset(self, backend: StorageBackend) -> None:
        """A full reset allows another length at once, without reopening.

        Reported: https://github.com/crewAIInc/crewAI/issues/2464
        """
        backend.save([make("short")])
        backend.reset(None)
        backend.save([make("long", LONG)])
        assert hit_ids(backend.search(LONG)) == ["long"]

    def test_dimension_scoped_reset(self, backend: StorageBackend) -> None:
        """A reset of one scope keeps the dimension that other records have."""
        from crewai.memory.storage.backend import EmbeddingDimensionMismatchError

        backend.save([make("a", scope="/a"), make("b", scope="/b")])
        backend.reset("/a")
        with pytest.raises(EmbeddingDimensionMismatchError):
            backend.save([make("long", LONG)])

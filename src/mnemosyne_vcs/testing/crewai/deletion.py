"""Deletion of exactly the records that match every given filter."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from mnemosyne_vcs.testing.crewai.base import (
    BackendContract,
    OpenBackend,
    X,
    hit_ids,
    make,
    stored_ids,
)

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend

CUT = datetime(2025, 1, 1)
FILTERS = ("scope_prefix", "record_ids", "categories", "older_than", "metadata_filter")
COMBINATIONS = [c for size in range(1, len(FILTERS) + 1) for c in combinations(FILTERS, size)]


class DeletionContract(BackendContract):
    """Deletion takes the intersection of its filters, and says how many records went."""

    @pytest.mark.parametrize("chosen", COMBINATIONS, ids="+".join)
    def test_delete_intersection(self, backend: StorageBackend, chosen: tuple[str, ...]) -> None:
        """Every combination of filters deletes the records that match all of them.

        Reported: https://github.com/crewAIInc/crewAI/issues/7419
        """
        matches = {
            f"{n:02}": {name for bit, name in enumerate(FILTERS) if n >> bit & 1}
            for n in range(2 ** len(FILTERS))
        }
        backend.save(
            [
                make(
                    record_id,
                    scope="/in/deep" if "scope_prefix" in names else "/out",
                    categories=["in"] if "categories" in names else ["out"],
                    metadata={"in": "metadata_filter" in names},
                    created_at=CUT - timedelta(1) if "older_than" in names else CUT,
                )
                for record_id, names in matches.items()
            ]
        )
        values: dict[str, Any] = {
            "scope_prefix": "/in",
            "record_ids": [i for i, names in matches.items() if "record_ids" in names],
            "categories": ["in"],
            "older_than": CUT,
            "metadata_filter": {"in": True},
        }
        expected = {i for i, names in matches.items() if names.issuperset(chosen)}
        deleted = backend.delete(**{name: values[name] for name in chosen})
        assert set(matches) - stored_ids(backend) == expected
        assert deleted == len(expected)

    def test_delete_scope_and_age(self, backend: StorageBackend) -> None:
        """Deleting what is old in a scope spares the new there and the old elsewhere.

        Reported: https://github.com/crewAIInc/crewAI/pull/6535
        """
        backend.save(
            [
                make("old here", scope="/a", created_at=CUT - timedelta(9)),
                make("new here", scope="/a", created_at=CUT + timedelta(9)),
                make("old at root", scope="/", created_at=CUT - timedelta(9)),
            ]
        )
        assert backend.delete(scope_prefix="/a", older_than=CUT) == 1
        assert stored_ids(backend) == {"new here", "old at root"}

    def test_delete_no_ids(self, backend: StorageBackend) -> None:
        """An empty list of ids deletes nothing."""
        backend.save([make("a"), make("b")])
        assert backend.delete(record_ids=[]) == 0
        assert stored_ids(backend) == {"a", "b"}

    def test_delete_everything(self, backend: StorageBackend) -> None:
        """Deleting without any filter deletes everything."""
        backend.save([make("a"), make("b", scope="/deep/scope")])
        assert backend.delete() == 2
        assert backend.count() == 0
        assert backend.search(X) == []

    def test_delete_unknown_ids(self, backend: StorageBackend) -> None:
        """Unknown ids are ignored and repeated ids count once."""
        backend.save([make("a"), make("b")])
        assert backend.delete(record_ids=["unknown", "a", "a"]) == 1
        assert backend.delete(record_ids=["a"]) == 0
        assert stored_ids(backend) == {"b"}

    def test_older_than_is_strict(self, backend: StorageBackend) -> None:
        """A record of exactly the cutoff's time stays."""
        moments = {"before": -1, "equal": 0, "after": 1}
        backend.save(
            [make(i, created_at=CUT + timedelta(microseconds=n)) for i, n in moments.items()]
        )
        assert backend.delete(older_than=CUT) == 1
        assert stored_ids(backend) == {"equal", "after"}

    @pytest.mark.parametrize("hours", [0, 5, -8])
    @pytest.mark.parametrize("filters", [{}, {"categories": ["c"]}], ids=["alone", "categories"])
    def test_older_than_aware(
        self, backend: StorageBackend, hours: int, filters: dict[str, Any]
    ) -> None:
        """An aware cutoff is compared as an instant.

        Reported: https://github.com/crewAIInc/crewAI/issues/7529
        """
        moments = {"before": -1, "equal": 0, "after": 1}
        backend.save(
            [
                make(i, created_at=CUT + timedelta(minutes=n), categories=["c"])
                for i, n in moments.items()
            ]
        )
        offset = timedelta(hours=hours)
        cut = (CUT + offset).replace(tzinfo=timezone(offset))
        assert backend.delete(older_than=cut, **filters) == 1
        assert stored_ids(backend) == {"equal", "after"}

    def test_delete_in_empty_store(self, backend: StorageBackend) -> None:
        """Deleting and resetting in an empty store is not an error."""
        assert backend.delete() == 0
        assert backend.delete(scope_prefix="/a", record_ids=["x"]) == 0
        backend.reset("/a")
        backend.reset()
        assert backend.count() == 0

    def test_gone_everywhere(self, open_backend: OpenBackend) -> None:
        """A deleted record is gone from every view, also reopened, and may be saved again."""
        backend = open_backend()
        backend.save([make("a", categories=["c"]), make("b")])
        backend.delete(record_ids=["a"])
        for store in (backend, open_backend()):
            assert store.get_record("a") is None
            assert hit_ids(store.search(X)) == ["b"]
            assert stored_ids(store) == {"b"}
            assert store.list_categories() == {}
        backend.save([make("a")])
        assert stored_ids(backend) == {"a", "b"}

    @pytest.mark.parametrize("scope", [None, "", "/", "//"], ids=repr)
    def test_reset_root(self, backend: StorageBackend, scope: str | None) -> None:
        """A reset of the root in any spelling empties the store, which stays usable."""
        backend.save([make("a"), make("b", scope="/b")])
        backend.reset(scope)
        assert (backend.count(), backend.search(X), backend.list_scopes()) == (0, [], [])
        backend.save([make("c")])
        assert stored_ids(backend) == {"c"}

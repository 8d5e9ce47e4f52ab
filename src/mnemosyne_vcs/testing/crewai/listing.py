"""Reading without a query: one record, and pages of records, newest first."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from mnemosyne_vcs.testing.crewai.base import BackendContract, ids, make

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend

START = datetime(2025, 1, 1)


class ListingContract(BackendContract):
    """Records are listed newest first, in pages that neither skip nor repeat."""

    @pytest.fixture
    def ten(self, backend: StorageBackend) -> StorageBackend:
        """Return a backend with records "0" (oldest) to "9" (newest), saved in random order."""
        records = [make(str(n), created_at=START + timedelta(hours=n)) for n in range(10)]
        random.Random(3).shuffle(records)
        backend.save(records[:6])
        backend.save(records[6:])
        return backend

    @pytest.mark.parametrize("filled", [False, True], ids=["empty store", "other records"])
    def test_get_unknown(self, backend: StorageBackend, filled: bool) -> None:
        """An unknown id is None."""
        if filled:
            backend.save([make("a")])
        assert backend.get_record("unknown") is None

    def test_newest_first(self, ten: StorageBackend) -> None:
        """The records are sorted before the page is cut.

        Reported: https://github.com/crewAIInc/crewAI/issues/7394
        """
        assert ids(ten.list_records()) == list("9876543210")
        assert ids(ten.list_records(limit=3)) == ["9", "8", "7"]
        assert ids(ten.list_records(limit=3, offset=3)) == ["6", "5", "4"]
        assert ids(ten.list_records(limit=3, offset=9)) == ["0"]
        assert ten.list_records(limit=3, offset=10) == []

    @pytest.mark.parametrize(("limit", "offset"), [(0, 0), (-1, 0), (3, 50)])
    def test_empty_page(self, ten: StorageBackend, limit: int, offset: int) -> None:
        """A limit of zero or less, or an offset past the end, is an empty page."""
        assert ten.list_records(limit=limit, offset=offset) == []

    def test_ties(self, backend: StorageBackend) -> None:
        """Records of the same time keep their order from page to page."""
        backend.save([make(str(n), created_at=START) for n in range(20)])
        pages = [ids(backend.list_records(limit=3, offset=o)) for o in range(0, 20, 3)]
        assert [i for page in pages for i in page] == ids(backend.list_records())
        assert {i for page in pages for i in page} == {str(n) for n in range(20)}

    def test_microseconds(self, backend: StorageBackend) -> None:
        """Times that differ by a microsecond, or have none, sort by time."""
        times = {"b": START, "c": START + timedelta(microseconds=1), "a": START - timedelta(1)}
        backend.save([make(i, created_at=t) for i, t in times.items()])
        assert ids(backend.list_records()) == ["c", "b", "a"]

    def test_listed_mixed_zones(self, backend: StorageBackend) -> None:
        """Aware and naive datetimes sort by their instant.

        Reported: https://github.com/crewAIInc/crewAI/issues/7529
        """
        times = {
            "second": datetime(2024, 1, 1, 8, 0),
            "first": datetime(2024, 1, 1, 12, 0, tzinfo=timezone(timedelta(hours=5))),
            "third": datetime(2024, 1, 1, 9, 0, tzinfo=UTC),
        }
        backend.save([make(i, created_at=t) for i, t in times.items()])
        assert ids(backend.list_records()) == ["third", "second", "first"]

    def test_page_of_scope(self, backend: StorageBackend) -> None:
        """A page of a scope counts only that scope's records."""
        backend.save(
            [
                make(str(n), scope=f"/{n % 2}", created_at=START + timedelta(hours=n))
                for n in range(10)
            ]
        )
        assert ids(backend.list_records("/1", limit=2, offset=1)) == ["7", "5"]

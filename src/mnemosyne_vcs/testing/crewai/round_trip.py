"""Round trips: saved values are returned unchanged."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta, timezone
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
    from crewai.memory.types import MemoryRecord

TEXTS = {
    "quotes": "it's \"quoted\", `ticked` and ''doubled''",
    "nul": "before\x00after",
    "newlines": "one\ntwo\r\nthree\ttabbed",
    "emoji": "\U0001f9e0 remembers \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "combining": "e\u0301 is not \u00e9",
    "sql": "'; DROP TABLE memories; --",
    "spaces": "  padded  ",
    "empty": "",
}
METADATA: dict[str, dict[str, Any]] = {
    "scalars": {"yes": True, "no": False, "none": None, "int": 7, "float": 0.1, "text": "t"},
    "nested": {"list": [1, [2, {"deep": [None, True]}]], "object": {"a": {"b": "c"}}},
    "odd keys": {"": 1, "a.b": 2, "'quoted'": 3, "\u00fc": 4, "$gt": 5, "/": 6},
    "odd values": {"quote": "it's", "nul": "\x00", "emoji": "\U0001f512", "lines": "a\nb"},
    "empty": {},
}
IDS = [
    "x'; --",
    "a' OR '1'='1",
    '"double"',
    "%",
    "_",
    "\\",
    "nul\x00inside",
    "\U0001f916",
    "with/slash",
    "/",
    "..",
    "../up",
    " spaced ",
    "line\nbreak",
    "%2F",
    "i" * 2000,
]
SCOPES = [
    "/x'; --",
    "/a' OR '1'='1",
    '/"double"',
    "/%",
    "/_",
    "/back\\slash",
    "/nul\x00inside",
    "/\U0001f916",
    "/..",
    "/a/../b",
    "/ spaced ",
    "/line\nbreak",
    "/%2F",
    "/" + "s" * 2000,
]
PLAIN_FIELDS = (
    "id",
    "content",
    "scope",
    "categories",
    "metadata",
    "importance",
    "created_at",
    "last_accessed",
    "source",
    "private",
)


def fields(record: MemoryRecord) -> dict[str, Any]:
    """Return every field of a record but its vector."""
    return {name: getattr(record, name) for name in PLAIN_FIELDS}


def label(text: str) -> str:
    """Name a parameter readably."""
    return ascii(text)[1:-1][:20]


class RoundTripContract(BackendContract):
    """Values survive: every field, every text, every id and scope."""

    def test_every_field(self, open_backend: OpenBackend) -> None:
        """Every field returns unchanged from get_record, search and list_records, also reopened."""
        record = make(
            "full",
            content="Refunds take 14 days",
            scope="/support/refunds",
            categories=["policy", "finance"],
            metadata={"ticket": 4821, "tags": ["a", "b"]},
            importance=0.875,
            created_at=datetime(2025, 3, 4, 5, 6, 7, 89),
            last_accessed=datetime(2025, 4, 5, 6, 7, 8, 901234),
            source="ticket-4821",
            private=True,
        )
        open_backend().save([record])
        reopened = open_backend()
        for found in (
            must_get(reopened, "full"),
            reopened.search(X)[0][0],
            reopened.list_records()[0],
        ):
            assert fields(found) == fields(record)

    @pytest.mark.parametrize("name", TEXTS)
    def test_texts(self, backend: StorageBackend, name: str) -> None:
        """Content and categories keep quotes, NUL, line breaks, emoji and blanks."""
        backend.save([make("t", content=TEXTS[name], categories=[TEXTS[name], "plain"])])
        found = must_get(backend, "t")
        assert (found.content, found.categories) == (TEXTS[name], [TEXTS[name], "plain"])

    def test_half_an_emoji(self, backend: StorageBackend) -> None:
        """Half an emoji in one text of a batch loses no record, and nothing else of the text."""
        broken = make("broken")
        broken.content = "before \ud83d after"
        backend.save([make("good"), broken, make("good too")])
        assert stored_ids(backend) == {"good", "broken", "good too"}
        found = must_get(backend, "broken").content
        assert found.startswith("before ")
        assert found.endswith(" after")

    @pytest.mark.parametrize("name", METADATA)
    def test_metadata(self, backend: StorageBackend, name: str) -> None:
        """Metadata keeps nested JSON, and true stays apart from 1 and 1.0."""
        backend.save([make("m", metadata=METADATA[name])])
        found = must_get(backend, "m").metadata
        assert repr(sorted(found.items())) == repr(sorted(METADATA[name].items()))

    def test_category_order(self, backend: StorageBackend) -> None:
        """Categories keep their order."""
        backend.save([make("c", categories=["zeta", "alpha", "mid"])])
        assert must_get(backend, "c").categories == ["zeta", "alpha", "mid"]

    @pytest.mark.parametrize("importance", [0.0, 0.1, 1 / 3, 1.0])
    def test_importance(self, backend: StorageBackend, importance: float) -> None:
        """Importance is returned as handed over, to the last bit."""
        backend.save([make("i", importance=importance)])
        assert must_get(backend, "i").importance == importance

    def test_source_and_private(self, backend: StorageBackend) -> None:
        """The four combinations of source and private stay apart."""
        expected = {
            "a": (None, False),
            "b": (None, True),
            "c": ("user-1", False),
            "d": ("user-1", True),
        }
        backend.save([make(i, source=s, private=p) for i, (s, p) in expected.items()])
        found = {r.id: (r.source, r.private) for r in backend.list_records()}
        assert found == expected

    def test_aware_datetimes(self, backend: StorageBackend) -> None:
        """A zone-aware datetime comes back as the same instant in naive UTC.

        Reported: https://github.com/crewAIInc/crewAI/issues/7529
        """
        noon = datetime(2024, 1, 1, 12, 0, tzinfo=timezone(timedelta(hours=5)))
        backend.save([make("aware", created_at=noon, last_accessed=noon.astimezone(UTC))])
        found = must_get(backend, "aware")
        expected = datetime(2024, 1, 1, 7, 0)
        assert (found.created_at, found.last_accessed) == (expected, expected)

    def test_embedding(self, backend: StorageBackend) -> None:
        """The vector comes back as its float32 values, neither scaled nor dropped, everywhere."""
        vector = [0.1, -2.5, 3e-7, 40.0]
        backend.save([make("v", vector)])
        expected = list(struct.unpack("4f", struct.pack("4f", *vector)))
        for found in (
            must_get(backend, "v"),
            backend.search(vector)[0][0],
            backend.list_records()[0],
        ):
            assert found.embedding is not None
            assert list(found.embedding) == expected

    @pytest.mark.parametrize("record_id", IDS, ids=label)
    def test_hostile_ids(self, backend: StorageBackend, record_id: str) -> None:
        """Any string is an id, and touches only itself in get, update and delete.

        Reported: https://github.com/crewAIInc/crewAI/pull/4835
        """
        backend.save([make("other"), make(record_id, Y)])
        assert must_get(backend, record_id).content == f"content of {record_id}"
        backend.update(make(record_id, Y, content="changed"))
        assert must_get(backend, record_id).content == "changed"
        assert hit_ids(backend.search(Y, limit=1)) == [record_id]
        assert backend.delete(record_ids=[record_id]) == 1
        assert backend.get_record(record_id) is None
        assert must_get(backend, "other").content == "content of other"

    @pytest.mark.parametrize("scope", SCOPES, ids=label)
    def test_hostile_scopes(self, backend: StorageBackend, scope: str) -> None:
        """Any string is a scope, and matches only itself in search, count, delete and reset.

        Reported: https://github.com/crewAIInc/crewAI/pull/4930
        and https://github.com/crewAIInc/crewAI/issues/3236
        """
        backend.save([make("other", scope="/other"), make("in", scope=scope)])
        assert must_get(backend, "in").scope == scope
        assert hit_ids(backend.search(X, scope_prefix=scope)) == ["in"]
        assert backend.count(scope) == 1
        assert backend.get_scope_info(scope).record_count == 1
        assert backend.delete(scope_prefix=scope) == 1
        backend.save([make("in", scope=scope)])
        backend.reset(scope)
        assert backend.get_record("in") is None
        assert must_get(backend, "other").scope == "/other"

    def test_similar_ids(self, backend: StorageBackend) -> None:
        """Ids that share a long beginning are different ids."""
        names = [f"memory-{n}" for n in range(8, 16)]
        backend.save([make(name) for name in names])
        assert backend.count() == len(names)
        assert backend.delete(record_ids=["memory-12"]) == 1
        contents = {n: must_get(backend, n).content for n in names if n != "memory-12"}
        assert contents == {n: f"content of {n}" for n in contents}

    def test_scope_verbatim(self, backend: StorageBackend) -> None:
        """A scope is returned as it was given, though it is matched in normal form."""
        scopes = {"a": "team", "b": "/team/", "c": "//team//x", "d": "", "e": "/"}
        backend.save([make(i, scope=s) for i, s in scopes.items()])
        assert {i: must_get(backend, i).scope for i in scopes} == scopes

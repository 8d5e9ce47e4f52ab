"""Records that something else has put where CrewAI's are, and texts that no store can hold."""

from datetime import datetime

import pytest

pytest.importorskip("crewai")

from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory

from mnemosyne_vcs import ValidationError
from mnemosyne_vcs.adapters.crewai import MnemosyneStorageBackend

WHOLE = {
    "content": "by hand",
    "scope": "/support",
    "categories": ["c"],
    "metadata": {"k": 1},
    "importance": 0.5,
    "created_at": "2026-01-01T00:00:00",
    "last_accessed": "2026-01-01T00:00:00",
    "source": None,
    "private": False,
}
OTHER_SHAPES = {
    "text": "a text",
    "list": [1, 2],
    "null": None,
    "other fields": {"plan": "Free"},
    "two of the fields": {"content": "x", "created_at": "2026-01-01T00:00:00"},
    "scope is no text": WHOLE | {"scope": None},
    "category is no text": WHOLE | {"categories": [1]},
    "metadata is no object": WHOLE | {"metadata": []},
    "importance is no number": WHOLE | {"importance": "high"},
    "time is no time": WHOLE | {"created_at": "yesterday"},
    "time is out of range": WHOLE | {"last_accessed": "0001-01-01T00:00:00+14:00"},
    "private is no truth value": WHOLE | {"private": 0},
}
OTHER_KEYS = ["/support//r1", "//support/r1", "/support/r%31", "/sup%70ort/r1", "/a%2Fb/r1"]


def record(id: str, content: str = "text", vector: object = (1.0, 0.0), **fields: object):
    embedding = None if vector is None else list(vector)
    return MemoryRecord(id=id, content=content, embedding=embedding, **fields)


@pytest.fixture
def backend(shared_url: str):
    backend = MnemosyneStorageBackend(shared_url, author="crew-test")
    yield backend
    backend.close()


def put(backend: MnemosyneStorageBackend, key: str, content: object, **options: object) -> None:
    backend.repository.put(key, content, **options)


def check_only(backend: MnemosyneStorageBackend, ids: set[str]) -> None:
    """Every way of looking shows these records and no others."""
    n = len(ids)
    assert {r.id for r in backend.list_records()} == ids
    assert {r.id for r, _ in backend.search([1, 0], limit=n + 3)} == ids
    assert {r.id for r, _ in backend.search([1, 0], limit=n)} == ids
    assert {r.id for r, _ in backend.search([1, 0], metadata_filter={"k": 1})} == ids
    assert {r.id for r, _ in backend.search([1, 0], categories=["c"])} == ids
    assert backend.count() == backend.count("/support") == n
    assert backend.list_scopes() == ["/support"]
    assert backend.list_categories() == {"c": n}
    info = backend.get_scope_info("/")
    assert (info.record_count, info.categories) == (n, ["c"])


class TestOtherShapes:
    @pytest.mark.parametrize("shape", OTHER_SHAPES)
    def test_a_record_of_another_shape_is_left_out_everywhere(self, backend, shape):
        good = {"scope": "/support", "categories": ["c"], "metadata": {"k": 1}}
        backend.save([record("a", **good), record("b", vector=[0.9, 0.1], **good)])
        put(backend, "/support/r1", OTHER_SHAPES[shape], embedding=[1, 0])
        check_only(backend, {"a", "b"})
        assert backend.get_record("r1") is None
        assert backend.delete(record_ids=["r1"]) == 0
        assert backend.delete(metadata_filter={"plan": "Free"}) == 0
        assert backend.delete(older_than=datetime(2100, 1, 1), categories=["none"]) == 0
        assert backend.delete(metadata_filter={"k": 1}, record_ids=["a", "r1"]) == 1
        assert backend.delete() == 1
        backend.reset()
        assert list(backend.repository.at()) == ["/support/r1"]
        assert [b.commit.message for b in backend.history("r1")] == ["put /support/r1"]

    @pytest.mark.parametrize("key", OTHER_KEYS)
    def test_a_key_that_the_backend_cannot_make_is_left_out(self, backend, key):
        backend.save([record("a", scope="/support", categories=["c"], metadata={"k": 1})])
        put(backend, key, WHOLE, embedding=[1, 0])
        check_only(backend, {"a"})
        assert backend.get_record("r1") is None

    def test_a_record_put_by_hand_in_the_shape_of_crewais_is_one(self, backend):
        put(backend, "/support/r1", WHOLE | {"more": 1}, embedding=[1, 0])
        check_only(backend, {"r1"})
        assert backend.get_record("r1").content == "by hand"
        put(backend, "/support/r1", WHOLE | {"created_at": "2026-01-01T02:00:00+02:00"})
        assert backend.get_record("r1").created_at == datetime(2026, 1, 1)

    def test_saving_the_same_id_goes_round_or_replaces_it(self, backend):
        put(backend, "/support/r1", "a text", embedding=[1, 0, 0])
        backend.save([record("r1", "first", scope="/sales")])
        assert list(backend.repository.at()) == ["/sales/r1", "/support/r1"]
        backend.save([record("r1", "second", scope="/support")])
        assert list(backend.repository.at()) == ["/support/r1"]
        assert backend.get_record("r1").content == "second"

    def test_its_vector_fixes_no_dimension(self, backend):
        put(backend, "/support/r1", "a text", embedding=[1, 0, 0])
        backend.save([record("a")])
        backend.save([record("b")])
        assert backend.count() == 2


class TestMovedKeys:
    def test_the_scope_follows_the_key(self, backend):
        backend.save([record("r1", scope="//support//"), record("r2", scope="//support//")])
        with backend.repository.transaction() as tx:
            tx.move("/support/r1", "/sales/eu%25/r1")
        assert (backend.count("/sales"), backend.count("/support")) == (1, 1)
        assert backend.list_scopes() == ["/sales", "/support"]
        assert backend.list_scopes("/sales") == ["/sales/eu%"]
        assert backend.get_record("r1").scope == "/sales/eu%"
        assert backend.get_record("r2").scope == "//support//"
        assert [r.scope for r in backend.list_records("/sales")] == ["/sales/eu%"]
        assert [r.scope for r, _ in backend.search([1, 0], "/sales")] == ["/sales/eu%"]
        backend.update(backend.get_record("r1"))
        assert "/sales/eu%25/r1" in backend.repository.at()

    def test_a_record_moved_to_the_top_is_in_the_top_scope(self, backend):
        backend.save([record("r1", scope="/support")])
        with backend.repository.transaction() as tx:
            tx.move("/support/r1", "/r1")
        assert backend.get_record("r1").scope == "/"
        assert backend.list_scopes() == []


class TestDoubledIds:
    """Two records with one id, which only something else than a backend can put there."""

    @pytest.fixture
    def doubled(self, backend):
        backend.save([record("r", "old", scope="/b", metadata={"k": 1}), record("other")])
        old = backend.repository.at()["/b/r"]
        put(backend, "/a/r", old.content | {"content": "new"}, embedding=[1, 0])
        assert backend.count() == 3
        return backend

    def test_get_gives_the_one_that_was_written_last(self, doubled):
        assert doubled.get_record("r").content == "new"
        old = doubled.repository.at()["/b/r"]
        put(doubled, "/b/r", old.content | {"content": "newer"}, embedding=[1, 0])
        assert doubled.get_record("r").content == "newer"
        assert doubled.why("r").record.content["content"] == "newer"

    def test_delete_by_id_removes_and_counts_both(self, doubled):
        assert doubled.delete(record_ids=["r", "r"]) == 2
        assert doubled.get_record("r") is None
        assert doubled.count() == 1

    def test_delete_by_id_heeds_the_other_filters(self, doubled):
        assert doubled.delete(record_ids=["r"], scope_prefix="/a") == 1
        assert doubled.get_record("r").content == "old"

    @pytest.mark.parametrize("scope", ["/a", "/b", "/c"])
    def test_saving_and_updating_leave_one(self, doubled, scope):
        doubled.update(record("r", "updated", scope=scope))
        assert list(doubled.repository.at()) == [f"{scope}/r", "/other"]
        assert doubled.get_record("r").content == "updated"
        assert len(doubled.history("r")) >= 2


class TestDimension:
    def test_a_save_that_replaces_the_only_record_may_bring_another(self, backend):
        backend.save([record("a", scope="/x")])
        backend.save([record("a", vector=[1, 0, 0], scope="/y"), record("b", vector=[0, 1, 0])])
        assert {r.id for r, _ in backend.search([1, 1, 1])} == {"a", "b"}
        with pytest.raises(EmbeddingDimensionMismatchError) as caught:
            backend.update(record("a"))
        assert (caught.value.stored_dim, caught.value.new_dim) == (3, 2)
        assert backend.get_record("a").embedding == [1, 0, 0]

    def test_a_record_whose_embedding_is_taken_away_keeps_none_out(self, backend):
        backend.save([record("a"), record("b")])
        backend.save([record("a", vector=None), record("b", vector=[1, 0, 0])])
        assert [r.id for r, _ in backend.search([1, 0, 0])] == ["b"]

    def test_where_there_are_two_both_can_be_saved(self, backend):
        backend.save([record("a")])
        content = backend.repository.at()["/a"].content
        put(backend, "/b", content, embedding=[1, 0, 0])
        backend.update(record("a", "new"))
        backend.update(record("b", "new", vector=[0, 1, 0]))
        with pytest.raises(EmbeddingDimensionMismatchError):
            backend.save([record("c", vector=[1, 0, 0, 0])])


class TestHalfCharacters:
    def test_what_cannot_be_stored_is_replaced_in_every_field(self, backend):
        backend.save(
            [
                record(
                    "a",
                    "half \ud83d emoji, \ud83d\ude00 whole",
                    scope="/s\ud83d",
                    categories=["c\ude00"],
                    metadata={"k\ud83d": ["\ud83d", ("x",)]},
                    source="t\ud83d",
                ),
                record("b", "fine"),
            ]
        )
        found = backend.get_record("a")
        assert found.content == "half \ufffd emoji, \U0001f600 whole"
        assert (found.scope, found.categories) == ("/s\ufffd", ["c\ufffd"])
        assert found.metadata == {"k\ufffd": ["\ufffd", ["x"]]}
        assert found.source == "t\ufffd"
        assert backend.why("a").record.provenance.source == "t\ufffd"

    def test_looking_for_half_a_character_finds_what_was_saved_with_it(self, backend):
        backend.save(
            [record("a", scope="/s\ud83d", categories=["c\ud83d"], metadata={"k": "\ud83d"})]
        )
        assert backend.count("/s\ud83d") == len(backend.list_records("/s\ud83d")) == 1
        assert backend.list_scopes("/s\ud83d") == []
        assert len(backend.search([1, 0], "/s\ud83d", ["c\ud83d"], {"k": "\ud83d"})) == 1
        assert backend.get_record("\ud83d") is None
        assert backend.delete(record_ids=["\ud83d"]) == 0
        assert backend.delete("/s\ud83d", ["c\ud83d"], None, None, {"k": "\ud83d"}) == 1

    def test_half_a_character_in_an_id_is_refused(self, backend):
        with pytest.raises(ValidationError, match="surrogate"):
            backend.save([record("\ud83d")])

    def test_a_background_save_loses_nothing(self, backend):
        def embed(texts: list[str]) -> list[list[float]]:
            vectors = {"fine": [1.0, 0.0, 0.0], "fine too": [0.0, 1.0, 0.0]}
            return [vectors.get(text, [0.0, 0.0, 1.0]) for text in texts]

        memory = Memory(storage=backend, embedder=embed, llm=object())
        texts = ["fine", "broken \ud83d emoji", "fine too"]
        memory.remember_many(texts, scope="/s", categories=["c"], importance=0.5)
        memory.drain_writes()
        assert {r.content for r in backend.list_records()} == {
            "fine",
            "broken \ufffd emoji",
            "fine too",
        }

"""What CrewAI's memory meets when branches come together, and when the embedding model changes."""

import pytest

pytest.importorskip("crewai")

from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory

from mnemosyne_vcs import ConflictError, DimensionError, ReadOnlyError
from mnemosyne_vcs.adapters.crewai import MnemosyneStorageBackend


def record(id: str, content: str = "text", vector: object = (1.0, 0.0), **fields: object):
    embedding = None if vector is None else list(vector)
    return MemoryRecord(id=id, content=content, embedding=embedding, **fields)


def old_model(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


def new_model(texts: list[str]) -> list[list[float]]:
    return [[1.0, float(len(text)), 2.0] for text in texts]


@pytest.fixture
def backend(shared_url: str):
    backend = MnemosyneStorageBackend(shared_url, author="crew-test")
    yield backend
    backend.close()


def memory(backend: MnemosyneStorageBackend, model: object) -> Memory:
    return Memory(storage=backend, embedder=model, llm=object())


FULL = {"scope": "/s", "categories": ["c"], "importance": 0.5}


class TestReembedding:
    def test_a_memory_goes_on_with_another_model(self, backend):
        memory(backend, old_model).remember("a fact", **FULL)
        backend.save([record("blank", "  ", vector=None)])
        with pytest.raises(EmbeddingDimensionMismatchError):
            memory(backend, new_model).recall("a fact", depth="shallow")
        commit = backend.reembed(new_model, embedder="new")
        assert (commit.author, commit.message) == ("crew-test", "re-embed 1 record with new")
        again = memory(backend, new_model)
        assert [m.record.content for m in again.recall("a fact", depth="shallow")] == ["a fact"]
        again.remember("one more, quite different", **FULL)
        assert backend.count() == 3
        assert backend.get_record("blank").embedding is None
        assert backend.repository.at().dimensions() == [3]

    def test_why_still_names_who_said_it(self, backend):
        backend.save([record("a", "one", source="ticket")])
        backend.update(record("a", "two"))
        backend.reembed(new_model)
        why = backend.why("a")
        assert why.commit.message == "update a"
        assert why.record.provenance.source == "ticket"
        assert len(backend.history("a")) == 3

    def test_only_this_branch_is_changed_and_never_the_past(self, backend):
        backend.save([record("a")])
        trial = backend.on("trial")
        trial.reembed(new_model)
        assert len(backend.get_record("a").embedding) == 2
        assert len(trial.get_record("a").embedding) == 3
        with pytest.raises(ReadOnlyError, match="past"):
            backend.at("main").reembed(new_model)

    def test_what_is_not_crewais_is_embedded_too(self, backend):
        backend.save([record("a")])
        backend.repository.put("/s/note", "a note", embedding=[1, 0])
        backend.repository.put("notes/1", "elsewhere", embedding=[1, 0])
        backend.reembed(new_model)
        snapshot = backend.repository.at()
        assert [len(snapshot[key].embedding) for key in snapshot] == [3, 3, 2]


class TestBranches:
    def test_one_id_in_two_scopes_is_a_conflict(self, backend):
        side = backend.on("side")
        backend.save([record("r", "ours", scope="/a")])
        side.save([record("r", "theirs", scope="/b"), record("other", scope="/b")])
        repository = backend.repository
        with pytest.raises(ConflictError, match="same-id"):
            repository.merge("side")
        repository.merge("side", on_conflict="theirs")
        assert backend.get_record("r").content == "theirs"
        assert (backend.count(), backend.list_scopes()) == (2, ["/b"])
        assert backend.delete(record_ids=["r"]) == 1
        assert backend.get_record("r") is None

    def test_a_record_that_one_side_moved_and_the_other_changed_is_one(self, backend):
        backend.save([record("r", "old", scope="/a")])
        side = backend.on("side")
        moved = backend.get_record("r").model_copy(update={"scope": "/b"})
        moved.embedding = [1.0, 0.0]
        backend.delete(record_ids=["r"])
        backend.save([moved])
        changed = side.get_record("r").model_copy(update={"content": "new"})
        changed.embedding = [1.0, 0.0]
        side.update(changed)
        backend.repository.merge("side")
        assert backend.count() == 1
        assert (backend.get_record("r").content, backend.get_record("r").scope) == ("new", "/b")

    def test_two_dimensions_do_not_come_together_silently(self, backend):
        backend.save([record("a")])
        side = backend.on("side")
        side.reembed(new_model)
        backend.save([record("b", scope="/x")])
        with pytest.raises(DimensionError, match="embeddings of 2 and 3 dimensions"):
            backend.repository.merge("side")
        backend.reembed(new_model)
        backend.repository.merge("side")
        assert len(backend.search([1.0, 1.0, 1.0])) == 2
        backend.save([record("c", vector=[1, 1, 1])])

    def test_a_reset_is_not_taken_back_silently_after_the_model_has_changed(self, backend):
        backend.save([record("a")])
        backend.reset()
        backend.save([record("b", vector=[1, 2, 3])])
        with pytest.raises(DimensionError):
            backend.repository.revert("main~1")
        backend.repository.revert("main~1", allow_mixed_vectors=True)
        backend.reembed(new_model)
        assert {r.id for r, _ in backend.search([1.0, 1.0, 1.0])} == {"a", "b"}

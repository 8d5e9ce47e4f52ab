"""CrewAI's own Memory on the backend, with an offline embedder and no model."""

from __future__ import annotations

import copy
import sys
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal

import pytest

from mnemosyne_vcs.testing.crewai.base import (
    BackendContract,
    OpenBackend,
    ids,
    make,
    must_get,
    stored_ids,
)

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend
    from crewai.memory.types import MemoryMatch
    from crewai.memory.unified_memory import Memory

Depth = Literal["shallow", "deep"]
Build = Callable[..., "Memory"]
FULL: dict[str, Any] = {"categories": ["fact"], "importance": 0.5}
SIZE = 128

both_depths = pytest.mark.parametrize("depth", ["shallow", "deep"])


def embed(texts: list[str]) -> list[list[float]]:
    """Count each text's words in buckets: texts that share words are similar."""
    vectors = [[0.0] * SIZE for _ in texts]
    for vector, text in zip(vectors, texts, strict=True):
        for word in text.lower().split():
            vector[zlib.crc32(word.encode()) % SIZE] += 1.0
    return vectors


def contents(matches: list[MemoryMatch]) -> list[str]:
    """Return the contents of what was recalled, in order."""
    return [match.record.content for match in matches]


class MemoryContract(BackendContract):
    """CrewAI's Memory remembers, recalls, updates and forgets through the backend."""

    @pytest.fixture
    def build(self, backend: StorageBackend) -> Build:
        """Build memories that share the backend."""
        from crewai.memory.unified_memory import Memory

        def memory(**options: Any) -> Memory:
            defaults: dict[str, Any] = {"storage": backend, "embedder": embed, "llm": object()}
            return Memory(**{**defaults, **options})

        return memory

    @both_depths
    def test_memory_remember_and_recall(self, build: Build, depth: Depth) -> None:
        """What is remembered is recalled, the nearest first, in both depths."""
        memory = build()
        memory.remember("refunds take fourteen days", scope="/policy", **FULL)
        memory.remember("the office cat is grey", scope="/trivia", **FULL)
        memory.remember("invoices go out on mondays", scope="/policy", **FULL)
        matches = memory.recall("how long do refunds take", depth=depth, limit=2)
        assert contents(matches)[0] == "refunds take fourteen days"
        assert contents(memory.recall("refunds take", scope="/trivia", depth=depth)) == [
            "the office cat is grey"
        ]

    @both_depths
    def test_memory_remember_many(self, build: Build, depth: Depth) -> None:
        """A recall sees everything that remember_many was given just before."""
        memory = build()
        facts = [f"{word} is number {n}" for n, word in enumerate(("alpha", "beta", "gamma"))]
        memory.remember_many(facts, scope="/facts", **FULL)
        assert set(contents(memory.recall("number", scope="/facts", depth=depth))) == set(facts)

    @both_depths
    def test_memory_private(self, build: Build, depth: Depth) -> None:
        """Recall hides a private record, but not from its own source or include_private."""
        memory = build()
        memory.remember("salary of ann", scope="/hr", source="ann", private=True, **FULL)
        memory.remember("salary of everyone", scope="/hr", source="ann", **FULL)

        def recalled(**options: Any) -> set[str]:
            return set(contents(memory.recall("salary of", scope="/hr", depth=depth, **options)))

        assert recalled() == recalled(source="bob") == {"salary of everyone"}
        assert recalled(source="ann") == {"salary of ann", "salary of everyone"}
        assert recalled(include_private=True) == {"salary of ann", "salary of everyone"}

    @both_depths
    def test_memory_aware_datetimes(
        self, build: Build, backend: StorageBackend, depth: Depth
    ) -> None:
        """Recall scores records that were saved with a zone-aware time.

        Reported: https://github.com/crewAIInc/crewAI/issues/7529
        """
        zone = timezone(timedelta(hours=5))
        [vector] = embed(["old note"])
        backend.save(
            [
                make("1", vector, created_at=datetime(2024, 1, 1, tzinfo=zone)),
                make("2", vector, created_at=datetime(2024, 1, 1, tzinfo=UTC)),
                make("3", vector, created_at=datetime(2024, 1, 1)),
            ]
        )
        assert {m.record.id for m in build().recall("old note", depth=depth)} == {"1", "2", "3"}

    @both_depths
    def test_memory_read_only(self, build: Build, backend: StorageBackend, depth: Depth) -> None:
        """A read-only Memory recalls and leaves every record as it was.

        Reported: https://github.com/crewAIInc/crewAI/issues/7368
        """
        build().remember("a kept fact", scope="/facts", **FULL)
        before = backend.list_records()
        memory = build(read_only=True)
        memory.remember("a lost fact", scope="/facts", **FULL)
        assert contents(memory.recall("kept fact", depth=depth)) == ["a kept fact"]
        assert backend.list_records() == before

    @both_depths
    def test_memory_root_scopes(self, build: Build, depth: Depth) -> None:
        """Memories with roots /thread/a and /thread/ab see and forget nothing of each other.

        Reported: https://github.com/ag-ui-protocol/ag-ui/pull/2253
        """
        one, two = build(root_scope="/thread/a"), build(root_scope="/thread/ab")
        one.remember("secret of one", scope="/x", **FULL)
        two.remember("secret of two", scope="/x", **FULL)
        assert contents(one.recall("secret", depth=depth)) == ["secret of one"]
        assert contents(two.recall("secret", depth=depth)) == ["secret of two"]
        assert [r.content for r in one.list_records()] == ["secret of one"]
        assert (one.info().record_count, one.list_categories()) == (1, {"fact": 1})
        assert one.forget() == 1
        one.reset()
        assert [r.content for r in two.list_records()] == ["secret of two"]

    def test_memory_update_keeps_vector(self, build: Build, backend: StorageBackend) -> None:
        """Updating only metadata keeps the vector, so the record is still found."""
        memory = build()
        record = memory.remember("tea is at four", scope="/facts", **FULL)
        assert record is not None
        memory.update(record.id, metadata={"checked": True}, importance=0.75)
        found = must_get(backend, record.id)
        [(_, score)] = backend.search(embed(["tea is at four"])[0])
        assert score == pytest.approx(1.0, abs=1e-6)
        assert (found.metadata, found.importance) == ({"checked": True}, 0.75)
        [match] = memory.recall("tea is at four", depth="shallow")
        assert match.record.metadata == {"checked": True}

    def test_memory_update_content(self, build: Build) -> None:
        """Updating the content makes the record findable by the new one."""
        memory = build()
        record = memory.remember("tea is at four", scope="/facts", **FULL)
        memory.remember("lunch comes at noon", scope="/facts", **FULL)
        assert record is not None
        memory.update(record.id, content="coffee break whenever")
        assert contents(memory.recall("coffee break", limit=1, depth="shallow")) == [
            "coffee break whenever"
        ]

    def test_memory_blank_first(self, build: Build) -> None:
        """A blank text remembered first does not block the memories that follow."""
        memory = build()
        memory.remember("   ", scope="/facts", **FULL)
        memory.remember("tea is at four", scope="/facts", **FULL)
        assert contents(memory.recall("tea", depth="shallow")) == ["tea is at four"]

    def test_memory_forget(self, build: Build) -> None:
        """Forgetting takes the intersection of what is asked, and says how many."""
        memory = build()
        memory.remember("one", scope="/a", categories=["x"], importance=0.5)
        memory.remember("two", scope="/a", categories=["y"], importance=0.5)
        memory.remember("three", scope="/b", categories=["x"], importance=0.5)
        assert memory.forget(scope="/a", categories=["x"]) == 1
        assert {r.content for r in memory.list_records()} == {"two", "three"}

    def test_memory_scope_view(self, build: Build) -> None:
        """A MemoryScope saves one and many under its root, and recalls only from there.

        Reported: https://github.com/crewAIInc/crewAI/pull/5070
        """
        memory = build()
        view = memory.scope("/agent/x")
        view.remember("note of x", scope="/deep", **FULL)
        view.remember_many(["first of x", "second of x"], **FULL)
        memory.remember("note of y", scope="/agent/y", **FULL)
        expected = {"note of x", "first of x", "second of x"}
        assert set(contents(view.recall("note of x", depth="shallow"))) == expected
        assert {r.content for r in memory.list_records("/agent/x")} == expected

    def test_memory_scope_view_forget(self, build: Build, backend: StorageBackend) -> None:
        """A MemoryScope forgets no record outside its root, even by id."""
        memory = build()
        other = memory.remember("note of y", scope="/agent/y", **FULL)
        mine = memory.remember("note of x", scope="/agent/x", **FULL)
        assert other is not None
        assert mine is not None
        assert memory.scope("/agent/x").forget(record_ids=[other.id, mine.id]) == 1
        assert stored_ids(backend) == {other.id}

    def test_memory_slice_view(self, build: Build) -> None:
        """A MemorySlice recalls from its scopes and from no other."""
        memory = build()
        for scope in ("/a", "/b", "/c", "/ab"):
            memory.remember(f"note under {scope}", scope=scope, **FULL)
        view = memory.slice(["/a", "/b"])
        found = contents(view.recall("note under", depth="shallow"))
        assert set(found) == {"note under /a", "note under /b"}

    def test_memory_tree_and_info(self, build: Build) -> None:
        """The tree shows each scope with the number of records in and below it."""
        memory = build()
        for scope in ("/a", "/a/deep", "/ab"):
            memory.remember(f"note under {scope}", scope=scope, **FULL)
        assert [line.strip() for line in memory.tree().splitlines()] == [
            "/ (3 records)",
            "/a (2 records)",
            "/a/deep (1 records)",
            "/ab (1 records)",
        ]
        assert memory.info("/a").child_scopes == ["/a/deep"]
        assert memory.list_scopes() == ["/a", "/ab"]

    def test_memory_reset(self, build: Build, backend: StorageBackend) -> None:
        """reset() empties the root scope only; reset_all() empties the store."""
        memory = build(root_scope="/crew")
        memory.remember("inside", scope="/x", **FULL)
        build().remember("outside", scope="/crew-two", **FULL)
        memory.reset()
        assert [r.content for r in backend.list_records()] == ["outside"]
        memory.reset_all()
        assert backend.count() == 0

    def test_memory_new_dimension(self, build: Build) -> None:
        """Another embedder's dimension is reported on save, and accepted after reset_all.

        Reported: https://github.com/crewAIInc/crewAI/issues/2464
        """
        from crewai.memory.storage.backend import EmbeddingDimensionMismatchError

        build().remember("old model", scope="/a", **FULL)
        memory = build(embedder=lambda texts: [[1.0, 2.0, 3.0] for _ in texts])  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType]
        with pytest.raises(EmbeddingDimensionMismatchError):
            memory.remember("new model", scope="/a", **FULL)
        memory.reset_all()
        memory.remember("new model", scope="/a", **FULL)
        assert contents(memory.recall("any", depth="shallow")) == ["new model"]

    def test_memory_close(self, build: Build, open_backend: OpenBackend) -> None:
        """Closing a Memory waits for its saves, and it can still save afterwards.

        Reported: https://github.com/crewAIInc/crewAI/pull/6497
        """
        memory = build()
        memory.remember_many(["first fact", "second thing"], scope="/a", **FULL)
        memory.close()
        memory.remember("third item", scope="/a", **FULL)
        memory.close()
        found = {record.content for record in open_backend().list_records()}
        assert found == {"first fact", "second thing", "third item"}

    def test_memories_in_parallel(self, build: Build, backend: StorageBackend) -> None:
        """Several memories save in the background at once, as crews in one process do."""
        memories = [build(root_scope=f"/crew/{n}") for n in range(4)]
        for number, memory in enumerate(memories):
            memory.remember_many([f"{word} {number}" for word in ("a", "b", "c")], "/x", **FULL)
        for memory in memories:
            memory.drain_writes()
        assert [backend.count(f"/crew/{n}") for n in range(4)] == [3] * 4

    def test_memory_agent_copy(self, build: Build, backend: StorageBackend) -> None:
        """A copied agent's memory is the same store.

        Reported: https://github.com/crewAIInc/crewAI/issues/2120
        """
        from crewai import Agent, BaseLLM

        class SilentLLM(BaseLLM):
            """A model that is never asked."""

            def call(self, *arguments: Any, **options: Any) -> str:
                """Refuse to answer."""
                raise NotImplementedError

        memory = build()
        llm = SilentLLM(model="silent")
        agent = Agent(role="r", goal="g", backstory="b", llm=llm, memory=memory)
        memory.remember("known before", scope="/a", **FULL)
        twin: Any = agent.copy().memory
        twin.remember("added later", scope="/a", **FULL)
        assert {r.content for r in backend.list_records()} == {"known before", "added later"}

    @pytest.mark.skipif(
        sys.version_info < (3, 13), reason="CrewAI's Memory has no deep copy before Python 3.13"
    )
    def test_memory_deepcopy(self, build: Build, backend: StorageBackend) -> None:
        """A deep copy of a Memory shares the store.

        Reported: https://github.com/crewAIInc/crewAI/issues/3828
        """
        twin = copy.deepcopy(build())
        twin.remember("through the copy", scope="/a", **FULL)
        assert ids(backend.list_records()) == ids(twin.list_records())
        assert backend.count() == 1

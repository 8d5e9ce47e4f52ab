"""A backend as an object: opened, closed, copied, serialised, used from async code."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from mnemosyne_vcs.testing.crewai.base import (
    BackendContract,
    OpenBackend,
    X,
    Y,
    hit_ids,
    ids,
    load_opener,
    make,
    must_get,
    stored_ids,
)

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend


class LifecycleContract(BackendContract):
    """A backend can be opened again, closed, copied and used from async code."""

    def test_protocol(self, backend: StorageBackend) -> None:
        """The backend has every method of CrewAI's StorageBackend protocol."""
        from crewai.memory.storage.backend import StorageBackend

        assert isinstance(backend, StorageBackend)

    def test_empty_store(self, backend: StorageBackend) -> None:
        """A new store is empty in every view, and needs no embedder or model to say so.

        Reported: https://github.com/crewAIInc/crewAI/issues/2023
        """
        assert (backend.count(), backend.count("/a")) == (0, 0)
        assert (backend.search(X), backend.list_records(), backend.list_scopes()) == ([], [], [])
        assert backend.list_categories() == {}
        assert backend.get_scope_info("/").record_count == 0

    def test_reopened(self, open_backend: OpenBackend) -> None:
        """A reopened store holds what was saved, updated and deleted."""
        first = open_backend()
        first.save([make("a"), make("b"), make("c", Y)])
        first.update(make("b", content="changed"))
        first.delete(record_ids=["a"])
        again = open_backend()
        assert stored_ids(again) == {"b", "c"}
        assert must_get(again, "b").content == "changed"
        assert hit_ids(again.search(Y, limit=1)) == ["c"]

    @pytest.mark.parametrize(
        "directory", ["with space", "b\u00fcro \u8a18\u61b6", "it's", "100%_x"]
    )
    def test_locations(
        self, open_backend: OpenBackend, locate: Callable[[str], str], directory: str
    ) -> None:
        """A location may hold spaces, quotes and letters of any script.

        Reported: https://github.com/crewAIInc/crewAI/issues/1696
        """
        open_backend(directory).save([make("a")])
        assert stored_ids(load_opener(self.opener)(locate(directory))) == {"a"}

    def test_close(self, backend: StorageBackend) -> None:
        """After close, if there is one, the backend reads and saves as before; closing repeats."""
        backend.save([make("a")])
        close: Callable[[], None] | None = getattr(backend, "close", None)
        if close is None:
            pytest.skip("the backend has no close()")
        close()
        close()
        assert stored_ids(backend) == {"a"}
        backend.save([make("b")])
        assert hit_ids(backend.search(X)) in (["a", "b"], ["b", "a"])
        close()
        assert stored_ids(backend) == {"a", "b"}

    def test_saved_after_close_is_kept(self, open_backend: OpenBackend) -> None:
        """What is saved after close is there for who opens the store later."""
        backend = open_backend()
        close: Callable[[], None] | None = getattr(backend, "close", None)
        if close is None:
            pytest.skip("the backend has no close()")
        close()
        backend.save([make("late")])
        assert stored_ids(open_backend()) == {"late"}

    def test_deepcopy(self, backend: StorageBackend) -> None:
        """A deep copy of a backend shares its store.

        Reported: https://github.com/crewAIInc/crewAI/issues/3828
        """
        backend.save([make("a")])
        twin = copy.deepcopy(backend)
        twin.save([make("b")])
        assert stored_ids(backend) == stored_ids(twin) == {"a", "b"}

    def test_pickle(self, backend: StorageBackend) -> None:
        """Pickling either shares the store or is refused with a TypeError.

        Reported: https://github.com/crewAIInc/crewAI/issues/2593
        """
        backend.save([make("a")])
        try:
            pickled = pickle.dumps(backend)
        except TypeError as error:
            assert "pickle" in str(error).lower()
        else:
            assert stored_ids(pickle.loads(pickled)) == {"a"}

    def test_async(self, backend: StorageBackend) -> None:
        """asave, asearch and adelete do what save, search and delete do."""

        async def use() -> None:
            await backend.asave([make("a", categories=["c"]), make("b", Y), make("c")])
            hits = await backend.asearch(X, categories=["c"], limit=1, min_score=0.5)
            assert hit_ids(hits) == ["a"]
            assert await backend.adelete(record_ids=["a", "b"]) == 2

        asyncio.run(use())
        assert stored_ids(backend) == {"c"}

    def test_async_concurrently(self, backend: StorageBackend) -> None:
        """Async calls that run together all succeed."""

        async def use() -> None:
            await asyncio.gather(*(backend.asave([make(str(n))]) for n in range(10)))
            await asyncio.gather(*(backend.asearch(X) for _ in range(10)))

        asyncio.run(use())
        assert stored_ids(backend) == {str(n) for n in range(10)}

    def test_sync_inside_a_loop(self, backend: StorageBackend) -> None:
        """The synchronous methods work on a thread whose event loop is running."""

        async def use() -> list[str]:
            backend.save([make("a")])
            return hit_ids(backend.search(X))

        assert asyncio.run(use()) == ["a"]

    def test_touch_records(self, backend: StorageBackend) -> None:
        """touch_records, if there is one, ignores unknown ids and moves only last_accessed."""
        touch: Callable[[list[str]], None] | None = getattr(backend, "touch_records", None)
        if touch is None:
            pytest.skip("the backend has no touch_records()")
        backend.save([make("a", categories=["c"], metadata={"k": 1}, source="s", private=True)])
        before = must_get(backend, "a")
        touch([])
        touch(["a", "unknown"])
        after = must_get(backend, "a")
        kept = before.model_copy(update={"last_accessed": after.last_accessed})
        assert after == kept
        assert after.last_accessed >= before.last_accessed
        assert ids(backend.list_records()) == ["a"]


class CheckpointContract(BackendContract):
    """Optional: a Memory with the backend can be part of a CrewAI checkpoint."""

    def test_restore(self, backend: StorageBackend, open_backend: OpenBackend) -> None:
        """A Memory dumps to JSON with the storage as a string, and a factory restores it.

        Reported: https://github.com/crewAIInc/crewAI/issues/5620
        """
        from crewai.memory.storage.factory import set_memory_storage_factory
        from crewai.memory.unified_memory import Memory

        spec = {"provider": "openai", "config": {"api_key": "unused"}}
        backend.save([make("a")])
        memory = Memory(storage=backend, embedder=spec, llm="unused", root_scope="/")
        dumped: dict[str, Any] = memory.model_dump(mode="json")
        assert isinstance(dumped["storage"], str)
        set_memory_storage_factory(
            lambda spec: open_backend() if spec == dumped["storage"] else None
        )
        try:
            restored = Memory.model_validate_json(memory.model_dump_json())
        finally:
            set_memory_storage_factory(None)
        assert ids(restored.list_records()) == ["a"]

    def test_python_dump(self, backend: StorageBackend) -> None:
        """A dump for Python, which Agent.copy uses, passes the instance on as it is."""
        from crewai.memory.unified_memory import Memory

        memory = Memory(storage=backend, embedder=None, llm="unused")
        assert memory.model_dump()["storage"] is backend

"""The same memory in mem0, with a local Qdrant and a local history, without a model.

The program decides what is added, updated and deleted (`infer=False`), so that no judgement of a
model stands between a step and what is remembered. Needs `benchmarks/audit/requirements.txt`.
"""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from benchmarks.audit.memories import CannotAnswerError, Memory, Origin
from benchmarks.audit.runs import Contents, Edit, Step, edits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DIMENSIONS = 32
EVERYTHING = 100_000
USER = "agent"


class Mem0Memory(Memory):
    """mem0's `Memory`; a key is one memory, whose id this class remembers, deleted or not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(exist_ok=True)
        self.memory = open_mem0(path)
        self.ids: dict[str, list[str]] = {}
        self.clock: dict[int, datetime] = {}
        self._live: dict[str, str] = {}

    def take(self, step: Step) -> None:
        facts = {"source": step.source, "step": step.number}
        for key, value in step.puts.items():
            if key in self._live:
                self.memory.update(self._live[key], text=value, metadata=facts)
            else:
                added = self.memory.add(
                    value, user_id=USER, metadata={"key": key, **facts}, infer=False
                )
                self._live[key] = added["results"][0]["id"]
                self.ids.setdefault(key, []).append(self._live[key])
        for key in step.deletes:
            self.memory.delete(self._live.pop(key))
        self.clock[step.number] = datetime.now(UTC)

    def now(self) -> Contents:
        found = self.memory.get_all(filters={"user_id": USER}, top_k=EVERYTHING)["results"]
        return {each["metadata"]["key"]: each["memory"] for each in found}

    def at(self, step: int) -> Contents:
        found: Contents = {}
        for key, ids in self.ids.items():
            for memory_id in ids:
                for event in self.memory.history(memory_id):
                    if datetime.fromisoformat(event["updated_at"]) <= self.clock[step]:
                        found[key] = event["new_memory"]
        return {key: value for key, value in found.items() if value is not None}

    def went_wrong(self, key: str, wrong: str) -> int:
        for memory_id in self.ids[key]:
            for event in self.memory.history(memory_id):
                if event["new_memory"] == wrong:
                    when = datetime.fromisoformat(event["updated_at"])
                    return next(step for step, end in self.clock.items() if end >= when)
        raise CannotAnswerError

    def origin(self, key: str, at: int | None = None) -> Origin:
        if at is not None:
            raise CannotAnswerError
        facts = self.memory.get(self._live[key])["metadata"]
        return facts["source"], facts["step"]

    def changed_by(self, step: int) -> set[Edit]:
        before = self.at(step - 1) if step else {}
        return edits(before, self.at(step))

    def merge(self, left: tuple[Step, ...], right: tuple[Step, ...]) -> tuple[Contents, set[str]]:
        raise CannotAnswerError

    def size(self) -> int:
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    def close(self) -> None:
        self.memory.close()
        self.memory.vector_store.client.close()


def contradictions(path: Path, said: list[Mapping[str, str]]) -> tuple[int, int]:
    """Tell mem0 in words, with a model that extracts every fact as it was said.

    Args:
        path: where to put the store.
        said: the facts of each message, value by key.

    Returns:
        How many keys are remembered, and how many of those with more than one value.
    """
    memory = open_mem0(path)
    memory.llm = _Extractor()
    for facts in said:
        memory.llm.facts = [f"{key} is {value}" for key, value in facts.items()]
        memory.add("\n".join(memory.llm.facts), user_id=USER)
    values: dict[str, set[str]] = {}
    for each in memory.get_all(filters={"user_id": USER}, top_k=EVERYTHING)["results"]:
        key, value = each["memory"].split(" is ")
        values.setdefault(key, set()).add(value)
    memory.close()
    memory.vector_store.client.close()
    return len(values), sum(len(each) > 1 for each in values.values())


def open_mem0(path: Path) -> Any:
    """A `mem0.Memory` whose files are all under a path, with an embedder that hashes words."""
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(path / "home")}
    from mem0 import Memory as Mem0

    unused = {"api_key": "unused"}
    memory = Mem0.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {
                    "path": str(path / "vectors"),
                    "on_disk": True,
                    "embedding_model_dims": DIMENSIONS,
                },
            },
            "history_db_path": str(path / "history.db"),
            "llm": {"provider": "openai", "config": unused},
            "embedder": {"provider": "openai", "config": unused},
        }
    )
    memory.embedding_model = _HashEmbedder()
    return memory


class _HashEmbedder:
    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return hashed(text)

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [hashed(text) for text in texts]


class _Extractor:
    facts: list[str]

    def generate_response(self, messages: list[dict[str, str]], **_: Any) -> str:
        return json.dumps({"memory": [{"text": fact} for fact in self.facts]})


def hashed(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A vector of a text: the sum of a fixed pseudo-random one for each word, first word triple."""
    vector = [0.0] * dimensions
    for place, word in enumerate(text.split()):
        digest = hashlib.shake_256(word.encode()).digest(dimensions)
        weight = 1 if place else 3
        vector = [a + weight * (b - 127.5) / 127.5 for a, b in zip(vector, digest, strict=True)]
    return vector

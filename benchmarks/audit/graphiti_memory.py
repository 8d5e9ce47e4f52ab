"""The same memory in Graphiti, on its embedded Kuzu driver, with a model that never errs.

A step is an episode. The scripted model extracts from it exactly the facts that the step puts, and
calls an old fact contradicted when it is about the same key: what is measured is what Graphiti
keeps, not how well a model reads. Needs `benchmarks/audit/requirements.txt`.
"""

from __future__ import annotations

import asyncio
import os
import re
import warnings
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

os.environ |= {"GRAPHITI_TELEMETRY_ENABLED": "false", "EMBEDDING_DIM": "64"}

from graphiti_core import Graphiti
from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.driver.driver import GraphProvider
from graphiti_core.driver.kuzu_driver import KuzuDriver
from graphiti_core.edges import EntityEdge
from graphiti_core.embedder.client import EmbedderClient
from graphiti_core.errors import GroupsEdgesNotFoundError
from graphiti_core.graph_queries import get_fulltext_indices
from graphiti_core.llm_client import LLMClient
from graphiti_core.nodes import EpisodeType, EpisodicNode

from benchmarks.audit.mem0_memory import hashed
from benchmarks.audit.memories import CannotAnswerError, Memory, Origin
from benchmarks.audit.runs import Contents, Edit, Step

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from pathlib import Path

    from graphiti_core.prompts.models import Message
    from pydantic import BaseModel

START = datetime(2026, 1, 1, tzinfo=UTC)
STEP = timedelta(minutes=1)
GROUP = ""
EXISTING = re.compile(r"<EXISTING FACTS>(.*?)</EXISTING FACTS>", re.DOTALL)
CANDIDATES = re.compile(r"<FACT INVALIDATION CANDIDATES>(.*?)</FACT", re.DOTALL)
NEW = re.compile(r"<NEW FACT>(.*?)</NEW FACT>", re.DOTALL)
INDEXED = re.compile(r"""["']idx["']: (\d+), ["']fact["']: ["'](\S+) is ([^"']*)["']""")


class GraphitiMemory(Memory):
    """A Graphiti graph; a belief is a fact edge from the key's entity to the value's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(exist_ok=True)
        self.model = ScriptedModel()
        self.episodes: dict[int, str] = {}
        self._loop = asyncio.new_event_loop()
        self._graph: Graphiti = self._wait(self._open(path / "graph"))

    async def _open(self, path: Path) -> Graphiti:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            driver = KuzuDriver(str(path))
        for query in get_fulltext_indices(GraphProvider.KUZU):
            await driver.execute_query(query)
        return Graphiti(
            graph_driver=driver,
            llm_client=self.model,
            embedder=HashEmbedder(),
            cross_encoder=NoReranker(),
        )

    def take(self, step: Step) -> None:
        self.model.step = step
        when = START + step.number * STEP
        added = self._wait(
            self._graph.add_episode(
                name=f"step {step.number}",
                episode_body="; ".join(f"{key} is {value}" for key, value in step.puts.items()),
                source_description=step.source,
                reference_time=when,
                source=EpisodeType.text,
            )
        )
        self.episodes[step.number] = added.episode.uuid
        for key in step.deletes:
            self._wait(self._expire(key, when))

    async def _expire(self, key: str, when: datetime) -> None:
        """Graphiti deletes a fact with its past; ending it is left to the program."""
        for edge in await self._edges():
            if edge.invalid_at is None and _fact(edge)[0] == key:
                await edge.load_fact_embedding(self._graph.driver)
                edge.invalid_at = edge.expired_at = when
                await edge.save(self._graph.driver)

    def now(self) -> Contents:
        edges = self._wait(self._edges())
        return dict(_fact(edge) for edge in edges if edge.invalid_at is None)

    def at(self, step: int) -> Contents:
        return {_fact(edge)[0]: _fact(edge)[1] for edge in self._valid(START + step * STEP)}

    def went_wrong(self, key: str, wrong: str) -> int:
        edges = self._wait(self._edges())
        return min(_step(edge) for edge in edges if _fact(edge) == (key, wrong))

    def origin(self, key: str, at: int | None = None) -> Origin:
        when = START + (max(self.episodes) if at is None else at) * STEP
        for edge in self._valid(when):
            if _fact(edge)[0] == key:
                episode = self._wait(EpisodicNode.get_by_uuid(self._graph.driver, edge.episodes[0]))
                return episode.source_description, _step(edge)
        raise CannotAnswerError

    def changed_by(self, step: int) -> set[Edit]:
        when = START + step * STEP
        edges = self._wait(self._edges())
        after = dict(_fact(edge) for edge in edges if edge.valid_at == when)
        before = dict(_fact(edge) for edge in edges if edge.invalid_at == when)
        return {(key, before.get(key), after.get(key)) for key in before.keys() | after.keys()}

    def merge(self, left: tuple[Step, ...], right: tuple[Step, ...]) -> tuple[Contents, set[str]]:
        raise CannotAnswerError

    def size(self) -> int:
        self._wait(self._graph.driver.execute_query("CHECKPOINT"))
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    def close(self) -> None:
        self._wait(self._graph.close())
        self._loop.close()

    def _valid(self, when: datetime) -> list[EntityEdge]:
        return [
            edge
            for edge in self._wait(self._edges())
            if edge.valid_at is not None
            and edge.valid_at <= when
            and (edge.invalid_at is None or edge.invalid_at > when)
        ]

    async def _edges(self) -> list[EntityEdge]:
        try:
            edges = await EntityEdge.get_by_group_ids(self._graph.driver, [GROUP])
        except GroupsEdgesNotFoundError:
            return []
        for edge in edges:
            edge.valid_at, edge.invalid_at = _utc(edge.valid_at), _utc(edge.invalid_at)
        return edges

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


def _utc(when: datetime | None) -> datetime | None:
    """Kuzu gives UTC times without their zone."""
    return when if when is None or when.tzinfo else when.replace(tzinfo=UTC)


def _fact(edge: EntityEdge) -> tuple[str, str]:
    key, value = edge.fact.split(" is ")
    return key, value


def _step(edge: EntityEdge) -> int:
    assert edge.valid_at is not None
    return (edge.valid_at - START) // STEP


class ScriptedModel(LLMClient):
    """Reads a step as it was meant."""

    step: Step

    def __init__(self) -> None:
        super().__init__(None)

    async def _generate_response(
        self,
        messages: list[Message],
        response_model: type[BaseModel] | None = None,
        *_: Any,
        **__: Any,
    ) -> dict[str, Any]:
        assert response_model is not None
        match response_model.__name__:
            case "ExtractedEntities":
                names = [name for fact in self.step.puts.items() for name in fact]
                return {
                    "extracted_entities": [{"name": name, "entity_type_id": 0} for name in names]
                }
            case "ExtractedEdges":
                return {"edges": [self._edge(*fact) for fact in self.step.puts.items()]}
            case "EdgeDuplicate":
                return self._contradicted(messages[-1].content)
            case "NodeResolutions":
                return {"entity_resolutions": []}
            case "SummarizedEntities":
                return {"summaries": []}
            case other:
                raise NotImplementedError(other)

    def _edge(self, key: str, value: str) -> Mapping[str, Any]:
        return {
            "source_entity_name": key,
            "target_entity_name": value,
            "relation_type": "IS",
            "fact": f"{key} is {value}",
            "valid_at": (START + self.step.number * STEP).isoformat(),
            "invalid_at": None,
        }

    @staticmethod
    def _contradicted(prompt: str) -> dict[str, list[int]]:
        new = NEW.findall(prompt)[0].split(" is ")[0].split()[-1].strip("\"'")
        facts = INDEXED.findall(EXISTING.findall(prompt)[0] + CANDIDATES.findall(prompt)[0])
        return {
            "duplicate_facts": [],
            "contradicted_facts": [int(number) for number, key, _ in facts if key == new],
        }


class HashEmbedder(EmbedderClient):
    """Vectors from a hash of the words."""

    async def create(self, input_data: Any) -> list[float]:
        return hashed(input_data if isinstance(input_data, str) else input_data[0], 64)

    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        return [hashed(text, 64) for text in input_data_list]


class NoReranker(CrossEncoderClient):
    """Graphiti wants one; nothing here asks it."""

    async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
        return [(passage, 0.0) for passage in passages]

"""Who writes, as found from inside a storage backend that a real CrewAI calls."""

import asyncio
import hashlib
import json
import re
import subprocess
import sys
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from mnemosyne_vcs.adapters.crewai.provenance import (
    Origin,
    _is_executor,
    _origin,
    _SeenAgents,
    current_origin,
    listen,
)

pytest.importorskip("crewai")
pytestmark = [
    pytest.mark.crewai,
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:crewai"),
]

from crewai import Agent, Crew, Task  # noqa: E402
from crewai.events import LiteAgentExecutionStartedEvent, crewai_event_bus  # noqa: E402
from crewai.flow import Flow, start  # noqa: E402
from crewai.llms.base_llm import BaseLLM  # noqa: E402
from crewai.memory import Memory  # noqa: E402
from crewai.memory.types import MemoryRecord, ScopeInfo  # noqa: E402


@dataclass(frozen=True)
class Call:
    method: str
    content: str
    origin: Origin
    thread: str


class RecordingStorage:
    """An in-memory storage backend that notes who calls what."""

    def __init__(self):
        self.records = {}
        self.calls = []
        self.lock = threading.Lock()

    def _note(self, method, content):
        call = Call(method, content, current_origin(), threading.current_thread().name)
        with self.lock:
            self.calls.append(call)

    def save(self, records):
        for record in records:
            self._note("save", record.content)
            self.records[record.id] = record

    def update(self, record):
        self._note("update", record.content)
        self.records[record.id] = record

    def delete(self, scope_prefix=None, categories=None, record_ids=None, older_than=None,
               metadata_filter=None):  # fmt: skip
        doomed = [i for i in record_ids or () if i in self.records]
        for record_id in doomed:
            self._note("delete", self.records.pop(record_id).content)
        return len(doomed)

    def search(self, query_embedding, scope_prefix=None, categories=None, metadata_filter=None,
               limit=10, min_score=0.0):  # fmt: skip
        scored = [
            (record, float(np.dot(query_embedding, record.embedding)))
            for record in list(self.records.values())
        ]
        scored.sort(key=lambda pair: -pair[1])
        return [pair for pair in scored if pair[1] >= min_score][:limit]

    def get_record(self, record_id):
        return self.records.get(record_id)

    def list_records(self, scope_prefix=None, limit=200, offset=0):
        return list(self.records.values())[offset : offset + limit]

    def get_scope_info(self, scope):
        return ScopeInfo(path=scope, record_count=len(self.records))

    def list_scopes(self, parent="/"):
        return []

    def list_categories(self, scope_prefix=None):
        return {}

    def count(self, scope_prefix=None):
        return len(self.records)

    def reset(self, scope_prefix=None):
        self._note("reset", "")
        self.records.clear()

    async def asave(self, records):
        self.save(records)

    async def asearch(self, *args, **kwargs):
        return self.search(*args, **kwargs)

    async def adelete(self, *args, **kwargs):
        return self.delete(*args, **kwargs)


class ScriptedLLM(BaseLLM):
    """Answers from the prompt alone.

    What it extracts from a task names the agent and the task that the prompt names, so each
    saved text says by itself who must have saved it.
    """

    def call(self, messages, tools=None, callbacks=None, available_functions=None,
             from_task=None, from_agent=None, response_model=None):  # fmt: skip
        crewai_event_bus.flush()
        text = messages if isinstance(messages, str) else "\n".join(m["content"] for m in messages)
        if "extract discrete" in text:
            task, agent = re.findall(r"^(?:Content:\n)?(?:Task|Agent): (.*)$", text, re.M)[:2]
            return json.dumps({"memories": [f"{agent} did {task}", f"{task} by {agent} is done"]})
        if "hierarchical memory system" in text:
            return json.dumps({"suggested_scope": "/x", "categories": ["c"], "importance": 0.5})
        if "how to consolidate" in text:
            old, new = re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", text)[:2]
            return json.dumps(
                {
                    "actions": [
                        {"action": "delete", "record_id": old},
                        {"action": "update", "record_id": new, "new_content": "merged"},
                    ],
                    "insert_new": True,
                }
            )
        if "use your tool" in text and "noted with the tool" not in text:
            argument = json.dumps({"contents": ["noted with the tool"]})
            return f"Thought: x\nAction: save_to_memory\nAction Input: {argument}\nObservation:"
        return "Thought: I now can give a great answer\nFinal Answer: done"


def embed(texts):
    """Unit vectors that depend on the text and are nearly orthogonal for any two."""
    seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts]
    vectors = np.array([np.random.default_rng(seed).standard_normal(64) for seed in seeds])
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).tolist()


@pytest.fixture
def storage():
    return RecordingStorage()


@pytest.fixture
def llm():
    return ScriptedLLM(model="scripted")


@pytest.fixture
def memory(storage, llm):
    with_memory = Memory(storage=storage, llm=llm, embedder=embed)
    yield with_memory
    with_memory.close()


@pytest.fixture
def make_crew(memory, llm):
    def make(name, **task):
        reader, clerk = (
            Agent(role=f"{role} of {name}", goal="help", backstory="long", llm=llm)
            for role in ("Reader", "Clerk")
        )
        tasks = [
            Task(description=f"read {{x}} for {name}", expected_output="x", agent=reader, **task),
            Task(
                description=f"file for {name}",
                name=f"filing {name}",
                expected_output="x",
                agent=clerk,
            ),
        ]
        return Crew(agents=[reader, clerk], tasks=tasks, memory=memory, name=name)

    return make


def expected(crew, x):
    """Who must have saved which text in one kickoff of `make_crew(crew)`."""
    reader, clerk = f"Reader of {crew}", f"Clerk of {crew}"
    read, file = f"read {x} for {crew}", f"file for {crew}"
    return {
        f"{reader} did {read}": (reader, read, crew),
        f"{read} by {reader} is done": (reader, read, crew),
        f"{clerk} did {file}": (clerk, f"filing {crew}", crew),
        f"{file} by {clerk} is done": (clerk, f"filing {crew}", crew),
    }


def writers(calls):
    return {call.content: (c.agent, c.task, c.crew) for call in calls if (c := call.origin)}


def runs(calls):
    """The texts saved in each run."""
    found = defaultdict(set)
    for call in calls:
        found[call.origin.run_id].add(call.content)
    return found


class TestCrew:
    def test_each_agent_signs_what_it_learned_in_each_run(self, make_crew, storage):
        crew = make_crew("alpha")
        crew.kickoff(inputs={"x": "mail"})
        first, storage.calls = storage.calls, []
        storage.records.clear()
        crew.kickoff(inputs={"x": "mail"})

        assert writers(first) == writers(storage.calls) == expected("alpha", "mail")
        both = runs(first + storage.calls)
        assert len(both) == 2
        assert None not in both

    def test_what_one_agent_saves_in_one_go_shares_a_save_id(self, make_crew, storage):
        make_crew("alpha").kickoff(inputs={"x": "mail"})

        saves = defaultdict(set)
        for call in storage.calls:
            saves[call.origin.save_id].add(call.origin.agent)
        assert sorted(map(sorted, saves.values())) == [["Clerk of alpha"], ["Reader of alpha"]]
        assert None not in saves

    def test_kickoff_for_each_is_a_run_for_each(self, make_crew, storage):
        make_crew("alpha").kickoff_for_each([{"x": "mail"}, {"x": "notes"}])

        per_run = runs(storage.calls)
        assert len(per_run) == 2
        read = {"read mail for alpha by Reader of alpha is done",
                "read notes for alpha by Reader of alpha is done"}  # fmt: skip
        assert [len(texts & read) for texts in per_run.values()] == [1, 1]

    def test_tasks_that_run_beside_each_other(self, make_crew, storage):
        make_crew("alpha", async_execution=True).kickoff(inputs={"x": "mail"})

        assert writers(storage.calls) == expected("alpha", "mail")
        assert len(runs(storage.calls)) == 1

    def test_the_tool_saves_for_its_agent(self, memory, storage, llm):
        agent = Agent(role="Scribe", goal="note", backstory="long", llm=llm)
        task = Task(description="use your tool", expected_output="x", agent=agent)
        Crew(agents=[agent], tasks=[task], memory=memory, name="desk").kickoff()

        (call,) = (c for c in storage.calls if c.content == "noted with the tool")
        assert (call.origin.agent, call.origin.task) == ("Scribe", "use your tool")
        assert call.origin.crew == "desk"
        assert {c.origin.run_id for c in storage.calls} == {call.origin.run_id}


class TestConcurrency:
    def test_crews_in_threads_never_mix(self, make_crew, storage):
        names = ["alpha", "beta", "gamma", "delta"]
        crews = [make_crew(name) for name in names]
        together = threading.Barrier(len(crews))

        def work(crew):
            together.wait()
            crew.kickoff(inputs={"x": "mail"})

        with ThreadPoolExecutor(len(crews)) as pool:
            list(pool.map(work, crews))

        wanted = {name: expected(name, "mail") for name in names}
        assert writers(storage.calls) == {k: v for each in wanted.values() for k, v in each.items()}
        per_run = sorted(map(sorted, runs(storage.calls).values()))
        assert per_run == sorted(sorted(each) for each in wanted.values())

    def test_crews_on_one_event_loop_never_mix(self, make_crew, storage):
        async def work():
            await asyncio.gather(
                make_crew("alpha").kickoff_async(inputs={"x": "mail"}),
                make_crew("beta").akickoff(inputs={"x": "mail"}),
                make_crew("gamma").kickoff_for_each_async([{"x": "mail"}, {"x": "notes"}]),
            )

        asyncio.run(work())

        gamma = expected("gamma", "mail") | expected("gamma", "notes")
        wanted = expected("alpha", "mail") | expected("beta", "mail") | gamma
        assert {k: v for k, v in writers(storage.calls).items() if k in wanted} == wanted
        assert len(runs(storage.calls)) == 4
        crews = [{c.origin.crew for c in storage.calls if c.origin.run_id == r}
                 for r in runs(storage.calls)]  # fmt: skip
        assert sorted(map(sorted, crews)) == [["alpha"], ["beta"], ["gamma"], ["gamma"]]


class TestFlow:
    def test_a_flow_is_the_run_of_what_happens_in_it(self, memory, make_crew, storage):
        class Desk(Flow):
            @start()
            def work(self):
                self.remember("the flow says")
                make_crew("inner").kickoff(inputs={"x": "mail"})

        for _ in range(2):
            storage.records.clear()
            Desk(memory=memory).kickoff()

        by_flow = [c.origin for c in storage.calls if c.content == "the flow says"]
        assert [(o.agent, o.task, o.crew) for o in by_flow] == [(None, None, "Desk")] * 2
        wanted = {"the flow says": (None, None, "Desk")} | expected("inner", "mail")
        in_first = [c for c in storage.calls if c.origin.run_id == by_flow[0].run_id]
        assert writers(in_first) == wanted
        assert len(runs(storage.calls)) == 2


class TestMemoryAlone:
    def test_outside_a_crew_only_the_save_is_known(self, memory, storage):
        memory.remember("one")
        memory.remember_many(["two", "three"])
        memory.drain_writes()

        one, two, three = (c.origin for c in storage.calls)
        assert Origin(save_id=one.save_id) == one
        assert one.save_id
        assert two == three == Origin(save_id=two.save_id)
        assert len({one.save_id, two.save_id}) == 2

    def test_updating_forgetting_and_resetting_have_no_save(self, memory, storage):
        record = memory.remember("one")
        memory.update(record.id, content="two")
        memory.forget(record_ids=[record.id])
        memory.reset()

        calls = {c.method: c.origin for c in storage.calls[1:]}
        assert calls == {"update": Origin(), "delete": Origin(), "reset": Origin()}

    def test_consolidation_deletes_updates_and_saves_under_one_save_id(self, storage, llm):
        memory = Memory(storage=storage, llm=llm, embedder=embed)
        fields = {"scope": "/", "categories": [], "importance": 0.5}
        for number, text in enumerate(["old", "older"]):
            storage.save([MemoryRecord(id=f"{number:08d}-0000-4000-8000-000000000000",
                                       content=text, embedding=embed(["new"])[0])])  # fmt: skip
        storage.calls.clear()

        memory.remember("new", **fields)
        memory.close()

        assert [c.method for c in storage.calls] == ["delete", "update", "save"]
        assert len({c.origin.save_id for c in storage.calls} - {None}) == 1

    def test_a_thread_without_the_context_knows_its_save_only(self, memory, storage):
        class Desk(Flow):
            @start()
            def work(self):
                thread = threading.Thread(target=memory.remember, args=["from afar"])
                thread.start()
                thread.join()

        Desk(memory=memory).kickoff()

        (call,) = storage.calls
        assert call.origin == Origin(save_id=call.origin.save_id)
        assert call.origin.save_id


class TestAgentAlone:
    def test_each_kickoff_is_a_run_of_its_agent(self, memory, storage, llm):
        listen()
        agent = Agent(role="Solo", goal="g", backstory="b", llm=llm, memory=memory)
        for _ in range(2):
            agent.kickoff("hello")
            memory.drain_writes()

        assert {c.origin.agent for c in storage.calls} == {"Solo"}
        assert {c.origin.crew for c in storage.calls} == {None}
        assert len(runs(storage.calls)) == 2

    def test_a_task_without_a_crew(self, memory, storage, llm):
        listen()
        agent = Agent(role="Solo", goal="g", backstory="b", llm=llm, memory=memory)
        task = Task(description="look", name="looking", expected_output="x", agent=agent)
        agent.execute_task(task)
        memory.drain_writes()

        assert {(c.origin.agent, c.origin.task) for c in storage.calls} == {("Solo", "looking")}

    def test_old_agents_are_forgotten(self):
        seen = _SeenAgents(3)
        events = [
            LiteAgentExecutionStartedEvent(agent_info={"role": f"r{n}"}, tools=[], messages="")
            for n in range(5)
        ]
        for event in events:
            seen.add(self, event)

        assert [seen.get(event.event_id).agent for event in events] == [
            None,
            None,
            "r2",
            "r3",
            "r4",
        ]


class TestOpenEvents:
    @pytest.mark.parametrize(
        ("types", "run"),
        [
            (["crew_kickoff_started"], 0),
            (["flow_started", "agent_execution_started"], 0),
            (["agent_execution_started", "flow_started"], 0),
            (["method_execution_started", "flow_started"], 1),
            (["task_started", "agent_execution_started", "flow_started"], 1),
        ],
    )
    def test_the_run_is_the_outermost_kickoff_whatever_is_being_saved(self, types, run):
        stack = [(f"id{at}", type) for at, type in enumerate(types)]
        assert _origin(stack) == Origin(run_id=f"id{run}")
        saving = [*stack, ("saves", "memory_save_started")]
        assert _origin(saving) == Origin(run_id=f"id{run}", save_id="saves")

    def test_the_flow_that_runs_an_agent_tells_nothing(self):
        stack = [("a", "lite_agent_execution_started"), ("f", "flow_started")]
        assert _is_executor(["lite_agent_execution_started", "flow_started"], 1)
        assert not _is_executor(["flow_started", "agent_execution_started"], 0)
        assert _origin(stack).run_id == "a"


class TestWithoutCrewAI:
    def test_nothing_is_known_outside_crewai(self):
        assert current_origin() == Origin()

    @pytest.mark.parametrize("module", [None, SimpleNamespace()])
    def test_nothing_is_known_when_crewai_offers_no_context(self, monkeypatch, module):
        monkeypatch.setitem(sys.modules, "crewai.context", module)
        assert current_origin() == Origin()

    def test_importing_does_not_import_crewai(self):
        code = (
            "import sys, mnemosyne_vcs.adapters.crewai.provenance;"
            "sys.exit(any(name.partition('.')[0] == 'crewai' for name in sys.modules))"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

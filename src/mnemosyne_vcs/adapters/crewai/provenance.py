"""The origin of a write: agent, task, crew and run, at the moment when CrewAI calls the storage.

CrewAI keeps the chain of open events (`crew_kickoff_started` → `task_started` →
`agent_execution_started` → `memory_save_started` …) in a context variable, and copies the
context into each thread that it uses. `current_origin` reads that chain in the calling
context, so concurrent crews cannot be confused, and looks the events up in CrewAI's own event
record, which is written before `emit` returns.

Only public names of CrewAI are used: `crewai.context.capture_execution_context`,
`crewai.events.crewai_event_bus` and its `runtime_state`. An agent that runs outside any crew or
flow has no event record by the time it saves; `listen` keeps the last such agents in memory.
CrewAI runs listeners in a thread pool, so for these agents, and only for these, the role can
still be unknown when the save arrives.

Unknown fields stay None: a thread that was started without the caller's context has no
chain. A background save that fails at once makes CrewAI close one level too many of its chain;
the agent is then taken from the task.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Origin", "current_origin", "listen"]

_SAVE = "memory_save_started"
_TASK = "task_started"
_AGENTS = frozenset({"agent_execution_started", "lite_agent_execution_started"})
_KICKOFFS = frozenset({"flow_started", "crew_kickoff_started"})
_TELLING = _KICKOFFS | _AGENTS | {_TASK}
_REMEMBERED_AGENTS = 2048


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of one call to the storage. None means unknown.

    Attributes:
        save_id: id of the `remember` or `remember_many` call; all storage calls of one
            such call share it. `update`, `forget` and `reset` have none.
        run_id: id of the outermost kickoff (of a flow, a crew, or an agent on its own); all
            calls within it share it, and the next kickoff has another.
        agent: role of the innermost running agent.
        task: name of that agent's task, or its description when it has no name.
        crew: name of the innermost crew or flow.
    """

    save_id: str | None = None
    run_id: str | None = None
    agent: str | None = None
    task: str | None = None
    crew: str | None = None


_UNKNOWN = Origin()


def current_origin() -> Origin:
    """The origin of a write, from CrewAI's context in the calling thread.

    Returns:
        The origin; empty outside CrewAI, or when CrewAI no longer offers what this reads.
    """
    try:
        stack = import_module("crewai.context").capture_execution_context().event_id_stack
        return _origin(stack) if stack else _UNKNOWN
    except (ImportError, AttributeError, ValueError):
        return _UNKNOWN


@cache
def listen() -> None:
    """Remember, from now on, which agents run outside any crew or flow.

    Calls after the first do nothing.

    Raises:
        ImportError: crewai is missing, or has other events than expected.
    """
    events = import_module("crewai.events")
    try:
        kinds = (events.AgentExecutionStartedEvent, events.LiteAgentExecutionStartedEvent)
        register = events.crewai_event_bus.register_handler
    except AttributeError as error:
        raise ImportError(f"this version of crewai lacks the expected events: {error}") from error
    for kind in kinds:
        register(kind, _seen.add)


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts of one event."""

    agent: str | None = None
    task: str | None = None
    crew: str | None = None


_NOTHING = _Facts()


class _SeenAgents:
    """The facts of the last agents that started, by event id."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._facts: OrderedDict[str, _Facts] = OrderedDict()
        self._lock = Lock()

    def add(self, source: Any, event: Any) -> None:
        with self._lock:
            self._facts[event.event_id] = _facts(event)
            while len(self._facts) > self._limit:
                self._facts.popitem(last=False)

    def get(self, event_id: str) -> _Facts:
        with self._lock:
            return self._facts.get(event_id, _NOTHING)


_seen = _SeenAgents(_REMEMBERED_AGENTS)


def _origin(stack: Sequence[tuple[str, str]]) -> Origin:
    """Fold the chain of open events, outermost first, into an origin."""
    ids, types = zip(*stack, strict=True)
    end = len(types) - types[::-1].index(_SAVE) - 1 if _SAVE in types else len(types)
    chain = [
        (ids[i], types[i])
        for i in range(end)
        if types[i] in _TELLING and not _is_executor(types, i)
    ]
    facts = _innermost_facts(chain)
    return Origin(
        save_id=ids[end] if end < len(ids) else None,
        run_id=next((event_id for event_id, type in chain if type != _TASK), None),
        agent=facts.agent,
        task=facts.task,
        crew=facts.crew,
    )


def _innermost_facts(chain: Sequence[tuple[str, str]]) -> _Facts:
    """Each fact from the innermost event that has it; reads as few events as possible."""
    found = _NOTHING
    for event_id, type in reversed(chain):
        known = found.crew if type in _KICKOFFS else found.agent and found.task
        if not known:
            facts = _look_up(event_id)
            found = _Facts(
                agent=found.agent or facts.agent,
                task=found.task or facts.task,
                crew=found.crew or facts.crew,
            )
    return found


def _is_executor(types: Sequence[str], i: int) -> bool:
    """Whether event `i` is the flow by which CrewAI runs an agent: it opens right inside one."""
    return types[i] == "flow_started" and i > 0 and types[i - 1] in _AGENTS


def _look_up(event_id: str) -> _Facts:
    state = import_module("crewai.events").crewai_event_bus.runtime_state
    node = state.event_record.get(event_id) if state is not None else None
    return _facts(node.event) if node is not None else _seen.get(event_id)


def _facts(event: Any) -> _Facts:
    match event.type:
        case "crew_kickoff_started":
            return _Facts(crew=_text(event, "crew_name"))
        case "flow_started":
            return _Facts(crew=_text(event, "flow_name"))
        case "task_started":
            agent = getattr(getattr(event, "task", None), "agent", None)
            return _Facts(agent=_text(agent, "role"), task=_text(event, "task_name"))
        case "agent_execution_started":
            task = getattr(event, "task", None)
            return _Facts(
                agent=_text(getattr(event, "agent", None), "role"),
                task=_text(task, "name") or _text(task, "description"),
            )
        case "lite_agent_execution_started":
            return _Facts(agent=event.agent_info.get("role"))
        case _:
            return _NOTHING


def _text(thing: Any, name: str) -> str | None:
    """A non-empty text attribute of an event or its part, which a checkpoint may have lost."""
    value = getattr(thing, name, None)
    return value if isinstance(value, str) and value else None

"""A support desk staffed by a real CrewAI crew, whose language model is a set of rules."""

from pathlib import Path
from typing import Any, Self

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.memory import Memory
from crewai.tools import BaseTool

from mnemosyne_vcs.adapters.crewai import MnemosyneStorageBackend
from mnemosyne_vcs.cli.demo import reader
from mnemosyne_vcs.cli.demo.desk import HANDBOOK, Answer, supports
from mnemosyne_vcs.cli.demo.embedder import embed
from mnemosyne_vcs.model import Blame, Commit
from mnemosyne_vcs.repository import Repository

__all__ = ["CrewDesk"]

# With the hashing embedder, any two sentences about a customer's plan are nearer than this.
_SIMILAR = 0.55


class CrewDesk:
    """Agents that learn from documents and answer customers from one memory.

    Args:
        storage: the storage backend that holds the memory.
        read_only: answer only, as over a past state.
    """

    def __init__(self, storage: MnemosyneStorageBackend, *, read_only: bool = False) -> None:
        self._storage = storage
        self._llm = RuleLLM(model="rules")
        self._memory = Memory(
            storage=storage,
            llm=self._llm,
            embedder=embed,
            consolidation_threshold=_SIMILAR,
            read_only=read_only,
        )

    @classmethod
    def open(cls, path: Path) -> Self:
        """A desk with a new memory in a file.

        Raises:
            MnemosyneError: the store cannot be made.
        """
        return cls(MnemosyneStorageBackend(str(path)))

    @property
    def repository(self) -> Repository:
        """The repository that holds the memory."""
        return self._storage.repository

    def learn(self, role: str, *documents: str) -> None:
        """Have one agent read documents, one task each, and note what they say.

        Args:
            role: the agent's role.
            documents: texts that begin with a kind and a number, such as `Ticket 7731: …`.
        """
        agent = self._agent(role, tools=[NoteFact(memory=self._memory)])
        self._kickoff(
            agent,
            *(Task(description=document, name=document.partition(":")[0],
                   expected_output="the fact that was noted", agent=agent)
              for document in documents),
        )  # fmt: skip

    def ask(self, question: str) -> Answer:
        """Have an agent answer a customer from what it recalls.

        Args:
            question: what the customer asks, with `customer NUMBER` in it.

        Returns:
            The answer and the id of the memory that it is based on.
        """
        agent = self._agent("Support agent")
        task = Task(description=question, name="Answer", expected_output="an answer", agent=agent)
        text = self._kickoff(agent, task)
        recalled = (match.record for match in self._memory.recall(question, limit=5))
        ids = (r.id for r in recalled if supports(r.content, question, text))
        return Answer(text, next(ids, None))

    def why(self, evidence: str) -> Blame:
        """Who wrote a memory.

        Args:
            evidence: the memory's id.
        """
        return self._storage.why(evidence)

    def at(self, commit: Commit) -> Self:
        """A desk that answers from the memory at a commit.

        Args:
            commit: the commit.
        """
        return type(self)(self._storage.at(commit), read_only=True)

    def close(self) -> None:
        """Wait for what is still being saved and close the memory and its storage."""
        self._memory.close()

    def _agent(self, role: str, tools: list[BaseTool] | None = None) -> Agent:
        return Agent(
            role=role,
            goal="help each customer on time",
            backstory=HANDBOOK,
            llm=self._llm,
            tools=tools or [],
        )

    def _kickoff(self, agent: Agent, *tasks: Task) -> str:
        crew: Any = Crew(
            agents=[agent],
            tasks=list(tasks),
            memory=self._memory,
            name="support-desk",
            tracing=False,
        )
        return str(crew.kickoff())


class NoteFact(BaseTool):
    """The tool by which an agent keeps a fact together with the document that it came from."""

    name: str = "note_fact"
    description: str = "Keep a fact about a customer, with the document that says so."
    memory: Any

    def _run(self, content: str, customer: str, source: str) -> str:
        self.memory.remember(
            content,
            scope=f"/customers/{customer}",
            categories=["plan"],
            importance=0.8,
            source=source,
        )
        return f"Noted: {content}"


class RuleLLM(BaseLLM):
    """Answers each kind of request that CrewAI makes with one of `reader`'s rules."""

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        """Answer one request.

        Args:
            messages: the prompt, as text or as messages with `content`.
            args: further arguments of CrewAI, which the rules do not need.
            kwargs: the same, by name.

        Returns:
            The answer, in the form that the request asks for.
        """
        prompt = messages if isinstance(messages, str) else _joined(messages)
        if "extract discrete, reusable memory statements" in prompt:
            return '{"memories": []}'
        if "decide how to consolidate" in prompt:
            return reader.consolidate(prompt)
        if "analyze a query for searching memory" in prompt:
            return reader.distil(prompt)
        return reader.respond(prompt)

    def supports_function_calling(self) -> bool:
        """Tools are offered in the text of the prompt."""
        return False

    def get_input_tokens_count(self, *args: Any, **kwargs: Any) -> int:
        """Always 0: rules use no tokens.

        Args:
            args: the request.
            kwargs: the same, by name.

        Returns:
            Always 0.
        """
        return 0


def _joined(messages: list[dict[str, Any]]) -> str:
    return "\n".join(str(message.get("content", "")) for message in messages)

"""What the demo's story needs of a support desk."""

from dataclasses import dataclass
from typing import Protocol, Self

from mnemosyne_vcs.cli.demo import reader
from mnemosyne_vcs.model import Blame, Commit
from mnemosyne_vcs.repository import Repository

__all__ = ["HANDBOOK", "Answer", "Desk", "supports"]

HANDBOOK = "The handbook says: Enterprise within 4 hours, Team within 1 day, Free within 5 days."


@dataclass(frozen=True)
class Answer:
    """What the desk told a customer.

    Attributes:
        text: the answer.
        evidence: the recalled memory that the answer is based on, or None.
    """

    text: str
    evidence: str | None


class Desk(Protocol):
    """Agents that learn from documents and answer customers from one memory."""

    @property
    def repository(self) -> Repository:
        """The repository that holds the memory."""
        ...

    def learn(self, role: str, *documents: str) -> None:
        """Have one agent read documents in one run, one task each, and note what they say."""
        ...

    def ask(self, question: str) -> Answer:
        """Have an agent answer a customer from what it recalls."""
        ...

    def why(self, evidence: str) -> Blame:
        """Who wrote the memory that an answer rests on."""
        ...

    def at(self, commit: Commit) -> Self:
        """A desk that answers from the memory at a commit."""
        ...

    def close(self) -> None:
        """Close the memory."""
        ...


def supports(content: str, question: str, text: str) -> bool:
    """Whether a memory, and not the question alone, leads to an answer.

    Args:
        content: what the memory says.
        question: the customer's question.
        text: the answer.
    """
    return reader.answer(question) != text == reader.answer(f"{question}\n{content}")

"""A support desk as a plain loop: it reads, remembers and recalls with the library."""

import uuid
from pathlib import Path
from typing import Self

import mnemosyne_vcs
from mnemosyne_vcs.cli.demo import reader
from mnemosyne_vcs.cli.demo.desk import HANDBOOK, Answer, supports
from mnemosyne_vcs.cli.demo.embedder import embed
from mnemosyne_vcs.model import Blame, Commit, Provenance, Revision
from mnemosyne_vcs.repository import Repository

__all__ = ["LoopDesk"]

_CUSTOMERS = "customers/"


class LoopDesk:
    """Agents that are `reader`'s rules, and a repository as their memory.

    Args:
        repository: the repository, opened with the demo's `embed`.
        revision: the state of the memory that answers come from.
    """

    def __init__(self, repository: Repository, revision: Revision = "main") -> None:
        self._repository = repository
        self._revision = revision

    @classmethod
    def open(cls, path: Path) -> Self:
        """A desk with a new memory in a file.

        Raises:
            MnemosyneError: the store cannot be made.
        """
        return cls(mnemosyne_vcs.open(path, create=True, author="support-desk", embed=embed))

    @property
    def repository(self) -> Repository:
        """The repository that holds the memory."""
        return self._repository

    def learn(self, role: str, *documents: str) -> None:
        """Have one agent read documents in one run, and note each fact in a commit.

        Args:
            role: the agent's role.
            documents: texts that begin with a kind and a number, such as `Ticket 7731: …`.
        """
        run = str(uuid.uuid4())
        for document in documents:
            fact = reader.read(f"{HANDBOOK}\n{document}")
            if fact is None:
                continue
            with self._repository.transaction(
                author=role, message=f"learn from {fact.source}", trailers={"Run-Id": run}
            ) as tx:
                tx.put(
                    f"{_CUSTOMERS}{fact.customer}/plan",
                    fact.content,
                    embedding=fact.content,
                    provenance=Provenance(
                        source=fact.source,
                        agent=role,
                        task=document.partition(":")[0],
                        run=run,
                    ),
                )

    def ask(self, question: str) -> Answer:
        """Answer a customer from the memories nearest to the question.

        Args:
            question: what the customer asks, with `customer NUMBER` in it.

        Returns:
            The answer and the key of the memory that it is based on.
        """
        memory = self._repository.at(self._revision)
        recalled = [hit.record for hit in memory.search(question, prefix=_CUSTOMERS, limit=5)]
        text = reader.answer("\n".join([question, *(str(record.content) for record in recalled)]))
        keys = (r.key for r in recalled if supports(str(r.content), question, text))
        return Answer(text, next(keys, None))

    def why(self, evidence: str) -> Blame:
        """Who wrote the memory under a key.

        Args:
            evidence: the key.
        """
        return self._repository.blame(evidence, self._revision)

    def at(self, commit: Commit) -> Self:
        """A desk that answers from the memory at a commit.

        Args:
            commit: the commit.
        """
        return type(self)(self._repository, commit)

    def close(self) -> None:
        """Close the repository."""
        self._repository.close()

"""The demo's story: a belief goes wrong, is traced, taken back, and still found in the past."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mnemosyne_vcs.cli.demo.desk import Answer, Desk
from mnemosyne_vcs.errors import AlreadyExistsError
from mnemosyne_vcs.ids import short_id
from mnemosyne_vcs.model import Blame, Commit, moment_text

__all__ = ["Narrator", "Story", "tell"]

_TICKETS = (
    "Ticket 7731: Customer 4821 writes: our import fails. We are on the Enterprise plan, "
    "so we count on an answer within 4 hours.",
    "Ticket 7732: Customer 5120 writes: please change our address. We are on the Team plan now.",
)
_NOTE = (
    "Note 118: Customer 4821 called to ask what a downgrade to Free would change. "
    "Nothing is decided."
)
_QUESTION = "Customer 4821 asks: our import fails again. When will we have an answer?"


class Narrator(Protocol):
    """Where the story is told."""

    def chapter(self, title: str) -> None:
        """Begin a chapter with this title."""
        ...

    def line(self, text: str) -> None:
        """Tell one thing, in a sentence or a line."""
        ...

    def exchange(self, question: str, answer: str) -> None:
        """Show a customer's question and the answer."""
        ...

    def facts(self, facts: Mapping[str, str]) -> None:
        """Show facts by name."""
        ...

    def commands(self, commands: Mapping[str, str]) -> None:
        """Offer commands to type, mapped to what each shows."""
        ...


@dataclass(frozen=True)
class Story:
    """What happened, as found in the store.

    Attributes:
        learned: the newest commit of the first run.
        poisoned: the newest commit of the second run.
        undone: the commit that takes the second run back.
        right: the answer after the first run.
        wrong: the answer after the second run.
        healed: the answer after the undo.
        then: the answer from the memory at `poisoned`.
        before: the answer from the memory at `learned`.
        wrong_blame: who wrote the belief behind `wrong`.
        healed_blame: who wrote the belief behind `healed`.
    """

    learned: Commit
    poisoned: Commit
    undone: Commit
    right: Answer
    wrong: Answer
    healed: Answer
    then: Answer
    before: Answer
    wrong_blame: Blame
    healed_blame: Blame


def tell(path: Path, open_desk: Callable[[Path], Desk], narrator: Narrator) -> Story:
    """Play the story on a new store, and keep the store.

    Args:
        path: the file to create.
        open_desk: makes a desk whose memory is in that file.
        narrator: tells the story meanwhile.

    Returns:
        What happened.

    Raises:
        AlreadyExistsError: the path exists already.
        MnemosyneError: the store cannot be written.
    """
    if path.exists():
        raise AlreadyExistsError(f"{path} exists: remove it or name another file for the demo")
    desk = open_desk(path)
    try:
        right, learned = _first_run(desk, narrator)
        wrong, poisoned = _second_run(desk, narrator)
        narrator.chapter("Where does that answer come from?")
        wrong_blame = _show_blame(desk, wrong, narrator)
        undone = _undo(desk, poisoned, narrator)
        healed = _ask(desk, narrator)
        healed_blame = _show_blame(desk, healed, narrator)
        then, before = _look_back(desk, poisoned, learned, narrator)
    finally:
        desk.close()
    _farewell(path, healed_blame.key, poisoned, narrator)
    return Story(
        learned, poisoned, undone, right, wrong, healed, then, before, wrong_blame, healed_blame
    )


def _first_run(desk: Desk, narrator: Narrator) -> tuple[Answer, Commit]:
    narrator.chapter("Run 1: an agent learns from two tickets")
    for ticket in _TICKETS:
        narrator.line(ticket)
    desk.learn("Onboarding analyst", *_TICKETS)
    _show_commits(desk, None, narrator)
    return _ask(desk, narrator), desk.repository.resolve("main")


def _second_run(desk: Desk, narrator: Narrator) -> tuple[Answer, Commit]:
    before = desk.repository.resolve("main")
    narrator.chapter("Run 2: another agent reads a note, too hastily")
    narrator.line(_NOTE)
    desk.learn("Account reviewer", _NOTE)
    _show_commits(desk, before, narrator)
    return _ask(desk, narrator), desk.repository.resolve("main")


def _undo(desk: Desk, poisoned: Commit, narrator: Narrator) -> Commit:
    narrator.chapter("Take back what that run wrote")
    run = poisoned.trailers["Run-Id"]
    undone = desk.repository.undo(
        trailer=("Run-Id", run), author="support-lead", message="note 118 was misread"
    )
    narrator.line(f"undo run {run}")
    narrator.line(f"commit {_summary(undone)}")
    return undone


def _look_back(
    desk: Desk, poisoned: Commit, learned: Commit, narrator: Narrator
) -> tuple[Answer, Answer]:
    narrator.chapter("What did the agents believe at the time?")
    answers: list[Answer] = []
    for commit in (poisoned, learned):
        narrator.line(f"at {_summary(commit)}")
        answers.append(_ask(desk.at(commit), narrator))
    return answers[0], answers[1]


def _farewell(path: Path, key: str, poisoned: Commit, narrator: Narrator) -> None:
    mnem = f"mnem -s {shlex.quote(str(path))}"
    narrator.chapter(f"The store is yours to explore: {path}")
    narrator.commands(
        {
            f"{mnem} log": "every commit, and who made it",
            f"{mnem} why {shlex.quote(key)}": "who wrote this belief, and from what",
            f"{mnem} show {short_id(poisoned.id)}": "what the misread note changed",
        }
    )


def _ask(desk: Desk, narrator: Narrator) -> Answer:
    answer = desk.ask(_QUESTION)
    narrator.exchange(_QUESTION, answer.text)
    return answer


def _show_blame(desk: Desk, answer: Answer, narrator: Narrator) -> Blame:
    if answer.evidence is None:
        raise RuntimeError(f"no memory supports the answer {answer.text!r}")
    blame = desk.why(answer.evidence)
    known = blame.record.provenance.known() if blame.record is not None else {}
    told = {name: str(known[name]) for name in ("agent", "task", "source", "run") if name in known}
    narrator.facts({"key": blame.key, "commit": _summary(blame.commit), **told})
    return blame


def _show_commits(desk: Desk, since: Commit | None, narrator: Narrator) -> None:
    for commit in reversed(list(desk.repository.log("main"))):
        if since is None or commit.generation > since.generation:
            narrator.line(f"commit {_summary(commit)}")


def _summary(commit: Commit) -> str:
    when = moment_text(commit.timestamp_ms)
    return f"{commit.short_id}  {when}  {commit.author}: {commit.message}"

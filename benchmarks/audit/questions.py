"""Asking a memory about a run, and comparing its answers with the truth."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.audit.memories import CannotAnswerError
from benchmarks.audit.runs import contents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.audit.memories import Memory
    from benchmarks.audit.runs import Run

QUESTIONS = {
    "now": "What does it believe now?",
    "at": "What did it believe at step t?",
    "went_wrong": "When did belief X go wrong?",
    "origin": "Which observation set X?",
    "past_origin": "Which observation set the value that X had at step t?",
    "changed_by": "What did step t change?",
    "merge": "Merge two memories and show the conflicts",
}
SAMPLES = 8


@dataclass
class Tally:
    """The answers to one kind of question.

    Attributes:
        asked: how often it was asked.
        answered: how often there was an answer.
        exact: how often that was the truth.
        seconds: how long each answer took.
    """

    asked: int = 0
    answered: int = 0
    exact: int = 0
    seconds: list[float] = field(default_factory=list[float])

    def ask(self, question: Callable[[], object], truth: object) -> None:
        """Ask once and count."""
        self.asked += 1
        start = time.perf_counter()
        try:
            answer = question()
        except CannotAnswerError:
            return
        self.seconds.append(time.perf_counter() - start)
        self.answered += 1
        self.exact += answer == truth


def live(memory: Memory, run: Run) -> float:
    """Take a whole run; gives the seconds that it took."""
    start = time.perf_counter()
    for step in run.steps:
        memory.take(step)
    return time.perf_counter() - start


def audit(memory: Memory, run: Run) -> dict[str, Tally]:
    """Ask everything about a run that a memory has taken, at sampled steps and keys."""
    tallies = {name: Tally() for name in QUESTIONS}
    for name, question, truth in _questions(memory, run):
        tallies[name].ask(question, truth)
    return tallies


def _questions(memory: Memory, run: Run) -> Iterator[tuple[str, Callable[[], object], object]]:
    choice = random.Random(f"questions {run.seed}")
    last, fault = run.states[-1], run.fault
    yield "now", memory.now, contents(last)
    for step in sampled(run, choice):
        yield "at", lambda step=step: memory.at(step), contents(run.states[step])
        yield from _past_origin(memory, run, step, choice)
        yield "changed_by", lambda step=step: memory.changed_by(step), run.edits(step)
    yield "went_wrong", lambda: memory.went_wrong(fault.key, fault.value), fault.step
    keys = {fault.key, *choice.sample(sorted(last), min(SAMPLES // 2, len(last)))}
    for key in sorted(keys):
        yield "origin", lambda key=key: memory.origin(key), (last[key].source, last[key].step)
    yield "merge", lambda: memory.merge(*run.rivals), (run.settled, set(run.conflicts))


def _past_origin(
    memory: Memory, run: Run, step: int, choice: random.Random
) -> Iterator[tuple[str, Callable[[], object], object]]:
    if state := run.states[step]:
        key = choice.choice(sorted(state))
        truth = state[key].source, state[key].step
        yield "past_origin", lambda: memory.origin(key, step), truth


def sampled(run: Run, choice: random.Random) -> list[int]:
    """Steps to ask about: the first, the last, the faulty one, those around it, and others."""
    count, faulty = len(run.steps), run.fault.step
    steps = {0, count - 1, faulty, max(faulty - 1, 0), min(faulty + 1, count - 1)}
    return sorted(steps | set(choice.sample(range(count), min(SAMPLES, count))))

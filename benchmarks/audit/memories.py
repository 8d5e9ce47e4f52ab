"""What answers the questions, and two memories that a program would write by hand."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from benchmarks.audit.runs import (
    LEFT,
    MAIN,
    RIGHT,
    Contents,
    Edit,
    Model,
    State,
    Step,
    contents,
    edits,
    merged,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Origin = tuple[str, int]


class CannotAnswerError(Exception):
    """The memory does not hold what the question asks for."""


class Memory(ABC):
    """A memory that takes a run step by step and is then asked.

    Every question but `now` and `size` may raise `CannotAnswerError`.
    """

    @abstractmethod
    def take(self, step: Step) -> None:
        """Do a step."""

    @abstractmethod
    def now(self) -> Contents:
        """What does it believe now?"""

    @abstractmethod
    def at(self, step: int) -> Contents:
        """What did the branch of a step believe after it?"""

    @abstractmethod
    def went_wrong(self, key: str, wrong: str) -> int:
        """Which step first gave a key its wrong value?"""

    @abstractmethod
    def origin(self, key: str, at: int | None = None) -> Origin:
        """Which observation set the value that a key has, or had at a step: source and step?"""

    @abstractmethod
    def changed_by(self, step: int) -> set[Edit]:
        """What did a step change?"""

    @abstractmethod
    def merge(self, left: tuple[Step, ...], right: tuple[Step, ...]) -> tuple[Contents, set[str]]:
        """Two agents continue from here: what do they remember together, left prevailing, and in
        which keys do they conflict?
        """

    @abstractmethod
    def size(self) -> int:
        """How many bytes does it take on disk?"""

    @abstractmethod
    def close(self) -> None:
        """Give back files and connections."""


class DictMemory(Memory):
    """A dictionary from key to value: only the present is in it. A branch is a copy."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model = Model()

    def take(self, step: Step) -> None:
        self.model.take(step)

    def now(self) -> Contents:
        return contents(self.model.heads[MAIN])

    def at(self, step: int) -> Contents:
        raise CannotAnswerError

    def went_wrong(self, key: str, wrong: str) -> int:
        raise CannotAnswerError

    def origin(self, key: str, at: int | None = None) -> Origin:
        raise CannotAnswerError

    def changed_by(self, step: int) -> set[Edit]:
        raise CannotAnswerError

    def merge(self, left: tuple[Step, ...], right: tuple[Step, ...]) -> tuple[Contents, set[str]]:
        ours, theirs = (_continued(self.now(), each) for each in (left, right))
        both = ours.keys() | theirs.keys()
        return theirs | ours, {key for key in both if ours.get(key) != theirs.get(key)}

    def size(self) -> int:
        return self.path.write_text(json.dumps(self.now()))

    def close(self) -> None:
        self.model = Model()


class LogMemory(Memory):
    """A file with one line of JSON a step; every answer is a replay of the file.

    The replay knows branches and merges three ways: code that the owner of such a log must write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path.open("a")

    def take(self, step: Step) -> None:
        event: dict[str, Any] = {"step": step.number, "branch": step.branch, "agent": step.agent}
        if step.merges:
            event["merges"] = step.merges
        else:
            event |= {"source": step.source, "puts": step.puts}
            event |= {"deletes": step.deletes} if step.deletes else {}
            event |= {"derived_from": step.derived_from} if step.derived_from else {}
        self.file.write(json.dumps(event) + "\n")
        self.file.flush()

    def now(self) -> Contents:
        return contents(self._replay().heads[MAIN])

    def at(self, step: int) -> Contents:
        return contents(self._at(step))

    def _at(self, step: int) -> State:
        model = Model()
        for event in self._events():
            state = model.take(event)
            if event.number == step:
                return state
        raise CannotAnswerError(f"there is no step {step}")

    def went_wrong(self, key: str, wrong: str) -> int:
        return next(event.number for event in self._events() if event.puts.get(key) == wrong)

    def origin(self, key: str, at: int | None = None) -> Origin:
        belief = (self._replay().heads[MAIN] if at is None else self._at(at))[key]
        return belief.source, belief.step

    def changed_by(self, step: int) -> set[Edit]:
        model = Model()
        for event in self._events():
            if event.number == step:
                before = contents(model.state(event.branch))
                return edits(before, contents(model.take(event)))
            model.take(event)
        raise CannotAnswerError(f"there is no step {step}")

    def merge(self, left: tuple[Step, ...], right: tuple[Step, ...]) -> tuple[Contents, set[str]]:
        for step in (*left, *right):
            self.take(step)
        model = self._replay()
        state, conflicts = merged(model.bases[LEFT], model.heads[LEFT], model.heads[RIGHT])
        return contents(state), conflicts

    def size(self) -> int:
        return self.path.stat().st_size

    def close(self) -> None:
        self.file.close()

    def _replay(self) -> Model:
        model = Model()
        for event in self._events():
            model.take(event)
        return model

    def _events(self) -> Iterator[Step]:
        with self.path.open() as lines:
            for line in lines:
                event = json.loads(line)
                yield Step(
                    event["step"],
                    event["branch"],
                    event["agent"],
                    event.get("source", ""),
                    event.get("puts", {}),
                    tuple(event.get("deletes", ())),
                    merges=event.get("merges"),
                )


def _continued(values: Contents, steps: tuple[Step, ...]) -> Contents:
    for step in steps:
        kept = {key: value for key, value in values.items() if key not in step.deletes}
        values = kept | dict(step.puts)
    return values

"""Synthetic runs of an agent with one planted fault, and the plain model that knows the truth.

A run is a list of steps. Each step observes one source and puts or deletes a few records, on `main`
or on a side branch that is merged back later. One step, chosen at random, misreads its source: the
wrong belief that it puts is the fault. Later steps leave that key alone, but may build on it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

MAIN = "main"
LEFT, RIGHT = "left", "right"
LONGEST = 1024
KEYS = 60
DISPUTED = 8


@dataclass(frozen=True, slots=True)
class Belief:
    """A value, the source that it was read from, and the step that put it."""

    value: str
    source: str
    step: int


State = dict[str, Belief]
Contents = dict[str, str]
Edit = tuple[str, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run.

    A step on a branch that is not there yet begins it at the head of `main`.

    Attributes:
        number: its place in the run, from 0.
        branch: the branch that it works on.
        agent: who works.
        source: what is observed.
        puts: value by key.
        deletes: keys that are forgotten.
        derived_from: for a put key, the key that the value was concluded from.
        merges: the side branch that this step merges into `branch`; it then does nothing else.
    """

    number: int
    branch: str
    agent: str = "agent-0"
    source: str = ""
    puts: Mapping[str, str] = field(default_factory=dict[str, str])
    deletes: tuple[str, ...] = ()
    derived_from: Mapping[str, str] = field(default_factory=dict[str, str])
    merges: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """The wrong belief: its key and value, the step that put it and the source that it misread."""

    key: str
    value: str
    step: int
    source: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run and what is true of it.

    Attributes:
        seed: what it was made from.
        steps: the steps in order.
        states: after each step, the state of the branch that it worked on.
        before: before each step, the state of that branch.
        fault: the planted fault.
        rivals: steps of two agents that both continue from the last state.
        settled: what they remember together, the left one prevailing where they conflict.
        conflicts: the keys in which they conflict.
    """

    seed: int
    steps: tuple[Step, ...]
    states: tuple[State, ...]
    before: tuple[State, ...]
    fault: Fault
    rivals: tuple[tuple[Step, ...], tuple[Step, ...]]
    settled: Contents
    conflicts: frozenset[str]

    def edits(self, step: int) -> set[Edit]:
        """What a step changed: key, value before, value after."""
        before, after = contents(self.before[step]), contents(self.states[step])
        return edits(before, after)


def contents(state: State) -> Contents:
    """The values without where they come from."""
    return {key: belief.value for key, belief in state.items()}


def edits(before: Contents, after: Contents) -> set[Edit]:
    """The keys whose values differ, with both values."""
    return {
        (key, before.get(key), after.get(key))
        for key in before.keys() | after.keys()
        if before.get(key) != after.get(key)
    }


def applied(state: State, step: Step) -> State:
    """The state after a step's puts and deletes."""
    after = {key: belief for key, belief in state.items() if key not in step.deletes}
    after.update((key, Belief(value, step.source, step.number)) for key, value in step.puts.items())
    return after


def merged(base: State, ours: State, theirs: State) -> tuple[State, set[str]]:
    """Two states that both come from a base as one, and the keys in conflict, where ours stays."""
    result: State = {}
    conflicts: set[str] = set()
    for key in base.keys() | ours.keys() | theirs.keys():
        was, our, their = base.get(key), ours.get(key), theirs.get(key)
        taken = their if our == was else our
        if was not in (our, their) and our != their:
            conflicts.add(key)
        if taken is not None:
            result[key] = taken
    return result, conflicts


class Model:
    """The plain model: the state of every branch, copied whole at every step."""

    def __init__(self) -> None:
        self.heads: dict[str, State] = {MAIN: {}}
        self.bases: dict[str, State] = {}

    def take(self, step: Step) -> State:
        """Do a step and give the state that its branch has then."""
        ours = self.state(step.branch)
        if step.merges:
            base, theirs = self.bases.pop(step.merges), self.heads.pop(step.merges)
            self.heads[step.branch], _ = merged(base, ours, theirs)
        else:
            self.heads[step.branch] = applied(ours, step)
        return self.heads[step.branch]

    def state(self, branch: str) -> State:
        """The state of a branch, begun at `main` if it is not there."""
        if branch not in self.heads:
            self.heads[branch] = self.bases[branch] = self.heads[MAIN]
        return self.heads[branch]


def make_run(seed: int, length: int | None = None, *, straight: bool = False) -> Run:
    """The run that a seed stands for.

    Args:
        seed: a different run for each.
        length: how many steps; by default from 1 to `LONGEST`, as the seed has it.
        straight: without side branches.
    """
    return _Maker(seed, length, straight).run()


def length_of(seed: int) -> int:
    """The length of a seed's run: the extremes first, then spread evenly over the magnitudes."""
    if seed < 2:
        return (1, LONGEST)[seed]
    return round(LONGEST ** random.Random(seed).random())


class _Maker:
    def __init__(self, seed: int, length: int | None, straight: bool) -> None:
        self.seed = seed
        self.sides_at_most = 0 if straight else 2
        self.random = random.Random(f"run {seed}")
        self.length = length or length_of(seed)
        self.planted = self.random.randrange(self.length)
        self.fault: Fault | None = None
        self.model = Model()
        self.sides: list[str] = []

    def run(self) -> Run:
        steps: list[Step] = []
        states: list[State] = []
        before: list[State] = []
        for number in range(self.length):
            step = self._step(number)
            steps.append(step)
            before.append(self.model.state(step.branch))
            states.append(self.model.take(step))
        assert self.fault is not None
        shared = self._shared()
        rivals = self._rival(LEFT, shared), self._rival(RIGHT, shared)
        left, right = (self._after(states[-1], side) for side in rivals)
        settled, conflicts = merged(states[-1], left, right)
        return Run(
            self.seed,
            tuple(steps),
            tuple(states),
            tuple(before),
            self.fault,
            rivals,
            contents(settled),
            frozenset(conflicts),
        )

    def _step(self, number: int) -> Step:
        free = self.length - number - (self.planted >= number)
        if self.sides and number != self.planted:
            if free <= len(self.sides) or self.random.random() < 0.15:
                side = self.sides.pop(self.random.randrange(len(self.sides)))
                return Step(number, MAIN, merges=side)
        elif free > 3 and len(self.sides) < self.sides_at_most and self.random.random() < 0.1:
            self.sides.append(f"side-{number}")
            return self._work(number, self.sides[-1])
        return self._work(number, self.random.choice([MAIN, *self.sides]))

    def _work(self, number: int, branch: str) -> Step:
        state = self.model.state(branch)
        keys = self._keys(self.random.randint(1, 3))
        puts = {key: f"value {number}.{place}" for place, key in enumerate(keys)}
        source = f"document-{number}"
        derived: dict[str, str] = {}
        if number == self.planted:
            self.fault = Fault(self._victim(number), f"wrong {number}", number, source)
            puts.pop(self.fault.key, None)
            puts[self.fault.key] = self.fault.value
        elif self.fault and self.fault.key in state and self.random.random() < 0.2:
            derived[keys[0]] = self.fault.key
        deletes = [
            key
            for key in sorted(state)
            if key not in puts and not self._spared(key) and self.random.random() < 0.01
        ]
        agent = f"agent-{self.random.randrange(3)}"
        return Step(number, branch, agent, source, puts, tuple(deletes), derived)

    def _keys(self, count: int) -> list[str]:
        pool = [f"facts/{number:02}" for number in range(KEYS)]
        return self.random.sample([key for key in pool if not self._spared(key)], count)

    def _spared(self, key: str) -> bool:
        return self.fault is not None and key == self.fault.key

    def _victim(self, number: int) -> str:
        """A key on which all branches agree, so that no merge loses the fault."""
        first, *others = self.model.heads.values()
        agreed = [k for k in sorted(first) if all(first[k] == each.get(k) for each in others)]
        return self.random.choice(agreed) if agreed else f"facts/new-{number}"

    def _rival(self, side: str, shared: list[str]) -> tuple[Step, ...]:
        steps: list[Step] = []
        for number in range(self.length, self.length + self.random.randint(1, 4)):
            *put, forgotten = self.random.sample(shared, 3)
            puts = dict.fromkeys(put, f"{side} {number}")
            known = forgotten in self.model.heads[MAIN]
            known = known and not any(forgotten in (*s.puts, *s.deletes) for s in steps)
            deletes = (forgotten,) if known and self.random.random() < 0.3 else ()
            steps.append(Step(number, side, side, f"{side}-document-{number}", puts, deletes))
        return tuple(steps)

    def _shared(self) -> list[str]:
        """Keys that both rivals write to: some that are there and some that are new."""
        there = sorted(self.model.heads[MAIN])
        known = self.random.sample(there, min(DISPUTED // 2, len(there)))
        return known + [f"disputed/{number}" for number in range(DISPUTED - len(known))]

    @staticmethod
    def _after(state: State, steps: tuple[Step, ...]) -> State:
        for step in steps:
            state = applied(state, step)
        return state

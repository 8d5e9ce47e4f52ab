"""Merging against a plain reference: random graphs of commits and merges, criss-cross included."""

import json
import os
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import Repository

BRANCHES = ("main", "one", "two")
KEYS = ("a", "b", "c/d")
WORDS = ("ours", "theirs", "base", "delete")
SWAPPED = {"ours": "theirs", "theirs": "ours", "base": "base", "delete": "delete"}
SCALARS = (0, 1, 1.0, True, None, "", [1], [])

Value = dict[str, Any]
State = dict[str, Value]


# The reference: states are dictionaries, and everything is compared by its JSON text.

ABSENT, UNKNOWN = "<absent>", "<unknown>"


def same(a: Any, b: Any) -> bool:
    return UNKNOWN not in (a, b) and json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def merge_value(base: Any, ours: Any, theirs: Any, path: tuple[str, ...], bad: list[Any]) -> Any:
    if same(ours, theirs):
        return ours
    if same(base, ours) or same(base, theirs):
        return theirs if same(base, ours) else ours
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        bad.append(path)
        return UNKNOWN
    below = base if isinstance(base, dict) else dict.fromkeys([*ours, *theirs], base)
    below = below if base == UNKNOWN or isinstance(base, dict) else {}
    merged = {
        name: merge_value(
            below.get(name, ABSENT),
            ours.get(name, ABSENT),
            theirs.get(name, ABSENT),
            (*path, name),
            bad,
        )
        for name in {**ours, **theirs}
    }
    return {name: value for name, value in merged.items() if value != ABSENT}


def merge_state(base: State, ours: State, theirs: State) -> tuple[State, dict[str, list[Any]]]:
    merged: State = {}
    conflicts: dict[str, list[Any]] = {}
    for key in {**base, **ours, **theirs}:
        bad: list[Any] = []
        sides = (side.get(key, ABSENT) for side in (base, ours, theirs))
        value = merge_value(*sides, (), bad)
        if bad or value == UNKNOWN:
            conflicts[key] = bad
        elif value != ABSENT:
            merged[key] = value
    return merged, conflicts


@dataclass(frozen=True)
class Made:
    id: str
    parents: tuple["Made", ...]
    state: State
    past: frozenset["Made"]
    generation: int

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Made) and self.id == other.id


def made(commit: mnemosyne_vcs.Commit, parents: tuple[Made, ...], state: State) -> Made:
    past = frozenset[Made]().union(*(parent.past | {parent} for parent in parents))
    return Made(commit.id, parents, state, past, commit.generation)


def best_bases(ours: set[Made], theirs: Made) -> list[Made]:
    mine = set[Made]().union(*(head.past | {head} for head in ours))
    common = mine & (theirs.past | {theirs})
    best = [c for c in common if not any(c in other.past for other in common)]
    return sorted(best, key=lambda c: (c.generation, c.id))


def base_state(bases: list[Made]) -> State:
    state = bases[0].state
    for count in range(1, len(bases)):
        below = base_state(best_bases(set(bases[:count]), bases[count]))
        merged, conflicts = merge_state(below, state, bases[count].state)
        state = {**merged, **dict.fromkeys(conflicts, UNKNOWN)}
    return state


# What is done to a repository: steps as data, drawn by Hypothesis or by a seeded generator.


def contents(depth: int = 2) -> st.SearchStrategy[Any]:
    scalars = st.sampled_from(SCALARS)
    if not depth:
        return scalars
    return scalars | st.dictionaries(st.sampled_from("xyz"), contents(depth - 1), max_size=3)


VALUES = st.fixed_dictionaries(
    {"content": contents()},
    optional={"vector": st.sampled_from([[1.0], [2.0]]), "time": st.sampled_from([1, 2])},
)
INDEX = st.integers(0, 30)
STEPS = st.lists(
    st.tuples(st.just("edit"), INDEX, st.dictionaries(st.sampled_from(KEYS), st.none() | VALUES))
    | st.tuples(st.just("merge"), INDEX, st.tuples(INDEX, st.sampled_from(WORDS))),
    max_size=14,
)


def drawn_content(rng: random.Random, depth: int = 2) -> Any:
    if depth and rng.random() < 0.6:
        return {k: drawn_content(rng, depth - 1) for k in "xyz" if rng.random() < 0.5}
    return rng.choice(SCALARS)


def drawn_value(rng: random.Random) -> Value | None:
    if rng.random() < 0.2:
        return None
    value: Value = {"content": drawn_content(rng)}
    if rng.random() < 0.3:
        value["vector"] = rng.choice([[1.0], [2.0]])
    if rng.random() < 0.3:
        value["time"] = rng.choice([1, 2])
    return value


def drawn_steps(rng: random.Random) -> list[Any]:
    steps: list[Any] = []
    for _ in range(rng.randint(6, 16)):
        if rng.random() < 0.5:
            edits = {key: drawn_value(rng) for key in KEYS if rng.random() < 0.5}
            steps.append(("edit", rng.randrange(3), edits))
        else:
            steps.append(
                ("merge", rng.randrange(3), (rng.choice((0, 1, 1, 2, 2, 3, 5)), rng.choice(WORDS)))
            )
    return steps


class World:
    """A repository and what the reference says that it holds."""

    def __init__(self) -> None:
        self.repo = mnemosyne_vcs.open("memory://", create=True)
        first = made(self.repo.resolve(), (), {})
        for name in BRANCHES[1:]:
            self.repo.create_branch(name)
        self.heads = dict.fromkeys(BRANCHES, first)
        self.commits = [first]
        self.seen = Counter[str]()

    def land(self, branch: str, commit: mnemosyne_vcs.Commit, parents: Any, state: State) -> None:
        if commit.id != self.heads[branch].id:
            self.heads[branch] = made(commit, parents, state)
            self.commits.append(self.heads[branch])
        assert values(self.repo, branch) == texts(state)

    def edit(self, number: int, edits: dict[str, Value | None]) -> None:
        branch = BRANCHES[number % len(BRANCHES)]
        head = self.heads[branch]
        state = dict(head.state)
        with self.repo.transaction(branch) as tx:
            for key, value in edits.items():
                if value is not None:
                    vector, moment = value.get("vector"), value.get("time")
                    tx.put(key, value["content"], embedding=vector, event_time=moment)
                    state[key] = value
                elif state.pop(key, None) is not None:
                    tx.delete(key)
        self.land(branch, tx.committed, (head,), state)

    def merge(self, number: int, how: tuple[int, str]) -> None:
        branch = BRANCHES[number % len(BRANCHES)]
        ours, theirs = self.heads[branch], self.commits[-1 - how[0] % len(self.commits)]
        if theirs == ours or theirs in ours.past:
            assert self.repo.merge(theirs.id, into=branch).id == ours.id
            return
        bases = best_bases({ours}, theirs)
        base = base_state(bases)
        state, conflicts = merge_state(base, ours.state, theirs.state)
        self.seen.update(merge=1, crossed=len(bases) > 1, conflict=bool(conflicts))
        self.seen.update(unknown=UNKNOWN in base.values(), apart=ours not in bases)
        plan = self.repo.plan_merge(theirs.id, into=branch)
        assert {c.key: sorted(c.fields) for c in plan.conflicts} == {
            key: sorted(filter(None, map(name, bad))) for key, bad in conflicts.items()
        }
        nothing_lost_or_invented(base, ours.state, theirs.state, state)
        words = {key: how[1] if base.get(key) != UNKNOWN else "theirs" for key in conflicts}
        sides = {
            "ours": ours.state,
            "theirs": theirs.state,
            "base": base,
            "delete": dict[str, Any](),
        }
        for key, word in words.items():
            if key in sides[word]:
                state[key] = sides[word][key]
        self.check_swapped(ours, theirs, words, state)
        commit = self.repo.merge(theirs.id, into=branch, resolutions=words)
        assert commit.parents == (ours.id, theirs.id)
        self.land(branch, commit, (ours, theirs), state)
        assert self.repo.merge(theirs.id, into=branch) == commit

    def check_swapped(self, ours: Made, theirs: Made, words: dict[str, str], state: State) -> None:
        if theirs not in ours.past and ours not in theirs.past:
            self.repo.create_branch("swapped", revision=theirs.id)
            swapped = {key: SWAPPED[word] for key, word in words.items()}
            self.repo.merge(ours.id, into="swapped", resolutions=swapped)
            assert values(self.repo, "swapped") == texts(state)
            self.repo.delete_branch("swapped")

    def run(self, steps: list[Any]) -> None:
        for verb, number, what in steps:
            (self.edit if verb == "edit" else self.merge)(number, what)


def name(path: tuple[str, ...]) -> str | None:
    match path:
        case ():
            return None
        case ("content",):
            return "(content)"
        case ("content", *fields):
            return ".".join(fields)
        case ("vector",):
            return "(embedding)"
        case _:
            return "(event_time)"


def texts(state: State) -> dict[str, str]:
    return {key: json.dumps(value, sort_keys=True) for key, value in state.items()}


def values(repo: Repository, revision: str) -> dict[str, str]:
    found: State = {}
    for record in repo.at(revision).scan():
        value = found[record.key] = {"content": record.content}
        if record.embedding is not None:
            value["vector"] = record.embedding.tolist()
        if record.event_time is not None:
            value["time"] = record.event_time
    return texts(found)


def leaves(value: Any, path: tuple[str, ...] = ()) -> set[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict) and value:
        return set[Any]().union(*(leaves(item, (*path, k)) for k, item in value.items()))
    return {(path, json.dumps(value))}


def nothing_lost_or_invented(base: State, ours: State, theirs: State, merged: State) -> None:
    assert merged.keys() <= ours.keys() | theirs.keys()
    for key, value in merged.items():
        sides = [leaves(side[key]) for side in (ours, theirs) if key in side]
        found = leaves(value)
        emptied = {(path, text) for path, text in found if text == "{}"}
        assert found - emptied <= set[Any]().union(*sides)
        if len(sides) == 2:
            assert sides[0] & sides[1] <= found | {leaf for leaf in sides[0] if leaf[1] == "{}"}
            if base.get(key) not in (None, UNKNOWN):
                old = leaves(base[key])
                new = {leaf for side in sides for leaf in side - old if leaf[1] != "{}"}
                assert new <= found


@given(STEPS)
def test_a_random_graph_agrees_with_the_reference(steps: list[Any]):
    world = World()
    world.run(steps)
    assert world.repo.verify().ok


def test_drawn_graphs_agree_with_the_reference():
    rng = random.Random(20261130)
    seen = Counter[str]()
    for _ in range(150):
        world = World()
        world.run(drawn_steps(rng))
        seen += world.seen
    assert seen.keys() == {"merge", "crossed", "conflict", "unknown", "apart"}, seen


@pytest.mark.soak
def test_a_hundred_thousand_drawn_graphs_agree_with_the_reference():
    seed = int(os.environ.get("MERGE_SEED", random.SystemRandom().randrange(2**32)))
    cases = int(os.environ.get("MERGE_CASES", "100000"))
    seen = Counter[str]()
    for case in range(cases):
        rng = random.Random(f"{seed}/{case}")
        world = World()
        try:
            world.run(drawn_steps(rng))
        except BaseException:
            print(f"seed {seed}, case {case}")
            raise
        seen += world.seen
    print(f"seed {seed}: {cases} graphs agree, with {dict(seen)}")


# Moves: each record carries a mark of its own, and each edit another one.

OLD, NEW = ("r0", "r1", "r2"), ("r0", "r1", "r2", "n0", "n1", "n2")
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["edit", "move", "delete", "add"]),
        st.sampled_from(NEW),
        st.sampled_from(NEW),
    ),
    max_size=5,
)


def do(repo: Repository, branch: str, steps: list[tuple[str, str, str]]) -> None:
    for number, (verb, key, other) in enumerate(steps):
        with repo.transaction(branch) as tx:
            if verb == "add" and key not in tx and key not in OLD:
                tx.put(key, {"is": f"{branch}{number}"})
            elif verb == "edit" and key in tx:
                tx.put(key, {**tx[key].content, branch: number})
            elif verb == "delete" and key in tx:
                tx.delete(key)
            elif verb == "move" and key in tx and other not in tx and other not in OLD:
                tx.move(key, other)


def marks(repo: Repository, revision: str) -> set[tuple[Any, ...]]:
    return {mark for record in repo.at(revision).scan() for mark in marks_of(record)}


def marks_of(record: mnemosyne_vcs.Record | None) -> set[tuple[Any, ...]]:
    if record is None:
        return set()
    return {(record.content["is"], *field) for field in record.content.items()}


def moved_about(ours: list[Any], theirs: list[Any]) -> Repository:
    repo = mnemosyne_vcs.open("memory://", create=True)
    with repo.transaction() as tx:
        for key in OLD:
            tx.put(key, {"is": key})
    repo.create_branch("one")
    repo.create_branch("two")
    do(repo, "one", ours)
    do(repo, "two", theirs)
    return repo


@settings(max_examples=150)
@given(MOVES, MOVES)
def test_moves_lose_and_invent_nothing(ours: list[Any], theirs: list[Any]):
    repo = moved_about(ours, theirs)
    plan = repo.plan_merge("two", into="one")
    swapped = repo.plan_merge("one", into="two")
    assert {c.key for c in plan.conflicts} == {c.key for c in swapped.conflicts}
    before, mine, other = (marks(repo, branch) for branch in ("main", "one", "two"))
    clashing = {
        mark for c in plan.conflicts for record in (c.ours, c.theirs) for mark in marks_of(record)
    }
    if plan.conflicts:
        repo.merge("two", into="one", on_conflict="ours")
        assert (mine | other) - before <= marks(repo, "one") | clashing
    else:
        repo.create_branch("swapped", revision="two")
        repo.merge("one", into="swapped")
        repo.merge("two", into="one")
        merged = marks(repo, "one")
        assert (mine | other) - before <= merged <= mine | other
        assert values(repo, "one") == values(repo, "swapped")
        identities = Counter(record.content["is"] for record in repo.at("one").scan())
        assert max(identities.values(), default=1) == 1
    assert repo.verify().ok

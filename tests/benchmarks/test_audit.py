"""The audit: every question about a run with a planted fault, and its answer compared."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.audit.__main__ import DOCS, PACKAGES, RESULTS
from benchmarks.audit.answers import HOW, READ, TITLES
from benchmarks.audit.memories import DictMemory, LogMemory, Memory
from benchmarks.audit.page import page, verdict
from benchmarks.audit.questions import QUESTIONS, audit, live, sampled
from benchmarks.audit.runs import LONGEST, MAIN, Belief, Contents, length_of, make_run, merged
from benchmarks.audit.sweep import sweep
from benchmarks.audit.versioned import VersionedMemory

QUICK = range(2, 22)
FULL = range(200)


def check_sweep(seeds: Iterable[int]) -> dict[str, Any]:
    result = sweep(seeds)
    assert result["inexact"] == []
    for name in ("log", "mnemosyne"):
        for question, count in result["answers"][name].items():
            assert count["asked"] == count["exact"] > 0, (name, question)
    return result


def test_every_answer_of_twenty_runs_is_exact():
    result = check_sweep(QUICK)
    assert result["merges"] > 50
    assert result["conflicts"] > 10


@pytest.mark.soak
def test_every_answer_of_two_hundred_runs_is_exact():
    result = check_sweep(FULL)
    assert result["lengths"] == [1, LONGEST]
    assert result["faults_on_branches"] > 20


def test_a_fault_on_a_side_branch_is_traced_to_its_own_step(tmp_path: Path):
    run = next(r for r in map(make_run, range(2, 100)) if r.steps[r.fault.step].branch != MAIN)
    memory = VersionedMemory(tmp_path / "memory")
    live(memory, run)
    assert memory.went_wrong(run.fault.key, run.fault.value) == run.fault.step
    assert memory.origin(run.fault.key) == (run.fault.source, run.fault.step)
    memory.close()


def test_a_dict_knows_the_present_and_nothing_of_the_past(tmp_path: Path):
    run = make_run(5, 40)
    memory = DictMemory(tmp_path / "memory")
    live(memory, run)
    tallies = audit(memory, run)
    assert tallies["now"].exact == 1
    past = ("at", "went_wrong", "origin", "past_origin", "changed_by")
    assert all(tallies[name].asked and not tallies[name].answered for name in past)


class Forgetful(LogMemory):
    """A log that answers every question about the past with the present."""

    def at(self, step: int) -> Contents:
        return self.now()


def test_a_wrong_answer_is_counted_as_one(tmp_path: Path):
    run = make_run(5, 40)
    memory: Memory = Forgetful(tmp_path / "memory")
    live(memory, run)
    tally = audit(memory, run)["at"]
    memory.close()
    assert 0 < tally.exact < tally.answered == tally.asked


def test_a_seed_stands_for_one_run():
    assert make_run(7) == make_run(7)
    assert make_run(7, 50).steps != make_run(8, 50).steps
    assert [length_of(seed) for seed in (0, 1)] == [1, LONGEST]
    assert all(1 <= length_of(seed) <= LONGEST for seed in FULL)


@pytest.mark.parametrize("seed", QUICK)
def test_the_fault_is_there_from_its_step_to_the_end(seed: int):
    run = make_run(seed)
    fault = Belief(run.fault.value, run.fault.source, run.fault.step)
    assert run.states[fault.step][run.fault.key] == run.states[-1][run.fault.key] == fault
    assert all(fault not in state.values() for state in run.states[: fault.step])
    assert fault.step in sampled(run, random.Random(seed))


def test_a_straight_run_has_no_branches():
    assert {step.branch for step in make_run(9, 200, straight=True).steps} == {MAIN}
    assert {step.branch for step in make_run(9, 200).steps} > {MAIN}


def test_merging_three_ways():
    a, b, c = (Belief(name, "document", number) for number, name in enumerate("abc"))
    base = {"same": a, "ours": a, "theirs": a, "both": a, "gone": a, "clash": a}
    ours = {"same": a, "ours": b, "theirs": a, "both": b, "clash": b, "new": b}
    theirs = {"same": a, "ours": a, "theirs": c, "both": b, "gone": a, "new": c}
    state, conflicts = merged(base, ours, theirs)
    assert conflicts == {"clash", "new"}
    assert state == {"same": a, "ours": b, "theirs": c, "both": b, "clash": b, "new": b}


@pytest.mark.parametrize(
    ("answered", "exact", "expected"),
    [(9, 9, "exact"), (9, 8, "approximate"), (8, 8, "approximate"), (0, 0, "not possible")],
)
def test_a_verdict_says_what_the_answers_were(answered: int, exact: int, expected: str):
    assert verdict({"asked": 9, "answered": answered, "exact": exact}) == expected


def test_every_question_is_answered_in_words_for_every_memory():
    assert HOW.keys() == QUESTIONS.keys()
    assert all(how.keys() == TITLES.keys() for how in HOW.values())


def test_the_page_is_what_its_results_say():
    here, packages = (json.loads(path.read_text()) for path in (RESULTS, PACKAGES))
    assert (DOCS / "audit.md").read_text() == page(here, packages)
    assert here["runs"] >= 200
    assert here["inexact"] == []


def test_what_was_read_is_what_was_run():
    packages = json.loads(PACKAGES.read_text())
    for name, (package, version) in READ.items():
        assert packages[name]["versions"][package] == version

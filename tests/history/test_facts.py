"""Commits by agent, run and source: with the index of facts and without it, right or wrong."""

import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import Provenance, Repository, ValidationError
from mnemosyne_vcs.history.facts import commit_facts
from mnemosyne_vcs.history.log import LogFilter
from mnemosyne_vcs.history.trace import Lineage, Origin
from mnemosyne_vcs.ids import parse_id
from mnemosyne_vcs.merge.retract import retract
from mnemosyne_vcs.testing.repository.history_index import entries, forge

VALUES = ("x", "y")
ACTIONS = [
    *["put"] * 3, *["derive"] * 3, "delete", "move", "merge", "branch", "pick", "undo", "drop"
]  # fmt: skip
STEPS = st.lists(
    st.tuples(
        st.sampled_from(ACTIONS),
        st.sampled_from(["main", "side"]),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(VALUES),
        st.sampled_from([None, *VALUES]),
    ),
    max_size=20,
)


def do(repo: Repository, action: str, branch: str, key: str, run: str, source: str | None) -> None:
    here = repo.at(branch)
    other = {"a": "b", "b": "c", "c": "a"}[key]
    if action in ("put", "derive"):
        derived = [(other, here.commit.id)] if action == "derive" and other in here else []
        known = Provenance(run=run, source=None if derived else source, derived_from=tuple(derived))
        repo.put(key, {"x": len(list(repo.reflog()))}, branch=branch, provenance=known)
    elif action == "move" and key in here and other not in here:
        with repo.transaction(branch) as tx:
            tx.move(key, other)
    elif action == "pick" and branch == "side" and len(here.commit.parents) == 1:
        repo.cherry_pick(here.commit, on_conflict="theirs")
    elif action == "merge":
        repo.merge("side", on_conflict="ours")
    elif action == "branch":
        repo.merge("main", into="side", on_conflict="theirs")
    elif action == "undo" and len(list(repo.log(branch, first_parent=True))) > 0:
        repo.undo(branch=branch)
    elif action == "delete" and key in repo.at(branch):
        with repo.transaction(branch, trailers={"Run-Id": run}) as tx:
            tx.delete(key)
    elif action == "drop":
        repo.delete_branch("side")
        repo.gc(keep_reflog=timedelta(0))
        repo.create_branch("side")


QUESTIONS = [
    *({name: value} for name in ("run", "source") for value in VALUES),
    {"run": "x", "source": "y"},
    {"run": "x", "prefix": "a"},
    {"run": "y", "first_parent": True},
    {"run": "x", "trailer": ("T", "1")},
    {"run": "x", "trailer": ("Run-Id", "x")},
    {"run": "y", "source": "x", "trailer": ("Run-Id", "y")},
    {"run": "never"},
]


def walked(repo: Repository, branch: str, question: dict) -> list[str]:
    given = dict(question)
    plain = {name: given.pop(name) for name in ("prefix", "first_parent") if name in given}
    wanted = LogFilter(**given)
    return [c.id for c in repo.log(branch, **plain) if wanted.matches(repo.blocks, c)]


ORIGINS = [{"source": "x"}, {"run": "x"}, {"run": "y", "source": "x"}, {"source": "never"}]


def check_traces(repo: Repository) -> None:
    """Traces and plans of retractions are those that reading every live record gives."""
    for origin in ORIGINS:
        found = [(t.branch, t.record.key, t.through) for t in repo.trace(**origin)]
        plans = repo.plan_retract(**origin)
        expected = []
        for branch in repo.branches():
            head = repo.resolve(branch)
            live = Lineage(repo.blocks, Origin(**origin)).live(head)
            expected += [(branch, key, through) for key, _, through in live]
            changes = retract(repo.blocks, head, Origin(**origin)).changes
            assert list(changes) == list(plans[branch].changes if branch in plans else ())
        assert found == expected


def check_activities(repo: Repository) -> None:
    """Runs and sources are those that reading every commit gives."""
    for field, read in (("run", repo.runs), ("source", repo.sources)):
        for head in ("main", "side"):
            commits: dict[str, list[str]] = {}
            for commit in repo.log(head):
                for name, value in commit_facts(repo.blocks, commit):
                    if name == field:
                        commits.setdefault(value, []).append(commit.id)
            found = [(a.name, a.commits, a.last.id, a.first.id) for a in read(head)]
            expected = [(name, len(ids), ids[0], ids[-1]) for name, ids in commits.items()]
            assert sorted(found) == sorted(expected)


def check(repo: Repository) -> None:
    for branch in ("main", "side"):
        for question in QUESTIONS:
            found = [commit.id for commit in repo.log(branch, **question)]
            assert found == walked(repo, branch, question), (branch, question)


@given(STEPS)
def test_on_any_history_the_index_says_what_a_walk_says(steps: list):
    with mnemosyne_vcs.open("memory://", create=True) as repo:
        repo.create_branch("side")
        for step in steps:
            do(repo, *step)
        for entry in entries(repo):
            commit = repo.blocks.commit(entry.commit)
            assert entry.facts in (None, commit_facts(repo.blocks, commit))
        check(repo)
        check_traces(repo)
        check_activities(repo)
        assert repo.verify().ok
        repo.rebuild_index()
        check(repo)
        check_traces(repo)
        check_activities(repo)
        assert all(entry.facts for entry in entries(repo))


def three(repo: Repository) -> list[str]:
    """Three commits, the outer two of one run; their ids, oldest first."""
    made = [
        repo.put(key, 1, provenance=Provenance(run=run), author="ann")
        for key, run in ("ax", "by", "cx")
    ]
    return [commit.id for commit in made]


def ids(repo: Repository, **question: str) -> list[str]:
    return [commit.id for commit in repo.log(**question)]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "a.mnem"


def execute(store: Path, sql: str) -> None:
    connection = sqlite3.connect(store)
    with connection:
        connection.execute(sql)
    connection.close()


def test_a_store_of_a_version_without_facts_answers_at_once_and_gets_them(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        one, _, last = three(repo)
    execute(store, "ALTER TABLE commits DROP COLUMN facts")
    with mnemosyne_vcs.open(store, read_only=True) as repo:
        assert ids(repo, run="x") == [last, one]
        assert repo.verify().ok
    with mnemosyne_vcs.open(store) as repo:
        new = repo.put("d", 1, provenance=Provenance(run="x")).id
        assert ids(repo, run="x") == [new, last, one]
        assert repo.blocks.can.facts.commits_without_facts() == []
        assert repo.verify().ok


@pytest.mark.parametrize("care", [Repository.gc, Repository.rebuild_index])
def test_care_gives_a_store_of_a_version_without_facts_its_facts(store: Path, care):
    with mnemosyne_vcs.open(store, create=True) as repo:
        three(repo)
    execute(store, "ALTER TABLE commits DROP COLUMN facts")
    with mnemosyne_vcs.open(store) as repo:
        care(repo)
        assert repo.blocks.can.facts.commits_without_facts() == []
        assert repo.verify().ok


def test_only_commits_that_the_index_names_are_read(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        one, _, last = three(repo)
        forge(repo, lambda e: replace(e, facts=e.facts - {("run", "x")}))
        assert ids(repo, run="x") == []
        assert ids(repo, run="y") != []
        problems = repo.verify().problems
        assert {problem.object for problem in problems} == {one, last}
        assert all("does not say that this has 'run x'" in each.message for each in problems)
        repo.rebuild_index()
        assert repo.verify().ok
        assert ids(repo, run="x") == [last, one]


def test_what_the_index_makes_up_is_not_shown_and_told(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        one, middle, last = three(repo)
        wrong = parse_id(middle)
        lie = {("run", "x"), ("run", "never")}
        forge(repo, lambda e: replace(e, facts=e.facts | lie) if e.commit == wrong else e)
        assert ids(repo, run="x") == [last, one]
        assert ids(repo, run="never") == []
        [problem] = repo.verify().problems
        assert problem.object == middle
        assert "says that this has 'run never', 'run x'" in problem.message


@pytest.mark.parametrize("damaged", ["", "[", "7", "[[1]]", '{"a": 1}', '[["run", 5]]'])
def test_facts_that_are_damaged_are_told(store: Path, damaged: str):
    with mnemosyne_vcs.open(store, create=True) as repo:
        three(repo)
    execute(store, f"UPDATE commits SET facts = '{damaged}' WHERE n = 3")
    with mnemosyne_vcs.open(store) as repo:
        assert ("x", 2) in told(repo.runs())
        assert len(repo.verify().problems) == 1
        repo.rebuild_index()
        assert repo.verify().ok


@pytest.mark.parametrize("name", ['"', '["run","x"]', "\\", "é\u8a18", "\0", "%", "a\nb"])
def test_any_name_is_found_and_only_that(store: Path, name: str):
    with mnemosyne_vcs.open(store, create=True) as repo:
        repo.put("a", 1, provenance=Provenance(run="x"))
        made = repo.put("b", 1, provenance=Provenance(run=name, source="x"))
        assert ids(repo, run=name) == [made.id]
        assert len(repo.blocks.can.facts.commits_of_fact("run", name)) == 1
        assert len(repo.blocks.can.facts.commits_of_fact("run", "x")) == 1
        assert told(repo.runs()) == [(name, 1), ("x", 1)]


def test_facts_go_with_their_commits(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        repo.create_branch("trial")
        repo.put("a", 1, branch="trial", provenance=Provenance(run="secret"))
        repo.delete_branch("trial")
        repo.gc(keep_reflog=timedelta(0))
    connection = sqlite3.connect(store)
    assert connection.execute("SELECT * FROM commits WHERE facts LIKE '%secret%'").fetchall() == []
    connection.close()


def told(found: list[mnemosyne_vcs.Activity]) -> list[tuple[str, int]]:
    return [(each.name, each.commits) for each in found]


def test_runs_sources_and_agents_are_listed_the_latest_first(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        one, two, last = three(repo)
        with repo.transaction(trailers={"Run-Id": "z"}) as tx:
            tx.delete("b")
        repo.create_branch("side", one)
        side = repo.put("s", 1, branch="side", provenance=Provenance(agent="ann", source="doc"))
        assert told(repo.runs()) == [("z", 1), ("x", 2), ("y", 1)]
        [_, x, y] = repo.runs()
        assert (x.first.id, x.last.id, y.first.id, y.last.id) == (one, last, two, two)
        assert told(repo.runs(limit=1)) == [("z", 1)]
        assert told(repo.runs(one)) == [("x", 1)]
        assert repo.sources() == repo.agents() == []
        assert told(repo.agents("side")) == told(repo.agents(all=True)) == [("ann", 1)]
        assert repo.sources(all=True)[0].last == side
        with pytest.raises(ValidationError, match="without a revision"):
            repo.runs("side", all=True)


def test_what_is_taken_back_is_no_new_work_of_its_run(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        one = repo.put("a", 1, provenance=Provenance(run="x"))
        repo.put("a", 2)
        repo.undo()
        assert [(run.commits, run.last) for run in repo.runs()] == [(1, one)]
        assert ids(repo, run="x") == [one.id]
        assert [traced.record.content for traced in repo.trace(run="x")] == [1]
        assert repo.verify().ok


def test_a_run_that_the_index_makes_up_is_not_listed(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        three(repo)
        lie = {("run", "never")}
        forge(repo, lambda e: replace(e, facts=e.facts | lie))
        assert told(repo.runs()) == [("x", 2), ("y", 1)]


def test_a_source_whose_fact_was_lost_hides_its_record_until_verify_tells(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        bad = repo.put("a", 1, provenance=Provenance(source="bad"))
        derived = repo.put("b", 1, provenance=Provenance(derived_from=(("a", bad.id),)))
        forge(repo, lambda e: replace(e, facts=e.facts - {("derived_from", "a")}))
        assert [t.record.key for t in repo.trace(source="bad")] == ["a"]
        [problem] = repo.verify().problems
        assert (problem.object, "'derived_from a'" in problem.message) == (derived.id, True)
        repo.rebuild_index()
        assert [t.record.key for t in repo.trace(source="bad")] == ["a", "b"]


def test_a_retraction_finds_what_the_index_lost(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        repo.put("a", 1, provenance=Provenance(source="bad"))
        forge(repo, lambda e: replace(e, facts=e.facts - {("source", "bad")}))
        assert repo.plan_retract(source="bad") == {}
        assert repo.retract(source="bad").changes.keys() == {"main"}
        assert "a" not in repo


def test_what_a_source_led_to_is_found_through_commits_that_no_ref_reaches(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        repo.create_branch("trial")
        bad = repo.put("a", 1, branch="trial", provenance=Provenance(source="bad"))
        repo.put("b", 1, provenance=Provenance(derived_from=(("a", bad.id),)))
        repo.delete_branch("trial")
        repo.rebuild_index()
        assert [(t.record.key, t.through) for t in repo.trace(source="bad")] == [("b", ("a",))]
        assert repo.verify().ok


def test_few_commits_without_facts_are_read_where_nothing_can_be_written(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        one, _, last = three(repo)
    execute(store, "UPDATE commits SET facts = NULL WHERE n = (SELECT max(n) FROM commits)")
    with mnemosyne_vcs.open(store, read_only=True) as repo:
        assert repo.blocks.can.facts.commits_without_facts() == [parse_id(last)]
        assert ids(repo, run="x") == [last, one]
        assert told(repo.runs()) == [("x", 2), ("y", 1)]
        assert {t.record.key for t in repo.trace(run="x")} == {"a", "c"}


def test_what_was_taken_over_is_traced_when_its_own_commit_is_gone(store: Path):
    with mnemosyne_vcs.open(store, create=True) as repo:
        repo.create_branch("trial")
        made = repo.put("a", 1, branch="trial", provenance=Provenance(source="bad"))
        repo.cherry_pick(made)
        repo.delete_branch("trial")
        repo.gc(keep_reflog=timedelta(0))
        assert [t.record.key for t in repo.trace(source="bad")] == ["a"]
        assert repo.plan_retract(source="bad").keys() == {"main"}
        assert repo.sources() == ids(repo, source="bad") == []
        repo.rebuild_index()
        assert [t.record.key for t in repo.trace(source="bad")] == ["a"]
        assert repo.verify().ok

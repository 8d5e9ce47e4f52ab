"""A plan says what would happen, and does exactly that if the branch has not moved."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    ConflictError,
    EngineError,
    NotFoundError,
    Plan,
    Provenance,
    ReadOnlyError,
    RefConflictError,
    Repository,
)
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.protocol import RefUpdate

PLANS: dict[str, Callable[[Repository], Plan]] = {
    "merge": lambda repo: repo.plan_merge("side"),
    "fast-forward": lambda repo: repo.plan_merge("ahead", fast_forward=True),
    "revert": lambda repo: repo.plan_revert("main"),
    "cherry-pick": lambda repo: repo.plan_cherry_pick("side"),
    "restore": lambda repo: repo.plan_restore(source="main~1"),
    "undo": lambda repo: repo.plan_undo(),
    "retract": lambda repo: repo.plan_retract(source="bad", branches=["main"])["main"],
}
RUNS: dict[str, Callable[[Repository], object]] = {
    "merge": lambda repo: repo.merge("side"),
    "fast-forward": lambda repo: repo.merge("ahead", fast_forward=True),
    "revert": lambda repo: repo.revert("main"),
    "cherry-pick": lambda repo: repo.cherry_pick("side"),
    "restore": lambda repo: repo.restore(source="main~1"),
    "undo": lambda repo: repo.undo(),
    "retract": lambda repo: repo.retract(source="bad", branches=["main"]),
}


def prepared(repo: Repository) -> Repository:
    repo.put("a", 1)
    repo.create_branch("side")
    repo.put("side", 1, branch="side")
    repo.put("b", 1, provenance=Provenance(source="bad"))
    repo.create_branch("ahead")
    repo.put("ahead", 1, branch="ahead")
    return repo


def contents(repo: Repository) -> dict[str, object]:
    return {record.key: record.content for record in repo.at().scan()}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_applied_as_it_was_shown(repo: Repository, name: str):
    before = prepared(repo).resolve()
    plan = PLANS[name](repo)
    assert (plan.branch, plan.head, repo.resolve()) == ("main", before, before)
    assert plan.kind == {"merge": "merge", "fast-forward": "fast-forward"}.get(name, "commit")
    commit = plan.apply()
    assert commit == repo.resolve()
    shown = [(c.key, c.kind, c.after and c.after.content) for c in plan.changes]
    changes = list(repo.diff(before, commit))
    assert shown == [(c.key, c.kind, c.after and c.after.content) for c in changes] != []


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_does_the_same_as_the_method(name: str):
    with (
        mnemosyne_vcs.open("memory://", create=True) as one,
        mnemosyne_vcs.open("memory://", create=True) as two,
    ):
        planned = PLANS[name](prepared(one)).apply()
        RUNS[name](prepared(two))
        assert contents(one) == contents(two)
        run = two.resolve()
        assert (planned.message, planned.author) == (run.message, run.author)
        assert planned.trailers.keys() == run.trailers.keys()
        assert len(planned.parents) == len(run.parents)


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_not_applied_once_the_branch_has_moved(repo: Repository, name: str):
    plan = PLANS[name](prepared(repo))
    now = repo.put("unrelated", 1)
    with pytest.raises(RefConflictError, match=f"'main' points at {now.id}, not at {plan.head.id}"):
        plan.apply()
    assert repo.resolve() == now


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_applied_once(repo: Repository, name: str):
    plan = PLANS[name](prepared(repo))
    made = plan.apply()
    with pytest.raises(RefConflictError, match="as expected"):
        plan.apply()
    assert repo.resolve() == made


@pytest.mark.parametrize("name", PLANS)
def test_the_method_begins_again_once_the_branch_has_moved(name: str):
    rivals: list[Callable[[], object]] = []
    repo = Repository(MemoryEngine())
    mnemosyne_vcs.initialise(repo.blocks.engine)
    prepared(repo)
    clock = repo._writer.clock
    repo._writer = replace(repo._writer, clock=lambda: rivals.pop()() if rivals else clock())
    made: list[str] = []
    rivals.append(lambda: made.append(repo.put("a", 2).id) or clock())
    RUNS[name](repo)
    assert len(made) == 1 and made[0] in {commit.id for commit in repo.log()}
    taken_back = name in ("undo", "restore")  # of the head that they landed on
    assert repo.at()["a"].content == (1 if taken_back else 2)


def test_a_plan_that_is_up_to_date_changes_nothing(repo: Repository):
    head = prepared(repo).resolve()
    plans = [
        repo.plan_merge("main~1"),
        repo.plan_restore(source="main"),
        repo.plan_cherry_pick("main"),
    ]
    assert [plan.kind for plan in plans] == ["up-to-date"] * 3
    assert [plan.apply() for plan in plans] == [head] * 3 == [repo.resolve()] * 3
    assert repo.plan_retract(source="nobody") == {}
    repo.put("unrelated", 1)
    for plan in plans:
        with pytest.raises(RefConflictError):
            plan.apply()


def test_a_plan_with_conflicts_is_not_applied(repo: Repository):
    repo.put("a", 1)
    repo.create_branch("side")
    repo.put("a", 2, branch="side")
    head = repo.put("a", 3)
    for plan in (repo.plan_merge("side"), repo.plan_revert("main~1"), repo.plan_undo(2)):
        if not plan.conflicts:
            continue
        with pytest.raises(ConflictError, match=r"'a' \(") as error:
            plan.apply()
        assert tuple(error.value.conflicts) == plan.conflicts
    assert repo.resolve() == head
    assert repo.plan_merge("side").conflicts


def test_a_strategy_is_not_asked_again_when_a_plan_is_applied(repo: Repository):
    repo.put("a", 1)
    repo.create_branch("side")
    repo.put("a", 2, branch="side")
    repo.put("a", 3)
    asked: list[str] = []
    plan = repo.plan_merge(
        "side", on_conflict=lambda conflict: asked.append(conflict.key) or "theirs"
    )
    assert (plan.conflicts, plan.resolved) == ((), {"a": "theirs"})
    commit = plan.apply()
    assert (repo.at()["a"].content, commit.trailers["Resolved"]) == (2, '{"a":"theirs"}')
    assert asked == ["a"]


def test_a_read_only_repository_plans_and_does_not_apply(tmp_path: Path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True) as repo:
        head = prepared(repo).resolve()
    with mnemosyne_vcs.open(tmp_path / "a.mnem", read_only=True) as repo:
        for name, plan in PLANS.items():
            with pytest.raises(ReadOnlyError):
                plan(repo).apply()
            with pytest.raises(ReadOnlyError):
                RUNS[name](repo)
        assert repo.resolve() == head


def test_a_plan_for_a_branch_that_is_gone(repo: Repository):
    prepared(repo)
    plan = repo.plan_merge("main", into="side")
    repo.delete_branch("side")
    with pytest.raises(NotFoundError, match="'side'"):
        plan.apply()
    assert "side" not in repo.branches()


def test_a_plan_for_a_new_branch_makes_it_once(repo: Repository):
    with mnemosyne_vcs.open("memory://", create=True) as copy:
        prepared(repo)
        plan = copy.plan_pull(repo, "side")
        assert (plan.kind, plan.conflicts, "side" in copy.branches()) == ("new-branch", (), False)
        assert plan.apply() == copy.resolve("side") == repo.resolve("side")
        with pytest.raises(mnemosyne_vcs.AlreadyExistsError):
            plan.apply()


def test_retract_holds_to_what_it_expects_of_every_branch(repo: Repository):
    prepared(repo)
    heads = repo.branches()
    for act in (repo.retract, repo.plan_retract):
        with pytest.raises(RefConflictError, match="'main' points at"):
            act(source="bad", branches=["ahead", "main"], expect="ahead")
    assert repo.branches() == heads
    assert repo.retract(source="bad", branches=["main"], expect=repo.resolve()).commits


class LosesAnswer(MemoryEngine):
    """Does what it is told, and answers the next time that it has failed."""

    loses = False
    locked = False

    @contextmanager
    def exclusive(self) -> Generator[None]:
        self.locked = True
        with super().exclusive():
            yield
        self.locked = False
        self.answer()

    def write(self, objects: Mapping[bytes, bytes], update: RefUpdate | None = None) -> None:
        super().write(objects, update)
        self.answer()

    def answer(self) -> None:
        if self.loses and not self.locked:
            self.loses = False
            raise EngineError("the answer was lost")


MOVES: dict[str, tuple[Callable[[Repository], object], Callable[[Repository], bool]]] = {
    "put": (lambda repo: repo.put("new", 1), lambda repo: "new" in repo.at()),
    "merge": (RUNS["merge"], lambda repo: "side" in repo.at()),
    "fast-forward": (RUNS["fast-forward"], lambda repo: "ahead" in repo.at()),
    "create": (lambda repo: repo.create_branch("new"), lambda repo: "new" in repo.branches()),
    "delete": (lambda repo: repo.delete_branch("side"), lambda repo: "side" not in repo.branches()),
    "tag": (lambda repo: repo.create_tag("v1"), lambda repo: "v1" in repo.tags()),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_move_that_has_landed_is_no_failure_although_its_answer_was_lost(name: str):
    engine = LosesAnswer()
    repo = Repository(engine)
    mnemosyne_vcs.initialise(repo.blocks.engine)
    prepared(repo)
    act, done = MOVES[name]
    engine.loses = True
    act(repo)
    assert done(repo) and not engine.loses

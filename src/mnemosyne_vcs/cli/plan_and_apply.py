"""What `mnem merge`, `revert` and `cherry-pick` share: look, settle, ask, then do it."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.commit_options import show_commit
from mnemosyne_vcs.cli.confirm import ask
from mnemosyne_vcs.cli.conflicts import Sides, explained
from mnemosyne_vcs.cli.output import Output, Styled
from mnemosyne_vcs.cli.resolve_options import ask_each, can_ask
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.errors import ConflictError
from mnemosyne_vcs.merge.operation import Plan
from mnemosyne_vcs.merge.resolutions import Resolution, Strategy
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.present.to_json import change_json, commit_json, conflict_json
from mnemosyne_vcs.repository import Repository

__all__ = ["Act", "Wishes", "carry_out"]

R_co = TypeVar("R_co", covariant=True)


class Method(Protocol[R_co]):
    """A method of the repository with all but these arguments given."""

    def __call__(
        self,
        *,
        resolutions: dict[str, Resolution],
        strategy: Strategy | None,
        expect: Commit | None = None,
    ) -> R_co: ...


class Wishes(NamedTuple):
    """What the options of such a verb say.

    Attributes:
        resolutions: how to settle the conflict of each key.
        strategy: how to settle the others.
        dry_run: only show what would change.
        yes: do not ask before it is done.
    """

    resolutions: dict[str, Resolution]
    strategy: Strategy | None
    dry_run: bool
    yes: bool


class Act(NamedTuple):
    """What such a verb is about to do.

    Attributes:
        branch: the branch that it changes.
        run: does it.
        plan: plans it.
        sides: tells what the versions in the conflicts of a plan are.
        commit: the commit that it is about.
        doing: stands above that commit, such as `To be merged`.
        name: the name of that commit in JSON.
        question: what to ask before it is done; empty if it is done without asking.
        nothing: what to say if there is nothing to do.
    """

    branch: str
    run: Method[Commit]
    plan: Method[Plan]
    sides: Callable[[Plan], Sides]
    commit: Commit
    doing: str
    name: str
    question: str
    nothing: str


def carry_out(session: Session, repository: Repository, act: Act, wishes: Wishes) -> None:
    """Do it, once its conflicts are settled and a person has agreed where one must.

    Args:
        session: this run.
        repository: the store.
        act: what is to be done.
        wishes: what the options say.

    Raises:
        ConflictError: a conflict is not settled, and explained; nothing was written.
        ClickException: a person has given it up.
        MnemosyneError: as the method of the repository raises.
    """
    output, resolutions = session.output, dict(wishes.resolutions)
    plan = act.plan(resolutions=resolutions, strategy=wishes.strategy)
    sides = act.sides(plan)
    asks = asked = bool(act.question) and not wishes.yes
    if plan.conflicts and not wishes.dry_run and can_ask(output):
        asked = True
        resolutions |= ask_each(output, repository, plan.conflicts, sides)
        plan = act.plan(resolutions=resolutions, strategy=wishes.strategy, expect=plan.head)
        output.line()
    if wishes.dry_run or (asks and not plan.conflicts):
        _show_plan(output, act, plan)
    with explained(repository, sides):
        if plan.conflicts:
            count = describe.counted(len(plan.conflicts), "conflict")
            raise ConflictError(f"{count}; nothing was written", plan.conflicts)
        if wishes.dry_run:
            return
        if plan.kind == "up-to-date":
            _show_nothing(output, act, shown=asks)
            return
        if asks:
            ask(act.question)
        if asked:
            commit = plan.apply()
        else:
            commit = act.run(resolutions=resolutions, strategy=wishes.strategy)
    _show_done(output, commit, plan)


def _show_plan(output: Output, act: Act, plan: Plan) -> None:
    if output.as_json:
        shown: dict[str, object] = {
            act.name: commit_json(act.commit),
            "ours": commit_json(plan.head),
            "changes": [change_json(change) for change in plan.changes],
            "conflicts": [conflict_json(conflict) for conflict in plan.conflicts],
            "resolved": dict(plan.resolved),
        }
        if plan.bases:
            shown |= {
                "bases": list(plan.bases),
                "already_merged": plan.kind == "up-to-date",
                "can_fast_forward": plan.can_fast_forward,
            }
        output.json(shown)
        return
    output.line(Styled(act.doing, "title"))
    output.line("  ", *describe.byline(act.commit), "  ", describe.title(act.commit))
    output.line()
    describe.planned(output, plan, act.nothing)
    describe.settled(output, plan.resolved)


def _show_nothing(output: Output, act: Act, *, shown: bool) -> None:
    if output.as_json:
        output.json(None)
    elif not shown:
        output.line(act.nothing)


def _show_done(output: Output, commit: Commit, plan: Plan) -> None:
    show_commit(output, commit)
    if not output.as_json:
        kinds = Counter(change.kind for change in plan.changes)
        output.line(" " * 12, Styled(describe.change_counts(kinds) or "no record changed", "dim"))
        describe.settled(output, plan.resolved)

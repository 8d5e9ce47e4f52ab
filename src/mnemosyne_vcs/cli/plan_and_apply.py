"""What `mnem merge`, `revert` and `cherry-pick` share: plan, resolve, ask, then apply."""

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
from mnemosyne_vcs.merge.resolutions import OnConflict, Resolution
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.present.to_json import change_json, commit_json, conflict_json
from mnemosyne_vcs.repository import Repository

__all__ = ["Action", "Options", "plan_and_apply"]

R_co = TypeVar("R_co", covariant=True)


class Method(Protocol[R_co]):
    """A method of the repository with all but these arguments given."""

    def __call__(
        self,
        *,
        resolutions: dict[str, Resolution],
        on_conflict: OnConflict | None,
        expect: Commit | None = None,
    ) -> R_co: ...


class Options(NamedTuple):
    """The options of such a verb.

    Attributes:
        resolutions: how to resolve the conflict of each key.
        on_conflict: how to resolve the others.
        dry_run: only show what would change.
        yes: do not ask for confirmation.
    """

    resolutions: dict[str, Resolution]
    on_conflict: OnConflict | None
    dry_run: bool
    yes: bool


class Action(NamedTuple):
    """What such a verb does.

    Attributes:
        branch: the branch that it changes.
        run: applies it.
        plan: plans it.
        sides: describes the versions in the conflicts of a plan.
        commit: the commit that it applies or takes back.
        doing: the heading of that commit, such as `To be merged`.
        name: the name of that commit in JSON.
        question: what to ask first; empty to ask nothing.
        nothing: the message if there is nothing to do.
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


def plan_and_apply(
    session: Session, repository: Repository, action: Action, options: Options
) -> None:
    """Apply it, after its conflicts are resolved and the question is answered with yes.

    Args:
        session: this run.
        repository: the store.
        action: what to do.
        options: the options of the verb.

    Raises:
        ConflictError: a conflict is not resolved; nothing was written.
        ClickException: an answer was to abort.
        MnemosyneError: as the method of the repository raises.
    """
    output, resolutions = session.output, dict(options.resolutions)
    plan = action.plan(resolutions=resolutions, on_conflict=options.on_conflict)
    sides = action.sides(plan)
    asks = asked = bool(action.question) and not options.yes
    if plan.conflicts and not options.dry_run and can_ask(output):
        asked = True
        resolutions |= ask_each(output, repository, plan.conflicts, sides)
        plan = action.plan(
            resolutions=resolutions, on_conflict=options.on_conflict, expect=plan.head
        )
        output.line()
    if options.dry_run or (asks and not plan.conflicts):
        _show_plan(output, action, plan)
    with explained(repository, sides):
        if plan.conflicts:
            count = describe.counted(len(plan.conflicts), "conflict")
            raise ConflictError(f"{count}; nothing was written", plan.conflicts)
        if options.dry_run:
            return
        if plan.kind == "up-to-date":
            _show_nothing(output, action, shown=asks)
            return
        if asks:
            ask(action.question)
        if asked:
            commit = plan.apply()
        else:
            commit = action.run(resolutions=resolutions, on_conflict=options.on_conflict)
    _show_done(output, commit, plan)


def _show_plan(output: Output, action: Action, plan: Plan) -> None:
    if output.as_json:
        shown: dict[str, object] = {
            action.name: commit_json(action.commit),
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
    output.line(Styled(action.doing, "title"))
    output.line("  ", *describe.byline(action.commit), "  ", describe.title(action.commit))
    output.line()
    describe.planned(output, plan, action.nothing)
    describe.settled(output, plan.resolved)


def _show_nothing(output: Output, action: Action, *, shown: bool) -> None:
    if output.as_json:
        output.json(None)
    elif not shown:
        output.line(action.nothing)


def _show_done(output: Output, commit: Commit, plan: Plan) -> None:
    show_commit(output, commit)
    if not output.as_json:
        kinds = Counter(change.kind for change in plan.changes)
        output.line(" " * 12, Styled(describe.change_counts(kinds) or "no record changed", "dim"))
        describe.settled(output, plan.resolved)

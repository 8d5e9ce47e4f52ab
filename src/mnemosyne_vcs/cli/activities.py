"""What `mnem runs`, `mnem sources` and `mnem agents` have in common."""

from collections.abc import Callable
from typing import Any

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.output import Part, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.history.activity import Activity
from mnemosyne_vcs.model import moment_text
from mnemosyne_vcs.present.to_json import activity_json

__all__ = ["activity_options", "show"]


def activity_options(command: Callable[..., None]) -> Callable[..., None]:
    """The argument and the options of these commands."""
    for add in (
        click.option("--all", "every", is_flag=True, help="Of all branches and tags."),
        click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="At most N."),
        click.argument("revision", required=False, shell_complete=completion.revisions),
    ):
        command = add(command)
    return command


def show(
    session: Session,
    what: str,
    read: Callable[..., list[Activity]],
    revision: str | None,
    limit: int | None,
    *,
    everywhere: bool,
) -> None:
    """Print each agent, run or source, with the number of its commits and their times.

    Args:
        session: the session.
        what: the word for one of them.
        read: the method of the repository.
        revision: where to start; the branch of the session if not given.
        limit: how many at most.
        everywhere: whether to show those of all branches and tags.

    Raises:
        UsageError: all branches and a revision are given.
    """
    if everywhere and revision:
        raise click.UsageError("--all goes without REVISION")
    repository, output = session.open(), session.output
    at = revision or session.branch
    where: dict[str, Any] = {"all": True} if everywhere else {"revision": at}
    found = read(repository, **where, limit=limit)
    if output.as_json:
        for activity in found:
            output.json(activity_json(activity))
        return
    output.table([_row(activity) for activity in found])
    if not found and limit != 0:
        output.remark(f"no {what} yet" if everywhere else f"no {what} up to {at}")


def _row(activity: Activity) -> list[Part]:
    times = (moment_text(each.timestamp_ms) for each in (activity.first, activity.last))
    return [
        Styled(activity.name, "key"),
        describe.counted(activity.commits, "commit"),
        " to ".join(dict.fromkeys(times)),
    ]

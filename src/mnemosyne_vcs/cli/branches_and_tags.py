"""What `mnem branch` and `mnem tag` have in common: names of commits."""

from collections.abc import Callable
from typing import NamedTuple

import click

from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.confirm import ask, check_askable
from mnemosyne_vcs.cli.output import Output, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.graph import ancestors
from mnemosyne_vcs.ids import parse_id
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.present.to_json import commit_json
from mnemosyne_vcs.repository import Repository

__all__ = ["BRANCHES", "TAGS", "Names", "create", "delete", "show_all"]


class Names(NamedTuple):
    """One kind of names.

    Attributes:
        what: the word for one of them.
        read: gives the commit id of each name.
        create: gives a commit a name.
        delete: deletes a name.
    """

    what: str
    read: Callable[[Repository], dict[str, str]]
    create: Callable[[Repository, str, str], Commit]
    delete: Callable[[Repository, str], None]


BRANCHES = Names("branch", Repository.branches, Repository.create_branch, Repository.delete_branch)
TAGS = Names("tag", Repository.tags, Repository.create_tag, Repository.delete_tag)


def show_all(session: Session, names: Names) -> None:
    """Print every name and its commit."""
    repository, output = session.open(), session.output
    commits = {name: repository.resolve(head) for name, head in names.read(repository).items()}
    if output.as_json:
        for name, commit in commits.items():
            output.json({"name": name, "commit": commit_json(commit)})
        return
    output.table(
        [
            [Styled(name, "key"), *_columns(commit), describe.title(commit)]
            for name, commit in commits.items()
        ]
    )
    if not commits:
        output.remark(f"no {names.what} yet")


def create(session: Session, names: Names, name: str, at: str | None, author: str | None) -> None:
    """Give a commit a name, and print that."""
    repository, output = session.open(author=session.author(author)), session.output
    commit = names.create(repository, name, at or session.branch)
    _show(output, names, name, commit, "made")


def delete(
    session: Session, names: Names, name: str, author: str | None, *, dry_run: bool, yes: bool
) -> None:
    """Delete a name, after showing the commits that only it leads to.

        Raises:
            NotFoundError: the name does not exist.
            UsageError: confirmation is needed, and there is no terminal to ask on.
    ClickException: the answer was no.
    """
    check_askable(session, asks=not (dry_run or yes))
    repository = session.open() if dry_run else session.open(author=session.author(author))
    head = names.read(repository).get(name)
    if head is None:
        raise NotFoundError(f"there is no {names.what} {name!r} in {repository.url}")
    commit, output = repository.resolve(head), session.output
    if dry_run or not yes:
        _show_loss(output, names, name, commit, _only_there(repository, names, name))
    if dry_run:
        return
    if not yes:
        ask(f"Delete {names.what} {name}?")
    names.delete(repository, name)
    _show(output, names, name, commit, "deleted")


def _only_there(repository: Repository, names: Names, name: str) -> int:
    """The number of commits that no other name leads to."""
    heads = [
        parse_id(head)
        for kind in (BRANCHES, TAGS)
        for other, head in kind.read(repository).items()
        if (kind.what, other) != (names.what, name)
    ]
    lookup = repository.blocks.commit
    others = {commit.id for commit in ancestors(lookup, heads)}
    own = ancestors(lookup, [parse_id(names.read(repository)[name])])
    return sum(commit.id not in others for commit in own)


def _show_loss(output: Output, names: Names, name: str, commit: Commit, lost: int) -> None:
    if output.as_json:
        output.json({"name": name, "commit": commit_json(commit), "only_there": lost})
        return
    output.line(f"{names.what} ", Styled(name, "key"), " is at ", *describe.byline(commit))
    if lost:
        only = describe.counted(lost, "commit")
        output.line(f"no other branch or tag leads to {only} of it; `mnem gc` will remove them")


def _show(output: Output, names: Names, name: str, commit: Commit, done: str) -> None:
    output.did(f"{names.what} {name} was {done}")
    if output.as_json:
        output.json({"name": name, done: True, "commit": commit_json(commit)})
    else:
        output.line(f"{done} {names.what} ", Styled(name, "key"), " at ", *describe.byline(commit))


def _columns(commit: Commit) -> list[str | Styled]:
    id_part, _, when, _, author = describe.byline(commit)
    return [id_part, when, author]


def check_arguments(name: str | None, at: str | None, deleting: bool) -> None:
    """Refuse arguments that do not fit together.

    Raises:
        UsageError: a deletion is given no name, or a revision too.
    """
    if deleting and (name is None or at is not None):
        raise click.UsageError("-d takes one NAME and nothing else")

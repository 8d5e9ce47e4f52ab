"""What a shell completes: branches, tags, commits and keys of the store."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

import mnemosyne_vcs
from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.errors import MnemosyneError
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.repository import Repository
from mnemosyne_vcs.visible import printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["branches", "keys", "keys_and_revisions", "remotes", "revisions", "tags"]

MOST_KEYS = 1000
MOST_COMMITS = 100

Suggestion = tuple[str, str]
Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem[str]]"]


def _completer(
    suggestions: Callable[[Repository, Session, str], Iterable[Suggestion]],
) -> Completer:
    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        session = ctx.ensure_object(Session)
        try:
            with mnemosyne_vcs.open(session.find_url(), read_only=True) as repository:
                return [
                    CompletionItem(value, help=printable(said) or None)
                    for value, said in suggestions(repository, session, incomplete)
                    if value.startswith(incomplete) and printable(value) == value
                ]
        except (MnemosyneError, click.UsageError):  # a completion cannot print an error
            return []

    return complete


def _branches(repository: Repository, session: Session, start: str) -> Iterator[Suggestion]:
    return _named(repository, repository.branches())


def _tags(repository: Repository, session: Session, start: str) -> Iterator[Suggestion]:
    return _named(repository, repository.tags())


def _named(repository: Repository, names: dict[str, str]) -> Iterator[Suggestion]:
    for name, head in names.items():
        yield name, _said(repository.resolve(head))


def _remotes(repository: Repository, session: Session, start: str) -> Iterator[Suggestion]:
    yield from repository.remotes().items()


def _revisions(repository: Repository, session: Session, start: str) -> Iterator[Suggestion]:
    yield from _branches(repository, session, start)
    yield from _tags(repository, session, start)
    for remote in repository.remotes():
        for name, head in repository.remote_branches(remote).items():
            yield f"{remote}/{name}", _said(repository.resolve(head))
    for commit in islice(repository.log(session.branch), MOST_COMMITS):
        short = commit.short_id
        yield short if short.startswith(start) else commit.id, _said(commit)


def _keys(repository: Repository, session: Session, start: str) -> Iterator[Suggestion]:
    found = repository.at(session.branch).scan_keys(start)
    return ((key, "") for key in islice(found, MOST_KEYS))


def _keys_and_revisions(
    repository: Repository, session: Session, start: str
) -> Iterator[Suggestion]:
    yield from _revisions(repository, session, start)
    yield from _keys(repository, session, start)


def _said(commit: Commit) -> str:
    return describe.title(commit) or describe.plain(describe.byline(commit))


branches = _completer(_branches)
"""Completes the names of branches."""
tags = _completer(_tags)
"""Completes the names of tags."""
remotes = _completer(_remotes)
"""Completes the names of remotes."""
revisions = _completer(_revisions)
"""Completes branches, tags, and the branch's newest commits."""
keys = _completer(_keys)
"""Completes keys of the branch."""
keys_and_revisions = _completer(_keys_and_revisions)
"""Completes what `show` takes."""

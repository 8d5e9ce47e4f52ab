"""Messages and entries that engines share."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.errors import RefConflictError
from mnemosyne_vcs.ids import Id, text_id
from mnemosyne_vcs.model import ReflogEntry

__all__ = ["index_entries", "ref_conflict", "reflog_entry", "without_password"]

_BEFORE_HOST = re.compile(r"(?<=://)([^/@:?#]*):[^/?#]*@")
_IN_QUERY = re.compile(r"(?<=[?&])[a-z]*password=[^&]*&?")


def ref_conflict(url: str, update: RefUpdate, found: Id | None) -> RefConflictError:
    """The error for a ref that is not where the caller of `write` expected it."""
    return RefConflictError(
        f"ref {update.name!r} of {url} is {_place(found)}, not {_place(update.old)}; "
        "read it again and retry"
    )


def reflog_entry(update: RefUpdate) -> ReflogEntry:
    """The reflog entry of a move."""
    return ReflogEntry(
        update.name, _text(update.old), _text(update.new), update.who, update.when, update.why
    )


def index_entries(lines: Iterable[Sequence[Any]]) -> Iterator[IndexEntry]:
    """The entries of a history index that is stored as lines.

    Args:
        lines: commit, transaction and key of each, and the facts of the commit if the engine
            keeps them; those of one commit adjacent. The key is None if the commit changed none,
            the commit if the key belongs to none.
    """
    for commit, of_commit in groupby(lines, lambda line: line[0]):
        group = list(of_commit)
        keys = frozenset(line[2] for line in group if line[2] is not None)
        facts = group[0][3] if len(group[0]) > 3 else None
        known = None if facts is None else frozenset(facts)
        yield IndexEntry(commit or b"", group[0][1] or "", keys, known)


def without_password(url: str) -> str:
    """A URL without its password, before the host or among the parameters."""
    return _IN_QUERY.sub("", _BEFORE_HOST.sub(r"\1@", url)).rstrip("?&")


def _text(target: Id | None) -> str | None:
    return None if target is None else text_id(target)


def _place(target: Id | None) -> str:
    return "absent" if target is None else f"at {text_id(target)}"

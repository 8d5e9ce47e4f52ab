"""Showing a conflict so that the reader can resolve it."""

import json
import shlex
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.output import Part, Styled
from mnemosyne_vcs.errors import ConflictError, NotFoundError
from mnemosyne_vcs.history.fields import value_at
from mnemosyne_vcs.model import Conflict, Record
from mnemosyne_vcs.repository import Repository
from mnemosyne_vcs.values import Missing

__all__ = ["Side", "Sides", "conflict_lines", "explained"]

_KINDS = {
    "edit/edit": "both changed it",
    "edit/delete": "ours changed it, theirs deleted it",
    "delete/edit": "ours deleted it, theirs changed it",
    "add/add": "both added it",
    "move/move": "both moved it, to different keys",
    "same-id": "each has a record with this id, under different keys",
}
_TWO_KEYS = ("move/move", "same-id")


class Side(NamedTuple):
    """One of the versions in a conflict.

    Attributes:
        what: a description, such as `main as it is now`.
        commit: id of a commit that holds it; None if no single commit does.
    """

    what: str
    commit: str | None


class Sides(NamedTuple):
    """The versions in a conflict.

    Attributes:
        base: what both sides started from.
        ours: what is on the branch.
        theirs: what is merged into it.
    """

    base: Side
    ours: Side
    theirs: Side


@contextmanager
def explained(repository: Repository, sides: Sides) -> Generator[None]:
    """Add details of each key to a `ConflictError` that is raised inside.

    Args:
        repository: the store.
        sides: what the versions are.
    """
    try:
        yield
    except ConflictError as error:
        for conflict in error.conflicts:
            for line in conflict_lines(repository, conflict, sides):
                error.add_note(describe.plain(line))
        if error.conflicts:
            error.add_note("")
            error.add_note("Run the command again with a --resolve for each, or resolve all that")
            error.add_note("are left in one way with --on-conflict ours, theirs, base or delete.")
        raise


def conflict_lines(
    repository: Repository, conflict: Conflict, sides: Sides
) -> Iterator[list[Part]]:
    """The lines for a conflict: its versions, who wrote them, what clashes, and the options.

    Args:
        repository: the store.
        conflict: the conflict.
        sides: what its versions are.
    """
    yield [""]
    yield [Styled(conflict.key, "key"), f" ({conflict.kind}): {_KINDS[conflict.kind]}"]
    versions = (conflict.base, conflict.ours, conflict.theirs)
    for name, record, side in zip(Sides._fields, versions, sides, strict=True):
        if name == "base" and record is None:
            continue
        yield ["  ", Styled(name, "title"), f", {side.what}:"]
        yield from _version(repository, conflict, record, side.commit)
    for field in conflict.fields:
        yield ["  clash in ", Styled(field, "title"), *_values(field, versions)]
    yield ["  resolve it with one of"]
    ways = dict(_ways(conflict))
    width = max(map(len, ways))
    for way, meaning in ways.items():
        yield ["    ", Styled(_option(conflict.key, way, width), "id"), "  ", meaning]
    yield ["  or with new content, any JSON, which has no vectors, such as"]
    record = conflict.ours or conflict.theirs or conflict.base
    content = json.dumps(record and record.content, ensure_ascii=False)
    yield ["    ", Styled(_option(conflict.key, content), "id")]


def _version(
    repository: Repository, conflict: Conflict, record: Record | None, commit: str | None
) -> Iterator[list[Part]]:
    moved = record is not None and record.key != conflict.key
    where = f"at {record.key}: " if record is not None and moved else ""
    yield ["    ", where, "(no record)" if record is None else describe.preview(record)]
    if commit is None:
        return
    try:
        blame = repository.blame(record.key if record else conflict.key, commit)
    except NotFoundError:  # no commit up to there had the key
        return
    title = describe.title(blame.commit)
    what = "deleted" if record is None else "written"
    yield [f"    {what} by ", *describe.byline(blame.commit), f"  {title}" if title else ""]
    known = describe.origin(record) if record else []
    if known:
        yield ["    from ", ", ".join(f"{name} {describe.plain([value])}" for name, value in known)]


def _values(field: str, versions: tuple[Record | None, ...]) -> Iterator[Part]:
    """The value of a field in each version, if its values can be shown."""
    values = [None if record is None else value_at(record, field) for record in versions]
    if any(isinstance(value, bytes) for value in values):
        yield ": the vectors differ"
        return
    if all(value is None or value is Missing.ABSENT for value in values):
        return
    separator = ": "
    for name, record, value in zip(Sides._fields, versions, values, strict=True):
        if record is not None:
            absent = value is Missing.ABSENT
            said = "nothing" if absent else json.dumps(value, ensure_ascii=False)
            yield f"{separator}{name} {said}"
            separator = ", "


def _ways(conflict: Conflict) -> Iterator[tuple[str, str]]:
    """The options that resolve a conflict, and what each does."""
    yield "ours", _taking(conflict, conflict.ours, "keep")
    yield "theirs", _taking(conflict, conflict.theirs, "take")
    if conflict.base is not None:
        yield "base", _taking(conflict, conflict.base, "go back to")
    if conflict.ours is not None and conflict.theirs is not None:
        yield "delete", "leave no record"


def _taking(conflict: Conflict, record: Record | None, verb: str) -> str:
    if record is None:
        return "leave no record"
    return f"{verb} it" + (f" at {record.key}" if conflict.kind in _TWO_KEYS else "")


def _option(key: str, way: str, width: int = 0) -> str:
    option = f"--resolve {shlex.quote(f'{key}={way}')}"
    return option + " " * (width - len(way))

"""The links of objects, and whether any ref reaches an object."""

from collections.abc import Callable, Collection

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.engine.protocol import Engine
from mnemosyne_vcs.errors import CorruptObjectError
from mnemosyne_vcs.format.objects import (
    decode_commit,
    decode_node,
    decode_record,
    is_vector,
    object_kind,
)
from mnemosyne_vcs.graph import Lookup, ancestors
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Commit

__all__ = ["is_held", "is_reached", "links"]

MOST_READ = 50_000
ATTEMPTS = 3


def links(block: Id, data: bytes) -> list[Id]:
    """The objects that an object links to.

    Raises:
        CorruptObjectError: the object is damaged.
    """
    if is_vector(block):
        return []
    match object_kind(block, data):
        case "commit":
            commit = decode_commit(block, data)
            return [commit.tree_cid, *commit.parent_cids]
        case "node":
            return list(decode_node(block, data).links)
        case _:
            return list(decode_record(block, data).vectors.values())


def is_reached(engine: Engine, lookup: Callable[[Id], Commit | None], wanted: Id) -> bool | None:
    """Whether any ref reaches an object, which need not exist.

    Args:
        engine: where the refs and the other objects are.
        lookup: gives a commit by its id, None if it is not there.
        wanted: the object.

    Returns:
        None if that is unknown: it would take long, or another object is missing or damaged.
    """
    heads = engine.refs().values()
    roots: dict[Id, None] = {}
    try:
        for commit in ancestors(_present(lookup), heads):
            if commit.cid == wanted:
                return True
            roots[commit.tree_cid] = None
            if len(roots) > MOST_READ:
                return None
        return _is_below(engine, wanted, roots)
    except _AbsentError as error:
        return True if error.commit == wanted else None
    except CorruptObjectError:
        return None


def is_held(engine: Engine, lookup: Callable[[Id], Commit | None], commit: Commit) -> bool:
    """Whether a commit is in the past of what refs name now.

    Args:
        engine: where the refs are.
        lookup: gives a commit by its id, None if it is not there.
        commit: the commit.
    """
    for _ in range(ATTEMPTS):
        heads = set(engine.refs().values())
        if commit.cid in heads:
            return True
        try:
            for each in ancestors(_present(lookup), heads):
                if each.id == commit.id:
                    return True
                if each.generation < commit.generation:
                    break
        except _AbsentError:
            continue  # that ref was deleted meanwhile
        return False
    return False


class _AbsentError(Exception):
    def __init__(self, commit: Id) -> None:
        super().__init__(commit)
        self.commit = commit


def _present(lookup: Callable[[Id], Commit | None]) -> Lookup:
    def look_up(commit: Id) -> Commit:
        found = lookup(commit)
        if found is None:
            raise _AbsentError(commit)
        return found

    return look_up


def _is_below(engine: Engine, wanted: Id, roots: Collection[Id]) -> bool | None:
    """Whether trees reach an object; records are only read to find a vector."""
    seen, level, read = set(roots), list(roots), 0
    while level and wanted not in seen:
        below: list[Id] = []
        for batch in batches(level):
            read += len(batch)
            found = engine.read(batch)
            if len(found) < len(batch) or read > MOST_READ:
                return None
            below += (link for each in found.items() for link in _below(*each, wanted))
        level = [block for block in dict.fromkeys(below) if block not in seen]
        seen.update(level)
    return wanted in seen


def _below(block: Id, data: bytes, wanted: Id) -> list[Id]:
    """The nodes to search for an object, or the object itself."""
    found = links(block, data)
    if is_vector(wanted) or wanted in found:
        return found
    is_leaf = object_kind(block, data) == "node" and not decode_node(block, data).level
    return [] if is_leaf else found

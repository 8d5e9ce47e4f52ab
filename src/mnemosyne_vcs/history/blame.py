"""Blame: the commit that set the value of a record, of one field, or of a whole subtree."""

from collections.abc import Iterator

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.graph import ancestors
from mnemosyne_vcs.history.fields import value_at
from mnemosyne_vcs.history.index import Writers, changing
from mnemosyne_vcs.model import Blame, Commit, Record
from mnemosyne_vcs.trees import Tree
from mnemosyne_vcs.values import Missing, same_json

__all__ = ["blame", "blame_all", "blame_field"]


def blame(blocks: Blocks, key: str, at: Commit) -> Blame:
    """The commit that set the value that a key has at a commit, or deleted it.

    It is the commit that wrote the record, even if a merge, a cherry-pick or an undo brought it
    there since. If that commit is gone from the store, it is the one that brought the record.

    Args:
        blocks: the objects.
        key: the key.
        at: the commit.

    Raises:
        NotFoundError: no commit up to there had the key.
    """
    record = Tree.of(blocks, at).record(key)
    if record is not None and (writer := Writers(blocks, at).find(record.transaction_id)):
        return Blame(key, record, writer)
    return _brought(blocks, key, at)


def blame_all(blocks: Blocks, prefix: str, at: Commit) -> Iterator[Blame]:
    """The commit that wrote each record below a prefix, in order of key; see `blame`.

    Args:
        blocks: the objects.
        prefix: what the keys start with.
        at: the commit.
    """
    writers = Writers(blocks, at)
    for record in blocks.records(Tree.of(blocks, at).scan(prefix)):
        writer = writers.find(record.transaction_id)
        if writer is None:
            yield _brought(blocks, record.key, at)
        else:
            yield Blame(record.key, record, writer)


def blame_field(blocks: Blocks, key: str, field: str, at: Commit) -> Blame:
    """The commit that set the value that a field of a record has at a commit, or removed it.

    It follows the versions that each version was made from, as long as one has the same value.

    Args:
        blocks: the objects.
        key: the key.
        field: see `mnemosyne_vcs.history.fields.value_at`.
        at: the commit.

    Returns:
        The commit, with the record that it left; for a deleted record, the deletion.

    Raises:
        NotFoundError: no commit up to there had the key, or no version of it had the field.
    """
    found = blame(blocks, key, at)
    while found.record is not None:
        value = value_at(found.record, field)
        versions = _versions_before(blocks, found.record, found.commit)
        same = (
            (record, parent)
            for record, parent in versions
            if same_json(value, value_at(record, field))
        )
        before = next(same, None)
        if before is None:
            if value is Missing.ABSENT and not versions:
                raise NotFoundError(f"no version of {key!r} up to {at.id} has a field {field!r}")
            break
        found = blame(blocks, before[0].key, before[1])
    return found


def _brought(blocks: Blocks, key: str, at: Commit) -> Blame:
    """The newest commit that left a key with the record that it has at a commit, or without one.

    If it has no record and no commit deleted it, a merge dropped what the other side had.
    """
    there, found = Tree.of(blocks, at), False
    held = there.get(key)
    for commit in changing(blocks, key, at):
        found = True
        if Tree.of(blocks, commit).get(key) == held:
            return Blame(key, there.record(key), commit)
    for commit in ancestors(blocks.walk(), [at.cid]) if found else ():
        parents = map(blocks.commit, commit.parent_cids)
        if any(Tree.of(blocks, parent).get(key) for parent in parents):
            return Blame(key, None, commit)
    raise NotFoundError(f"no commit up to {at.id} had a record {key!r}")


def _versions_before(blocks: Blocks, record: Record, commit: Commit) -> list[tuple[Record, Commit]]:
    """The records that the parents of a commit had in place of the one that it wrote."""
    found: list[tuple[Record, Commit]] = []
    for parent in map(blocks.commit, commit.parent_cids):
        before = Tree.of(blocks, parent)
        version = before.record(record.key)
        if version is None and record.moved_from is not None:
            version = before.record(record.moved_from)
        if version is not None:
            found.append((version, parent))
    return found

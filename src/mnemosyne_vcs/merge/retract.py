"""Taking back what came from a source."""

from collections.abc import Mapping
from dataclasses import dataclass

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.format.validation import record_id
from mnemosyne_vcs.frozen import freeze
from mnemosyne_vcs.history.log import history
from mnemosyne_vcs.history.trace import Lineage, Origin
from mnemosyne_vcs.model import Change, Commit, Record
from mnemosyne_vcs.transaction.transaction import Transaction
from mnemosyne_vcs.trees import Tree

__all__ = ["Retraction", "retract"]


@dataclass(frozen=True, slots=True)
class Retraction:
    """What taking records back changed, or would change.

    Attributes:
        changes: what happens to each record, by branch; branches without any are left out.
        commits: the commit that did it, by branch; empty if it was only planned.
    """

    changes: Mapping[str, tuple[Change, ...]]
    commits: Mapping[str, Commit]

    def __post_init__(self) -> None:
        freeze(self, "changes", "commits")


def retract(transaction: Transaction, blocks: Blocks, origin: Origin) -> tuple[Change, ...]:
    """Take back what came from an origin: give each such record its newest earlier state.

    That is the newest value, or absence, before it that did not come from the origin; where there
    is none, the record is deleted. It comes back under the key that the record has now, unless the
    move there is itself what is taken back; if another record stands in its way there by now, or
    has its id, it is deleted. What did not come from the origin stays as it is.

    Args:
        transaction: what to do it in.
        blocks: the objects.
        origin: whose records to take back.

    Returns:
        What it changes, in order of key.
    """
    lineage = Lineage(blocks, origin)
    transaction.depends_on()
    return tuple(
        _take_back(transaction, blocks, lineage, blocks.record(key, block))
        for key, block, _ in lineage.live(transaction.base)
    )


def _take_back(
    transaction: Transaction, blocks: Blocks, lineage: "Lineage", record: Record
) -> Change:
    key = record.key
    for version in history(blocks, key, transaction.base):
        block = Tree.of(blocks, version.commit).get(version.key)
        if version.record is None or block is None:
            break
        if lineage.through(block, version.commit) is not None:
            continue
        if version.key == key:
            transaction.restore(key, block)
        elif not lineage.wrote(record):
            _copy(transaction, key, version.record)
        elif version.key not in transaction and not _double(transaction, key, version.key):
            transaction.delete(key)
            transaction.restore(version.key, block)
            return Change(version.key, "moved", record, version.record)
        else:
            break
        return Change(key, "changed", record, version.record)
    transaction.delete(key)
    return Change(key, "removed", record, None)


def _double(transaction: Transaction, old: str, new: str) -> bool:
    """Whether a move would put a record beside another one with the same id."""
    id = record_id(new)
    return id not in (None, record_id(old)) and any(
        record_id(key) == id for key in transaction.scan_keys("/")
    )


def _copy(transaction: Transaction, key: str, record: Record) -> None:
    """Write under a key what stood under another one before a move."""
    transaction.put(
        key,
        record.content,
        vectors=record.vectors,
        embedder=record.embedder,
        provenance=record.provenance,
        event_time=record.event_time,
    )

"""Taking back the records that came from a source."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.format.objects import StoredRecord
from mnemosyne_vcs.format.validation import record_id
from mnemosyne_vcs.frozen import freeze
from mnemosyne_vcs.history.index import changing
from mnemosyne_vcs.history.log import history
from mnemosyne_vcs.history.trace import Lineage, Origin, versions
from mnemosyne_vcs.merge.operation import Step
from mnemosyne_vcs.merge.trees import Merged
from mnemosyne_vcs.model import Change, Commit, Record
from mnemosyne_vcs.transaction.changes import Draft, Held
from mnemosyne_vcs.trees import Tree

__all__ = ["Retraction", "retract"]


@dataclass(frozen=True, slots=True)
class Retraction:
    """What taking records back changed.

    Attributes:
        changes: what happened to each record, by branch; branches without any are left out.
        commits: the commit that did it, by branch.
    """

    changes: Mapping[str, tuple[Change, ...]]
    commits: Mapping[str, Commit]

    def __post_init__(self) -> None:
        freeze(self, "changes", "commits")


def retract(blocks: Blocks, head: Commit, origin: Origin, *, by_index: bool = False) -> Step:
    """Take back what came from an origin: give each such record its newest earlier state.

    That is the newest value, or absence, before it that did not come from the origin; if there is
    none, the record is deleted. It is restored under the present key of the record, unless the
    move to that key is itself taken back: then the key gets back what the move replaced, and if
    another record has the old key or the id by now, the record is deleted. Records that did not
    come from the origin are not changed.

    Args:
        blocks: the objects.
        head: the head.
        origin: whose records to take back.
        by_index: whether to find them by the engine's index, if it has them, rather than by
            reading every record.
    """
    among = versions(blocks, [head], origin) if by_index else None
    retraction = _Retract(blocks, head, Lineage(blocks, origin, among=among))
    changes = retraction.run()
    return Step(
        [],
        Merged(retraction.changes, []),
        f"retract what came from {origin}",
        {"Retracts": str(origin)},
        changes=tuple(changes),
    )


class _Retract:
    """The head of a branch, and the changes that take records back so far."""

    def __init__(self, blocks: Blocks, head: Commit, lineage: Lineage) -> None:
        self.changes: dict[str, Held] = {}
        self._blocks = blocks
        self._head = head
        self._tree = Tree.of(blocks, head)
        self._lineage = lineage

    def run(self) -> list[Change]:
        """Take back the records that came from the origin, in order of key."""
        found = self._lineage.live(self._head)
        records = list(self._blocks.records((key, block) for key, block, _ in found))
        moved = {record.key: record for record in records if self._moved_by_origin(record)}
        sources = {record.moved_from for record in moved.values()}
        before = {key: self._before(record) for key, record in moved.items()}
        for key in moved:
            self.changes[key] = None if key in sources else before[key].get(key)
        changes: list[Change] = []
        for record in records:
            if record.key in moved:
                changes += self._move_back(record, before[record.key])
            else:
                changes.append(self._take_back(record))
        return changes

    def _moved_by_origin(self, record: Record) -> bool:
        return record.moved_from is not None and self._lineage.wrote(record)

    def _before(self, record: Record) -> Tree:
        """The tree in which a record was moved, or into which it was brought from elsewhere."""
        commits = list(changing(self._blocks, record.key, self._head))
        made = (each for each in commits if each.transaction_id == record.transaction_id)
        commit = next(made, commits[0])
        return Tree.of(self._blocks, self._blocks.commit(commit.parent_cids[0]))

    def _move_back(self, record: Record, before: Tree) -> Iterator[Change]:
        """Move a record back to where it was before the origin moved it."""
        key, old = record.key, record.moved_from
        source = old and before.get(old)
        if old and source and self._is_free(old, key):
            self.changes[old] = source
            yield Change(old, "moved", record, self._blocks.record(old, source))
        elif self.changes[key] is None:
            yield Change(key, "removed", record, None)
        if isinstance(own := self.changes[key], bytes) and key != old:
            yield Change(key, "changed", record, self._blocks.record(key, own))

    def _take_back(self, record: Record) -> Change:
        """Give one record its newest earlier state, under its present key."""
        key = record.key
        for version in history(self._blocks, key, self._head):
            block = Tree.of(self._blocks, version.commit).get(version.key)
            if version.record is None or block is None:
                break
            if self._lineage.through(block, version.commit) is not None:
                continue
            self.changes[key] = block if version.key == key else _copy(version.record)
            return Change(key, "changed", record, version.record)
        self.changes[key] = None
        return Change(key, "removed", record, None)

    def _is_free(self, key: str, old: str) -> bool:
        """Whether a record can move back from an old key: neither key nor id belong to another."""
        if self.changes.get(key, self._tree.get(key)) is not None:
            return False
        id = record_id(key)
        if id is None or id == record_id(old):
            return True
        held = {**dict(self._tree.scan("/")), **self.changes}
        return all(here is None or record_id(other) != id for other, here in held.items())


def _copy(record: Record) -> Draft:
    """The record under another key before a move, as a record to be written."""
    stored = StoredRecord(
        record.content,
        "",
        record.vectors.ids,
        record.embedder,
        record.provenance,
        record.event_time,
    )
    return Draft(stored, copy_vectors=True)

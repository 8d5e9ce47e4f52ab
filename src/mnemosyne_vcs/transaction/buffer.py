"""The reads and writes of a transaction, over the tree that it started from."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks, as_record
from mnemosyne_vcs.format.objects import (
    StoredRecord,
    decode_record,
    decode_vector,
    encode_record,
    encode_vector,
    new_salt,
    object_id,
    vector_id,
)
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Conflict, ConflictKind, Provenance, Record
from mnemosyne_vcs.transaction.changes import Draft

if TYPE_CHECKING:
    from mnemosyne_vcs.model import Vector

__all__ = ["Buffer"]

MOST_DRAFTS = 512
MOST_READ = 64


class Buffer:
    """Uncommitted writes, and the reads that they depend on.

    A record that is put is a draft until it is compared with the one that it replaces: if they are
    equal, there is nothing to write. All drafts are compared at once when that is needed, at the
    latest for the commit.

    Args:
        blocks: the objects.
        root: the tree that the transaction started from.
        transaction: id of the transaction, which its records carry.

    Attributes:
        pending: the record that each key will hold that was written, drafts aside; None if it was
            deleted.
        read_keys: the keys that were read.
        read_prefixes: the prefixes that were read.
    """

    def __init__(self, blocks: Blocks, root: Id, transaction: str) -> None:
        self.pending: dict[str, Id | None] = {}
        self.read_keys: set[str] = set()
        self.read_prefixes: set[str] = set()
        self._blocks = blocks
        self._root = root
        self._present: dict[str, Id | None] = {}
        self._new: dict[Id, bytes] = {}
        self._borrowed: dict[str, tuple[Id, ...]] = {}
        self._drafts: dict[str, Record] = {}
        self._transaction = transaction
        self._origins: dict[Id, Provenance] = {}

    @property
    def has_writes(self) -> bool:
        """Whether anything was written or deleted."""
        return bool(self.pending or self._drafts)

    def put_back(self, key: str, record: Id | None) -> None:
        """Let a key hold a record that the repository holds; None for no record."""
        self._drafts.pop(key, None)
        self._hold(key, record, {})

    def changes(self, root: Id) -> dict[str, Id | None]:
        """The writes that make a difference to a tree."""
        there = self._find(root, self.pending)
        return {key: block for key, block in self.pending.items() if there.get(key) != block}

    def origins(
        self, records: Iterable[Id | None], objects: Mapping[Id, bytes]
    ) -> tuple[list[Provenance], list[Provenance]] | None:
        """The provenance of those of some records that this writes, and of those that it takes
        over; None if that takes reading many.

        Args:
            records: the records; None for none.
            objects: those that were read already, by id.
        """
        own, written, old = self._origins, list[Provenance](), list[Id]()
        for each in records:
            if each in own:
                written.append(own[each])
            elif each is not None:
                old.append(each)
        if len(old) > MOST_READ or not all(each in objects for each in old):
            return None
        return written, [decode_record(each, objects[each]).provenance for each in old]

    def objects(self, keys: Collection[str], *, put_back: bool) -> dict[Id, bytes]:
        """The blocks that are new.

        Args:
            keys: the keys that are to be written.
            put_back: whether to give the blocks of their records from the past again.
        """
        return {**self._past(keys), **self._new} if put_back else self._new.copy()

    def clashes(self, head: Id) -> list[Conflict]:
        """Where the tree that the branch has now differs in what was read or written here."""
        self.settle()
        prefixes = tuple(self.read_prefixes)
        conflicts: list[Conflict] = []
        for key, before, after in tree.diff(self._blocks.node, self._root, head):
            written = key in self.pending
            ours = self.pending[key] if written else before
            read = key in self.read_keys or (prefixes and key.startswith(prefixes))
            if read or (written and not self._agree(key, ours, after)):
                conflicts.append(self._conflict(key, before, ours, after))
        return conflicts

    def write(self, draft: Record) -> None:
        """Buffer a record whose vectors are still plain floats."""
        if len(self._drafts) == MOST_DRAFTS:
            self.settle()
        before = self._drafts.get(draft.key)
        if before is not None and before.moved_from is not None:
            draft = replace(draft, moved_from=before.moved_from)
        self._drafts[draft.key] = draft

    def write_merged(self, key: str, draft: Draft) -> None:
        """Buffer a record that a merge has put together."""
        record, blocks = replace(draft.record, transaction=self._transaction), dict[Id, bytes]()
        if draft.copy_vectors:
            floats = {n: self._blocks.vector(id).tobytes() for n, id in record.vectors.items()}
            vectors, blocks = _new_vectors(floats)
            record = replace(record, vectors=vectors)
        data = encode_record(record, new_salt())
        new = object_id(data)
        self._origins[new] = record.provenance
        self._hold(key, new, {**blocks, new: data})
        if not draft.copy_vectors:
            self._borrowed[key] = tuple(record.vectors.values())

    def lookup(self, key: str) -> Id | None:
        """The record under a key, writes included."""
        if key in self._drafts:
            self.settle()
        return self._current([key]).get(key)

    def entries(self, prefix: str) -> list[tuple[str, Id]]:
        """The keys that start with a prefix and their records, writes included, in order."""
        self.settle()
        entries = dict(tree.scan(self._blocks.node, self._root, prefix))
        for key, record in self.pending.items():
            if record is None:
                entries.pop(key, None)
            elif key.startswith(prefix):
                entries[key] = record
        return sorted(entries.items())

    def records(self, entries: Iterable[tuple[str, Id]]) -> Iterator[Record]:
        """The records that `entries` gave."""
        if not self._new:
            return self._blocks.records(entries)
        return (self.record(key, block) for key, block in entries)

    def written(self) -> Iterator[Record]:
        """The records that are to be put somewhere, with their vectors, in no order."""
        put_back: list[tuple[str, Id]] = []
        for key, block in self.pending.items():
            if block in self._new:
                yield self.record(key, block)
            elif block is not None:
                put_back.append((key, block))
        yield from self._blocks.records(put_back, with_vectors=True)

    def record(self, key: str, block: Id) -> Record:
        """A record that was written here or that the repository holds."""
        if block not in self._new:
            return self._blocks.record(key, block)
        stored = decode_record(block, self._new[block])
        mine = {id: self._new[id] for id in stored.vectors.values() if id in self._new}

        def load(vector: Id) -> "Vector":
            data = mine.get(vector)
            return self._blocks.vector(vector) if data is None else decode_vector(vector, data)

        return as_record(key, stored, load)

    def settle(self) -> None:
        """Compare the drafts with what they replace, and hold those that say something else.

        Raises as `Blocks.read` does; then nothing has changed.
        """
        current = self._current(self._drafts)
        blocks = self._read(block for block in current.values() if block)

        def load(vector: Id) -> "Vector":
            return decode_vector(vector, blocks[vector])

        replaced = {
            key: as_record(key, decode_record(block, blocks[block]), load)
            for key, block in current.items()
            if block
        }
        blocks.update(self._vectors_to_compare(replaced))
        drafts, self._drafts = self._drafts, {}
        for key, draft in drafts.items():
            old = replaced.get(key)
            if old is None:
                self._hold(key, *self._encoded(draft, {}))
            elif draft.same_value(old):
                self.pending.setdefault(key, current[key])
            else:
                mine = old.transaction_id == self._transaction
                new = replace(draft, moved_from=old.moved_from) if mine else draft
                self._hold(key, *self._encoded(new, _shared(draft, old, blocks)))

    def _vectors_to_compare(self, replaced: Mapping[str, Record]) -> dict[Id, bytes]:
        """The vectors of replaced records that are at hand, and those that have to be read because
        nothing else tells a draft from what it replaces."""
        found: dict[Id, bytes] = {}
        undecided: list[Id] = []
        for key, old in replaced.items():
            draft, vectors = self._drafts[key], old.vectors.ids.values()
            found.update(self._at_hand(vectors))
            if draft.content == old.content and draft.comparable == old.comparable:
                undecided += vectors
        return {**found, **self._read(undecided)}

    def _at_hand(self, ids: Iterable[Id]) -> dict[Id, bytes]:
        """Those of some records and vectors that need not be read."""
        known = ((block, self._new.get(block) or self._blocks.kept(block)) for block in ids)
        return {block: data for block, data in known if data is not None}

    def _read(self, ids: Iterable[Id]) -> dict[Id, bytes]:
        """Records and vectors, those that are not at hand all at once."""
        wanted = set(ids)
        found = self._at_hand(wanted)
        return {**found, **self._blocks.values(wanted - found.keys())}

    def _current(self, keys: Collection[str]) -> dict[str, Id | None]:
        """The records under keys, writes included, drafts aside."""
        there = self._find(self._root, [key for key in keys if key not in self.pending])
        return {key: self.pending[key] if key in self.pending else there.get(key) for key in keys}

    def _hold(self, key: str, record: Id | None, blocks: Mapping[Id, bytes]) -> None:
        """Let a key hold a record, some blocks of which are new."""
        if key in self.pending:
            self._forget(key)
        self.pending[key] = record
        self._new.update(blocks)

    def _forget(self, key: str) -> None:
        """Undo what was written under a key."""
        record = self.pending.pop(key)
        data = self._new.pop(record, None) if record else None
        if record and data:
            for vector in decode_record(record, data).vectors.values():
                self._new.pop(vector, None)
        self._borrowed.pop(key, None)

    def _encoded(self, draft: Record, shared: Mapping[str, Id]) -> tuple[Id, Mapping[Id, bytes]]:
        """The id of a record to be written, and its new blocks.

        Args:
            draft: the record, whose vectors are still plain floats.
            shared: those of its vectors that the record which it replaces has already.
        """
        floats = {name: each for name, each in draft.vectors.ids.items() if name not in shared}
        vectors, blocks = _new_vectors(floats)
        blocks.update((id, self._new[id]) for id in shared.values() if id in self._new)
        stored = StoredRecord(
            draft.content,
            self._transaction,
            {**shared, **vectors},
            draft.embedder,
            draft.provenance,
            draft.event_time,
            draft.moved_from,
        )
        data = encode_record(stored, new_salt())
        record = object_id(data)
        blocks[record] = data
        self._origins[record] = draft.provenance
        return record, blocks

    def _find(self, root: Id, keys: Collection[str]) -> Mapping[str, Id | None]:
        """The records under keys of a tree; what was found in the first tree is remembered."""
        if root != self._root:
            return tree.get_many(self._blocks.nodes, root, keys)
        unknown = [key for key in keys if key not in self._present]
        found = tree.get_many(self._blocks.nodes, root, unknown)
        self._present.update((key, found.get(key)) for key in unknown)
        return self._present

    def _past(self, keys: Collection[str]) -> dict[Id, bytes]:
        """The records that come from the past, and their vectors: to write again, since what no
        ref reaches may be collected as garbage at any moment until this commit does.
        """
        past = [record for key in keys if (record := self.pending[key]) and record not in self._new]
        vectors = [vector for key in keys for vector in self._borrowed.get(key, ())]
        if not (past or vectors):
            return {}
        records = self._blocks.read(past)
        for block, data in records.items():
            vectors += decode_record(block, data).vectors.values()
        return {**records, **self._blocks.read(vectors)}

    def _agree(self, key: str, ours: Id | None, theirs: Id | None) -> bool:
        if ours is None or theirs is None:
            return ours is theirs
        return self.record(key, ours).same_value(self.record(key, theirs))

    def _conflict(self, key: str, base: Id | None, ours: Id | None, theirs: Id | None) -> Conflict:
        kind: ConflictKind = "edit/edit"
        if base is None and ours is not None:
            kind = "add/add"
        elif ours is None and base is not None:
            kind = "delete/edit"
        elif theirs is None:
            kind = "edit/delete"
        return Conflict(
            key, kind, self._found(key, base), self._found(key, ours), self._found(key, theirs)
        )

    def _found(self, key: str, block: Id | None) -> Record | None:
        return None if block is None else self.record(key, block)


def _new_vectors(floats: Mapping[str, bytes]) -> tuple[dict[str, Id], dict[Id, bytes]]:
    """The ids of vectors by name, and their blocks."""
    ids: dict[str, Id] = {}
    blocks: dict[Id, bytes] = {}
    for name, each in floats.items():
        data = encode_vector(each, new_salt())
        ids[name] = vector_id(data)
        blocks[ids[name]] = data
    return ids, blocks


def _shared(draft: Record, old: Record, blocks: Mapping[Id, bytes]) -> dict[str, Id]:
    """The vectors of a record, still plain floats, that the one which it replaces has too.

    Args:
        draft: the record.
        old: the one that it replaces.
        blocks: the vectors that it can be compared with.
    """
    return {
        name: old.vectors.ids[name]
        for name, floats in draft.vectors.ids.items()
        if old.vectors.ids.get(name) in blocks and old.vectors[name].tobytes() == floats
    }

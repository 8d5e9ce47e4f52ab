"""Three-way merging of trees: the changes that give one side the other's changes too.

Cost follows the number of changes: two diffs are walked, and records are read only where both
sides touched the same key.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks, as_record
from mnemosyne_vcs.format.objects import StoredRecord, decode_record
from mnemosyne_vcs.format.validation import record_id
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.merge.record import Version, combine, identical
from mnemosyne_vcs.model import Conflict, ConflictKind, Record
from mnemosyne_vcs.transaction.changes import Draft, Held
from mnemosyne_vcs.values import Missing

__all__ = ["Clash", "Follow", "Merged", "State", "clash_of_ids", "merge_states", "merge_trees"]


Follow: TypeAlias = Callable[[str], str | None]
"""The new key of a record that is gone from a key, if known."""


@dataclass(frozen=True, slots=True)
class State:
    """The records of a tree, and changes to it that are not written.

    Attributes:
        root: the tree.
        changes: other records of some keys; `Missing.UNKNOWN` equals nothing.
    """

    root: Id
    changes: Mapping[str, Held | Missing] = field(default_factory=dict[str, Held | Missing])


@dataclass(frozen=True, slots=True)
class Clash:
    """A conflict, with the changes on our side that each resolution makes.

    Attributes:
        conflict: the conflict.
        ours: the changes that keep our side.
        theirs: the changes that take their side.
        base: the changes that restore what both started from; None if that is unknown.
        delete: the changes that delete the record.
    """

    conflict: Conflict
    ours: Mapping[str, Held]
    theirs: Mapping[str, Held]
    base: Mapping[str, Held] | None
    delete: Mapping[str, Held]


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of merging two trees.

    Attributes:
        changes: the changes on our side, by key.
        clashes: the conflicts, in order of key; their keys are not in `changes`.
    """

    changes: dict[str, Held]
    clashes: list[Clash]

    @property
    def conflicts(self) -> list[Conflict]:
        """The conflicts, in order of key."""
        return [clash.conflict for clash in self.clashes]


def merge_trees(
    blocks: Blocks, base: Id, ours: Id, theirs: Id, names: tuple[str, str] | None = None
) -> Merged:
    """Merge two trees that started from a third.

    A record that only one side changed is taken unchanged, so that blame still finds its writer.

    Args:
        blocks: the objects.
        base: root of the tree that both started from.
        ours: root of the tree that the changes are for.
        theirs: root of the other tree.
        names: ids of the commits that hold ours and theirs. A record that is merged from both
            versions names them in `derived_from`.
    """
    return merge_states(blocks, State(base), State(ours), theirs, names)


def merge_states(
    blocks: Blocks,
    base: State,
    ours: State,
    theirs: Id,
    names: tuple[str, str] | None = None,
    follow: tuple[Follow, Follow] | None = None,
) -> Merged:
    """Merge as `merge_trees` does, with base and ours that may have unwritten changes.

    Args:
        blocks: the objects.
        base: what both started from.
        ours: the state that the changes are for.
        theirs: root of the other tree.
        names: as for `merge_trees`.
        follow: finds the moves on our side and on theirs that records do not show, because they
            were changed again afterwards.
    """
    merge = _Merge(blocks, base, ours, theirs, names)
    return merge.run(*(follow or (_unknown, _unknown)))


class _Merge:
    def __init__(
        self,
        blocks: Blocks,
        base: State,
        ours: State,
        theirs: Id,
        names: tuple[str, str] | None,
    ) -> None:
        self._blocks = blocks
        self._names = names
        self._base: dict[str, Held | Missing] = {}
        self._ours: dict[str, Held | Missing] = {}
        self._theirs: dict[str, Held] = {}
        self._read: dict[Id, StoredRecord] = {}
        self._changes: dict[str, Held] = {}
        self._clashes: list[Clash] = []
        self._compare(base, ours, theirs)

    def _compare(self, base: State, ours: State, theirs: Id) -> None:
        """Collect the changes of each side, with the state before."""
        node = self._blocks.node
        for key, before, after in tree.diff(node, base.root, ours.root):
            self._base[key], self._ours[key] = before, after
        for key, before, after in tree.diff(node, base.root, theirs):
            self._base[key], self._theirs[key] = before, after
        for key in base.changes.keys() | ours.changes.keys():
            before, mine = (
                each.changes[key] if key in each.changes else tree.get(node, each.root, key)
                for each in (base, ours)
            )
            other = tree.get(node, theirs, key)
            self._base[key] = before
            for side, after in ((self._ours, mine), (self._theirs, other)):
                if identical(before, after):
                    side.pop(key, None)
            if not identical(before, mine):
                self._ours[key] = mine
            if not identical(before, other):
                self._theirs[key] = other

    def run(self, follow_ours: Follow, follow_theirs: Follow) -> Merged:
        both = self._ours.keys() & self._theirs.keys()
        self._prefetch(side[key] for key in both for side in (self._base, self._ours, self._theirs))
        moves = (
            self._moves(self._ours, both, follow_ours),
            self._moves(self._theirs, both, follow_theirs),
        )
        settled = self._follow_moves(*moves)
        for key, theirs in self._theirs.items():
            if key in settled:
                continue
            if key in both:
                self._combine(key, self._was(key), self._mine(key), self._other(key))
            else:
                self._changes[key] = theirs
        self._find_doubles()
        self._clashes.sort(key=lambda clash: clash.conflict.key)
        return Merged(self._changes, self._clashes)

    def _follow_moves(self, ours: Mapping[str, str], theirs: Mapping[str, str]) -> set[str]:
        """Merge records that one side moved with the other side's changes under the old key.

        A move onto a key that the other side has changed is merged key by key later.

        Args:
            ours: the new keys of the moves on our side.
            theirs: the new keys of the moves on theirs.

        Returns:
            The keys that are done.
        """
        settled: set[str] = set()
        for old in sorted(ours.keys() | theirs.keys()):
            here, there = ours.get(old, old), theirs.get(old, old)
            onto_ours = there != old and there in self._ours
            onto_theirs = here != old and here in self._theirs
            if here != there and (onto_ours or onto_theirs):
                continue
            base, mine, other = self._was(old), self._mine(here), self._other(there)
            if here != there and old not in (here, there):
                self._clash_of_moves(base, mine, other)
            else:
                self._combine(there if here == old else here, base, mine, other)
            settled |= {old, here, there}
        return settled

    def _moves(
        self, side: Mapping[str, Held | Missing], both: Collection[str], follow: Follow
    ) -> dict[str, str]:
        """The new keys to which one side has moved keys that both sides have changed."""
        removed = {key for key in both if side[key] is None}
        if not removed:
            return {}
        self._prefetch(side.values())
        found: dict[str, str] = {}
        with_id: dict[str | None, str] = {}
        for key, held in side.items():
            record = self._stored(held)
            if isinstance(record, Missing):
                continue
            if record.moved_from in removed:
                found[record.moved_from] = key
            if self._base[key] is None:
                with_id[record_id(key)] = key
        with_id.pop(None, None)
        for key in removed - found.keys():
            target = follow(key)
            if target is None or side.get(target) is None:
                target = with_id.get(record_id(key))
            if target is not None:
                found[key] = target
        return found

    def _find_doubles(self) -> None:
        """Find records that theirs would put beside one of ours with the same id: each is a clash.

        Ids that one side had twice before the merge are ignored.
        """
        mine = {
            record_id(key): key
            for key, held in self._ours.items()
            if not isinstance(held, Missing) and self._changes.get(key, held) is not None
        }
        mine.pop(None, None)
        for key, held in list(self._changes.items()):
            if (other := self._double(mine, key, held)) is not None:
                del self._changes[key]
                self._clash_of_ids(other, key, held)
        for clash in list(self._clashes):
            for key, held in clash.theirs.items():
                other = self._double(mine, key, held)
                if other is not None and other not in clash.theirs:
                    self._clashes = [each for each in self._clashes if each is not clash]
                    self._clash_of_ids(other, key, held)
                    break

    def _double(self, mine: Mapping[str | None, str], key: str, held: Held) -> str | None:
        """The key of ours with the same id as a key that is to be written."""
        is_new = held is not None and self._ours.get(key, self._base[key]) is None
        return mine.get(record_id(key)) if is_new else None

    def _clash_of_ids(self, other: str, key: str, held: Held) -> None:
        self._prefetch([self._ours[other], held])
        records = self._record(self._mine(other)), self._record(self._version(key, held))
        self._clashes.append(clash_of_ids(*records, held, self._base[other]))

    def _combine(self, key: str, base: Version, ours: Version, theirs: Version) -> None:
        """Merge three versions into one for a key."""
        outcome = combine(key, base, ours, theirs, self._blocks.vector, self._names)
        if isinstance(outcome, tuple):
            self._clash(key, base, ours, theirs, outcome)
        elif ours.key != key or outcome is not ours.held:
            self._changes.update(_instead(ours, key, outcome))

    def _clash(
        self,
        key: str,
        base: Version,
        ours: Version,
        theirs: Version,
        fields: tuple[str, ...],
    ) -> None:
        kind: ConflictKind = "edit/edit"
        if ours.held is None:
            kind = "delete/edit"
        elif theirs.held is None:
            kind = "edit/delete"
        elif base.held is None:
            kind = "add/add"
        old, mine, other = (_instead(ours, key, each.at(key)) for each in (base, ours, theirs))
        known = None if base.held is Missing.UNKNOWN else old
        conflict = self._conflict(key, kind, base, ours, theirs, fields)
        self._clashes.append(Clash(conflict, mine, other, known, _instead(ours, key, None)))

    def _clash_of_moves(self, base: Version, ours: Version, theirs: Version) -> None:
        gone: dict[str, Held] = {base.key: None, ours.key: None, theirs.key: None}
        old, mine, other = (gone | {each.key: each.at(each.key)} for each in (base, ours, theirs))
        conflict = self._conflict(base.key, "move/move", base, ours, theirs)
        self._clashes.append(Clash(conflict, mine, other, old, gone))

    def _conflict(
        self,
        key: str,
        kind: ConflictKind,
        base: Version,
        ours: Version,
        theirs: Version,
        fields: tuple[str, ...] = (),
    ) -> Conflict:
        old, mine, other = map(self._record, (base, ours, theirs))
        return Conflict(key, kind, old, mine, other, fields)

    def _record(self, version: Version) -> Record | None:
        if isinstance(version.record, Missing):
            return None
        return as_record(version.key, version.record, self._blocks.vector)

    def _was(self, key: str) -> Version:
        return self._version(key, self._base[key])

    def _mine(self, key: str) -> Version:
        return self._version(key, self._ours[key])

    def _other(self, key: str) -> Version:
        return self._version(key, self._theirs[key])

    def _version(self, key: str, held: Held | Missing) -> Version:
        return Version(key, held, self._stored(held))

    def _stored(self, held: Held | Missing) -> StoredRecord | Missing:
        if isinstance(held, Missing):
            return held
        if held is None:
            return Missing.ABSENT
        return held.record if isinstance(held, Draft) else self._read[held]

    def _prefetch(self, versions: Iterable[Held | Missing]) -> None:
        wanted = {each for each in versions if isinstance(each, bytes)} - self._read.keys()
        for block, data in self._blocks.read(wanted).items():
            self._read[block] = decode_record(block, data)


def clash_of_ids(
    ours: Record | None, theirs: Record | None, held: Held, base: Held | Missing
) -> Clash:
    """The clash of two records that have one id, under different keys.

    Args:
        ours: our record.
        theirs: their record.
        held: what the key of theirs holds.
        base: what the key of ours held where both sides started.
    """
    assert ours is not None
    assert theirs is not None
    conflict = Conflict(min(ours.key, theirs.key), "same-id", None, ours, theirs)
    gone: dict[str, Held] = {ours.key: None, theirs.key: None}
    return Clash(
        conflict,
        {theirs.key: None},
        {**gone, theirs.key: held},
        None if isinstance(base, Missing) else {**gone, ours.key: base},
        gone,
    )


def _unknown(_key: str) -> None:
    return None


def _instead(ours: Version, key: str, held: Held) -> dict[str, Held]:
    """The changes on our side that replace our version under a key."""
    return {ours.key: None, key: held}

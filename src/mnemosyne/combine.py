"""What three versions of a record come to: the one that a merge lets stand, or a clash."""

from dataclasses import dataclass, replace
from typing import TypeAlias

from mnemosyne.fieldwise import Load, Missing, merge_records, same_value
from mnemosyne.model import Provenance
from mnemosyne.objects import Id, StoredRecord

__all__ = ["Draft", "Held", "Version", "combine", "identical"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A record that is to be written.

    Attributes:
        record: the record; its writer is not known yet.
        copy_vectors: whether its vectors belong to another key, so that it needs its own.
    """

    record: StoredRecord
    copy_vectors: bool = False


Held: TypeAlias = Id | Draft | None
"""What stands under a key: a record of the store, one that is to be written, or nothing."""


@dataclass(frozen=True, slots=True)
class Version:
    """What stands under one key in one of the three states of a merge.

    Attributes:
        key: the key.
        held: what stands there.
        record: the record that this is.
    """

    key: str
    held: Held | Missing
    record: StoredRecord | Missing

    def at(self, key: str) -> Held:
        """The version as it stands under a key, which may be another than its own."""
        if isinstance(self.held, Missing) or isinstance(self.record, Missing):
            return None
        if self.key == key:
            return self.held
        return Draft(replace(self.record, transaction="", moved_from=self.key), copy_vectors=True)

    def says(self, record: StoredRecord, load: Load) -> bool:
        """Whether it has the value of a record, whatever the provenance."""
        return not isinstance(self.record, Missing) and same_value(self.record, record, load)

    @property
    def provenance(self) -> Provenance | None:
        """Where it came from; None if there is no record."""
        return None if isinstance(self.record, Missing) else self.record.provenance


def combine(
    key: str,
    base: Version,
    ours: Version,
    theirs: Version,
    load: Load,
    names: tuple[str, str] | None = None,
) -> Held | tuple[str, ...]:
    """What shall stand under a key that both sides have changed.

    Args:
        key: the key.
        base: what both started from, perhaps under another key.
        ours: our version; under another key than the base if our side moved it.
        theirs: their version, likewise.
        load: reads a vector.
        names: ids of the commits that hold ours and theirs, for the provenance of a record that
            is put together from both.

    Returns:
        What shall stand there, or the fields that clash, none where the whole record does.
    """
    if ours.held is Missing.UNKNOWN:
        return ()
    if isinstance(ours.record, Missing) or isinstance(theirs.record, Missing):
        return _deleted(base, ours, theirs, load)
    if identical(ours.held, theirs.held):
        return ours.at(key)
    merged = merge_records(base.record, ours.record, theirs.record, load)
    if isinstance(merged, tuple):
        return merged
    whole = [v for v in (ours, theirs) if v.says(merged, load)]
    if not whole:
        moved_onto = base.key == key and (ours.record.moved_from or theirs.record.moved_from)
        return () if moved_onto else _put_together(key, merged, ours, theirs, names)
    return (whole[0] if len(whole) == 1 else _either(key, base, ours, theirs, load)).at(key)


def identical(a: Held | Missing, b: Held | Missing) -> bool:
    """Whether it is the same block, or nothing, on either side."""
    return a is not Missing.UNKNOWN and (a is b or (isinstance(a, bytes) and a == b))


def _deleted(base: Version, ours: Version, theirs: Version, load: Load) -> tuple[()] | None:
    """What to do where a side has deleted the record: delete, unless the other changed it."""
    kept = ours if theirs.held is None else theirs
    if isinstance(kept.record, Missing):
        return None
    return None if kept.key == base.key and base.says(kept.record, load) else ()


def _either(key: str, base: Version, ours: Version, theirs: Version, load: Load) -> Version:
    """Which of two records of one value to take, whichever side each is on.

    The one under the key; the one whose provenance is new; the one with the lower id.
    """
    if ours.key != theirs.key:
        return ours if ours.key == key else theirs
    if not isinstance(base.record, Missing) and ours.says(base.record, load):
        changed = [v for v in (ours, theirs) if v.provenance != base.provenance]
        if len(changed) == 1:
            return changed[0]
    if isinstance(ours.held, bytes) and isinstance(theirs.held, bytes):
        return ours if ours.held < theirs.held else theirs
    return ours


def _put_together(
    key: str,
    merged: StoredRecord,
    ours: Version,
    theirs: Version,
    names: tuple[str, str] | None,
) -> Draft:
    """A merged record that is neither side's, as it is to be written under a key."""
    provenance = merged.provenance
    if names is not None:
        sources = sorted(zip((ours.key, theirs.key), names, strict=True))
        provenance = replace(provenance, derived_from=tuple(sources))
    across = ours.key != key or theirs.key != key
    return Draft(replace(merged, provenance=provenance), copy_vectors=across)

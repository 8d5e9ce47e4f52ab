"""The values that a transaction writes under a key."""

from dataclasses import dataclass
from typing import TypeAlias

from mnemosyne_vcs.format.objects import StoredRecord
from mnemosyne_vcs.ids import Id

__all__ = ["Draft", "Held"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A record that is to be written.

    Attributes:
        record: the record; its writer is not known yet.
        copy_vectors: whether its vectors belong to another key, so that it needs its own.
    """

    record: StoredRecord
    copy_vectors: bool


Held: TypeAlias = Id | Draft | None
"""What a key holds: a record of the store, one that is to be written, or nothing."""

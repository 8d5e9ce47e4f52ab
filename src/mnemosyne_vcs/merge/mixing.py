"""Refuses changes that would put vectors side by side that no search can compare.

Vectors belong together if they have the same name and their keys the same first part: all below
`/` are CrewAI's. They are mixed if they have several dimensions, or come from several models, as
far as the records name them. Vectors that were already mixed may stay so.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import DimensionError
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Record
from mnemosyne_vcs.transaction.transaction import Transaction

__all__ = ["check_mixing"]

_SAMPLE = 16


@dataclass(slots=True)
class _Kinds:
    """The kinds of some vectors.

    Attributes:
        dimensions: their dimensions.
        embedders: the models that made them, as far as they are known.
    """

    dimensions: set[int] = field(default_factory=set[int])
    embedders: set[str] = field(default_factory=set[str])

    def add(self, record: Record, name: str) -> None:
        """Add the vector of a record."""
        self.dimensions.add(len(record.vectors[name]))
        if record.embedder is not None:
            self.embedders.add(record.embedder)

    def mixed(self) -> set[str]:
        """The respects in which they differ from each other."""
        respects = {"dimensions": self.dimensions, "embedders": self.embedders}
        return {respect for respect, values in respects.items() if len(values) > 1}


def check_mixing(blocks: Blocks, transaction: Transaction) -> None:
    """Check that the writes of a transaction do not mix vectors that were not mixed before.

    Of the unchanged records, a few are read first, and all only if they differ.

    Args:
        blocks: the objects.
        transaction: the transaction.

    Raises:
        DimensionError: it would mix some; the message names them.
    """
    touched = transaction.touched()
    new: dict[tuple[str, str], _Kinds] = defaultdict(_Kinds)
    for record in transaction.written():
        for name in record.vectors:
            new[_first_part(record.key), name].add(record, name)
    root = transaction.base.tree_cid
    for (first, name), kinds in sorted(new.items()):
        kept = (entry for entry in _entries(blocks, root, first) if entry[0] not in touched)
        for record in islice(_with_vector(blocks, kept, name), _SAMPLE):
            kinds.add(record, name)
        mixed = kinds.mixed()
        if mixed and _were_uniform(blocks, root, first, name, mixed):
            raise _refusal(first, name, kinds)


def _were_uniform(blocks: Blocks, root: Id, first: str, name: str, respects: set[str]) -> bool:
    """Whether there were vectors, not mixed in one of the respects."""
    before = _Kinds()
    for record in _with_vector(blocks, _entries(blocks, root, first), name):
        before.add(record, name)
        if before.mixed() >= respects:
            return False
    return bool(before.dimensions)


def _first_part(key: str) -> str:
    """The first part of a key with its `/`; empty if the key has one part only."""
    return key[: key.find("/") + 1]


def _entries(blocks: Blocks, root: Id, first: str) -> Iterator[tuple[str, Id]]:
    """The keys with a first part, and their records."""
    if first:
        yield from tree.scan(blocks.node, root, first)
        return
    for key in tree.children(blocks.node, root):
        record = None if key.endswith("/") else tree.get(blocks.node, root, key)
        if record is not None:
            yield key, record


def _with_vector(blocks: Blocks, entries: Iterable[tuple[str, Id]], name: str) -> Iterator[Record]:
    records = blocks.records(entries, with_vectors=True)
    return (record for record in records if name in record.vectors)


def _refusal(first: str, name: str, kinds: _Kinds) -> DimensionError:
    called = f"vectors named {name!r}" if name else "embeddings"
    where = f"below {first!r}" if first else "of keys without '/'"
    if len(kinds.dimensions) > 1:
        what = f"{called} of {' and '.join(map(str, sorted(kinds.dimensions)))} dimensions"
    else:
        what = f"{called} of the models {' and '.join(map(repr, sorted(kinds.embedders)))}"
    return DimensionError(
        f"this would leave {what} side by side {where}, and a search compares only those of one "
        "kind; nothing was written; re-embed one side first (`Repository.reembed`), or allow it "
        "(`allow_mixed_vectors=True`, `--allow-mixed-vectors`) and re-embed the branch afterwards"
    )

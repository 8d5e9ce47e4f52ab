"""Finding the records that came from a source.

A record came from a source if its own provenance says so, or if it was derived from a version that
did, however many steps away. `derived_from` names versions by key and commit, so that the answer
does not depend on later changes to them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.format.objects import StoredRecord, decode_record
from mnemosyne_vcs.history.derived import versions_from
from mnemosyne_vcs.history.facts import find_named
from mnemosyne_vcs.history.index import Writers
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Commit, Record
from mnemosyne_vcs.trees import Tree

__all__ = ["Lineage", "Origin", "TracedRecord", "trace", "versions"]


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin that records are traced to: the records that match every given field.

    Attributes:
        source: `Provenance.source`.
        agent: `Provenance.agent`.
        run: `Provenance.run`.
        tool_call: `Provenance.tool_call`.
        transaction: the transaction that wrote the record (32 hex digits).

    Raises:
        ValidationError: no field is given.
    """

    source: str | None = None
    agent: str | None = None
    run: str | None = None
    tool_call: str | None = None
    transaction: str | None = None

    def __post_init__(self) -> None:
        if not self.given():
            raise ValidationError(
                "name what to trace: a source, an agent, a run, a tool call or a commit"
            )

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.given())

    def given(self) -> list[tuple[str, str]]:
        """The fields that are given, with their names."""
        named = ((each.name, getattr(self, each.name)) for each in fields(self))
        return [(name, value) for name, value in named if value is not None]

    def made(self, record: StoredRecord) -> bool:
        """Whether a record matches every given field."""
        return all(
            (record.transaction if name == "transaction" else getattr(record.provenance, name))
            == value
            for name, value in self.given()
        )


@dataclass(frozen=True, slots=True)
class TracedRecord:
    """A live record that came from the origin.

    Attributes:
        branch: the branch that it is on.
        record: the record.
        through: the keys that lead from it to a version that came from the origin itself: the one
            that it was derived from, the one that that was derived from, and so on. Empty if its
            own provenance names the origin.
    """

    branch: str
    record: Record
    through: tuple[str, ...] = ()


def trace(blocks: Blocks, heads: Mapping[str, Commit], origin: Origin) -> Iterator[TracedRecord]:
    """The live records that came from an origin, branch by branch, in order of key.

    Args:
        blocks: the objects.
        heads: the commits to look at, by the name of the branch.
        origin: what to trace to.
    """
    lineage = Lineage(blocks, origin, among=versions(blocks, heads.values(), origin))
    for branch, head in heads.items():
        found = lineage.live(head)
        records = blocks.records((key, block) for key, block, _ in found)
        for record, (_, _, through) in zip(records, found, strict=True):
            yield TracedRecord(branch, record, through)


def versions(
    blocks: Blocks, heads: Iterable[Commit], origin: Origin
) -> Mapping[str, set[Id]] | None:
    """The versions that may have come from an origin, by key, as the engine's index says; None if
    it does not.

    Args:
        blocks: the objects.
        heads: the commits whose records are asked for.
        origin: the origin.
    """
    if origin.transaction is not None:
        return None  # also what it moved came from it, which the index does not say
    return versions_from(blocks, list(heads), dict(origin.given()), origin.made)


@dataclass(frozen=True, slots=True)
class _Facts:
    """The origin of a version, as its record says."""

    made: bool
    derived_from: tuple[tuple[str, str], ...]
    moved: StoredRecord | None


class Lineage:
    """Finds the record versions that came from an origin, and remembers the answers.

    Args:
        blocks: the objects.
        origin: the origin.
        among: the versions that may have come from it, by key; any if not given.
    """

    def __init__(
        self, blocks: Blocks, origin: Origin, *, among: Mapping[str, set[Id]] | None = None
    ) -> None:
        self._blocks = blocks
        self._origin = origin
        self._among = among
        self._facts: dict[Id, _Facts] = {}
        self._through: dict[Id, tuple[str, ...] | None] = {}

    def live(self, head: Commit) -> list[tuple[str, Id, tuple[str, ...]]]:
        """The records at a commit that came from the origin: key, block and the keys between."""
        entries = self._entries(Tree.of(self._blocks, head))
        self._load(block for _, block in entries)
        traced = ((key, block, self.through(block, head)) for key, block in entries)
        return [(key, block, through) for key, block, through in traced if through is not None]

    def _entries(self, tree: Tree) -> list[tuple[str, Id]]:
        """The records of a tree that may have come from the origin, in order of key."""
        if self._among is None:
            return list(tree.scan())
        held = ((key, tree.get(key)) for key in sorted(self._among))
        there = ((key, block) for key, block in held if block is not None)
        return [(key, block) for key, block in there if block in self._among[key]]

    def wrote(self, record: Record) -> bool:
        """Whether the origin is the transaction that wrote a record."""
        return record.transaction_id == self._origin.transaction

    def through(self, block: Id, at: Commit) -> tuple[str, ...] | None:
        """The keys between a version and one that the origin made, fewest first; None if it did
        not come from the origin.

        Args:
            block: the version.
            at: a commit that holds it.
        """
        pending = [(block, at)]
        while pending:
            version, commit = pending[-1]
            if version in self._through:
                pending.pop()
                continue
            self._load([version])
            if self._facts[version].made:
                self._through[version] = ()
                continue
            sources = self._sources(version, commit)
            unknown = [(each, where) for _, each, where in sources if each not in self._through]
            if unknown:
                pending += unknown
                continue
            found = [
                (key, *through)
                for key, each, _ in sources
                if (through := self._through[each]) is not None
            ]
            self._through[version] = min(found, key=len, default=None)
        return self._through[block]

    def _load(self, versions: Iterable[Id]) -> None:
        fresh = [each for each in dict.fromkeys(versions) if each not in self._facts]
        for batch in batches(fresh):
            for block, data in self._blocks.read(batch).items():
                record = decode_record(block, data)
                follow = self._origin.transaction is not None and record.moved_from is not None
                self._facts[block] = _Facts(
                    self._origin.made(record),
                    record.provenance.derived_from,
                    record if follow else None,
                )

    def _sources(self, version: Id, at: Commit) -> list[tuple[str, Id, Commit]]:
        """The versions that one was derived from, with key and commit, if they are in the store."""
        facts = self._facts[version]
        named = [(key, find_named(self._blocks, commit)) for key, commit in facts.derived_from]
        if facts.moved is not None:
            named.append(self._moved_from(facts.moved, at))
        found: list[tuple[str, Id, Commit]] = []
        for key, commit in named:
            if commit is not None:
                block = Tree.of(self._blocks, commit).get(key)
                if block is not None:
                    found.append((key, block, commit))
        return found

    def _moved_from(self, record: StoredRecord, at: Commit) -> tuple[str, Commit | None]:
        """The key that a move took a record from; the move itself is not a new observation."""
        writer = Writers(self._blocks, at).find(record.transaction)
        before = find_named(self._blocks, writer.parents[0]) if writer else None
        return record.moved_from or "", before

"""The commits with a fact: by the engine's index, or by search.

The facts of a commit are its author, the run that its trailer names, the agent, run, source, task
and tool call of each record that it wrote, and the keys that the record was derived from. Those of
a record that it took over from elsewhere have fields of their own. The index of them is derived
data: a commit that it names is read before it is shown, and `verify` compares all of it with the
objects.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile
from math import inf

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.protocol import HasFacts
from mnemosyne_vcs.errors import CorruptObjectError, NotFoundError, ValidationError
from mnemosyne_vcs.format.objects import StoredRecord, decode_record
from mnemosyne_vcs.history.index import (
    FEW,
    changed_keys,
    complete_index,
    find_commit,
    is_indexed,
    quickly_changing,
)
from mnemosyne_vcs.ids import Id, parse_id
from mnemosyne_vcs.model import UNKNOWN, Commit, Provenance, Record
from mnemosyne_vcs.trees import Tree

__all__ = [
    "DERIVED_FROM",
    "RUN_TRAILER",
    "Known",
    "Named",
    "add_facts",
    "changed_records",
    "commit_facts",
    "facts_of",
    "find_named",
    "known_facts",
    "named_commits",
    "written",
]

RUN_TRAILER = "Run-Id"
"""The trailer by which adapters name the run of a commit."""
DERIVED_FROM = "derived_from"
"""The field of the keys of the versions that records were derived from."""
TAKEN_OVER = "old "
"""What the fields of records begin with that a commit took over, as an undo does."""
FIELDS = ("agent", "run", "source", "task", "tool_call")


def facts_of(
    author: str,
    trailers: Mapping[str, str],
    written: Iterable[Provenance],
    taken_over: Iterable[Provenance] = (),
) -> set[tuple[str, str]]:
    """The facts of a commit, as pairs of field and value.

    Args:
        author: its author.
        trailers: its trailers.
        written: the provenance of each record that it wrote.
        taken_over: the provenance of each other record that it left under a key that it changed.
    """
    facts = {("author", author)}
    if run := trailers.get(RUN_TRAILER):
        facts.add(("run", run))
    for before, origins in (("", written), (TAKEN_OVER, taken_over)):
        for origin in origins:
            if origin is UNKNOWN:
                continue
            for name in FIELDS:
                value = getattr(origin, name)
                if value is not None:
                    facts.add((before + name, value))
            for key, _ in origin.derived_from:
                facts.add((DERIVED_FROM, key))
    return facts


def commit_facts(blocks: Blocks, commit: Commit) -> set[tuple[str, str]]:
    """The facts of a commit, read from the objects."""
    return _facts(commit, (record for _, _, record in changed_records(blocks, commit)))


def _facts(commit: Commit, records: Iterable[StoredRecord]) -> set[tuple[str, str]]:
    by_writer: dict[bool, list[Provenance]] = {True: [], False: []}
    for record in records:
        by_writer[record.transaction == commit.transaction_id].append(record.provenance)
    return facts_of(commit.author, commit.trailers, by_writer[True], by_writer[False])


def changed_records(blocks: Blocks, commit: Commit) -> Iterator[tuple[str, Id, StoredRecord]]:
    """The records that a commit left under the keys that it changed: key, id and record, in order
    of key."""
    for batch in batches(_changed_entries(blocks, commit)):
        found = blocks.read([block for _, block in batch])
        for key, block in batch:
            yield key, block, decode_record(block, found[block])


def _changed_entries(blocks: Blocks, commit: Commit) -> Iterator[tuple[str, Id]]:
    """The keys that a commit changed and did not delete, and the ids of their records, in order of
    key."""
    there = Tree.of(blocks, commit)
    if len(commit.parents) == 1:
        changes = Tree.before(blocks, commit).diff(there)
        held = ((key, block) for key, _, block in changes)
    else:
        held = ((key, there.get(key)) for key in sorted(changed_keys(blocks, commit)))
    return ((key, block) for key, block in held if block is not None)


def written(blocks: Blocks, commit: Commit) -> Iterator[Record]:
    """The records that a commit wrote, in order of key, without those that it only took over."""
    records = blocks.records(_changed_entries(blocks, commit))
    return (record for record in records if record.transaction_id == commit.transaction_id)


@dataclass(frozen=True, slots=True)
class Named:
    """The commits that an engine's index names for facts.

    Attributes:
        commits: for each field the commits with the value that is looked for.
        few: the commits that it names for every field; None if there are many.
    """

    commits: Mapping[str, frozenset[Id]]
    few: tuple[Commit, ...] | None

    def may_have(self, commit: Commit, fields: Iterable[str]) -> bool:
        """Whether the index names a commit for all of some fields."""
        return all(commit.cid in self.commits[name] for name in fields)

    def until_the_last(self, commits: Iterable[Commit]) -> Iterator[Commit]:
        """Commits in order of generation, newest first, as far as those that are named go."""
        if self.few is None:
            return iter(commits)
        oldest = min((commit.generation for commit in self.few), default=inf)
        return takewhile(lambda commit: commit.generation >= oldest, commits)

    def before(self, blocks: Blocks, at: Commit) -> list[Commit] | None:
        """The few commits, newest first, if records that they wrote show that `at` follows each;
        None if only a walk through the commits can tell which it follows.

        Args:
            blocks: the objects.
            at: the commit to look back from.
        """
        if self.few is None:
            return None
        found: list[Commit] = []
        for commit in self.few:
            changed, _ = next(_changed_entries(blocks, commit), (None, None))
            line = None if changed is None else quickly_changing(blocks, changed, at)
            if line is None or commit not in line:
                return None
            found.append(commit)
        return sorted(found, key=lambda c: (-c.generation, -c.timestamp_ms, c.id))


def named_commits(
    blocks: Blocks, heads: Collection[Commit], facts: Mapping[str, str]
) -> Named | None:
    """The commits that the engine's index names for facts; None if it does not have the facts of
    every commit up to the heads, or there are none to look for.

    Args:
        blocks: the objects.
        heads: the commits to look back from.
        facts: the value that is looked for, by field.
    """
    index = known_facts(blocks, heads) if facts else None
    if index is None:
        return None
    commits = {name: frozenset(index.commits(name, value)) for name, value in facts.items()}
    both = reduce(lambda a, b: a & b, commits.values())
    if len(both) > FEW:
        return Named(commits, None)
    found = (find_commit(blocks, each) for each in both)
    return Named(commits, tuple(commit for commit in found if commit is not None))


@dataclass(frozen=True, slots=True)
class Known:
    """An index of facts, and the few commits whose facts it does not have.

    Attributes:
        index: the engine's index.
        unknown: the commits whose facts it lacks and cannot be given.
    """

    index: HasFacts
    unknown: tuple[Id, ...]

    def commits(self, field: str, value: str) -> list[Id]:
        """The commits that have a fact, as the index says, and those that may have it."""
        return [*self.index.commits_of_fact(field, value), *self.unknown]

    def holders(self, field: str, value: str) -> list[Id]:
        """Those, and the commits that took a record with the fact over."""
        return [*self.commits(field, value), *self.index.commits_of_fact(TAKEN_OVER + field, value)]


def known_facts(blocks: Blocks, heads: Iterable[Commit]) -> Known | None:
    """The engine's index of facts, complete up to some commits; None if it is not.

    Facts that it lacks are read from the objects and added. A store that was opened for reading is
    not written to; a few commits without facts are given beside it.

    Args:
        blocks: the objects.
        heads: the commits.
    """
    index = blocks.can.facts
    if index is None or not all(is_indexed(blocks, head) for head in heads):
        return None
    if blocks.engine.read_only:
        unknown = index.commits_without_facts()
        return Known(index, tuple(unknown)) if len(unknown) <= FEW else None
    return Known(index, ()) if add_facts(blocks) else None


def add_facts(blocks: Blocks) -> bool:
    """Add the facts that the engine's index lacks, read from the objects; whether it has all then.

    Commits that records were derived from are indexed too, also if no ref reaches them any more.

    Args:
        blocks: the objects.
    """
    index = blocks.can.facts
    if index is None:
        return False
    try:
        _add_facts(blocks, index)
    except (NotFoundError, CorruptObjectError):
        return False  # the objects are read instead, and tell what is damaged if it matters
    return True


def _add_facts(blocks: Blocks, index: HasFacts) -> None:
    done = set[Id]()
    while missing := [each for each in index.commits_without_facts() if each not in done]:
        done.update(missing)
        for batch in batches(missing):
            facts: dict[Id, set[tuple[str, str]]] = {}
            sources = set[str]()
            for commit in filter(None, (find_commit(blocks, each) for each in batch)):
                records = [record for _, _, record in changed_records(blocks, commit)]
                facts[commit.cid] = _facts(commit, records)
                derived = (each.provenance.derived_from for each in records)
                sources.update(source for each in derived for _, source in each)
            index.add_facts(facts)
            found = filter(None, (find_named(blocks, each) for each in sources))
            complete_index(blocks, [commit.cid for commit in found])


def find_named(blocks: Blocks, commit: str) -> Commit | None:
    """A commit that provenance names; None if it is not in the store."""
    try:
        return blocks.find_commit(parse_id(commit))
    except ValidationError:
        return None

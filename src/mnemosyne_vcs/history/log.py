"""Reading history: the log, the earlier values of a key, and the difference of two states."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush, merge
from itertools import groupby

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import NotFoundError, ValidationError
from mnemosyne_vcs.graph import ancestors, first_parents
from mnemosyne_vcs.history.facts import RUN_TRAILER, Named, named_commits, written
from mnemosyne_vcs.history.index import changing, changing_below
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Blame, Change, ChangeKind, Commit, Record
from mnemosyne_vcs.refs import ROOT_COMMIT
from mnemosyne_vcs.trees import Tree

__all__ = ["LogFilter", "describe", "diff", "history", "log", "moved_in"]


@dataclass(frozen=True, slots=True)
class LogFilter:
    """The commits that a log shows: those that match every attribute that is not None.

    Attributes:
        key: they changed this key, or the one that it was moved from.
        prefix: they changed a key that starts with this.
        author: their author is this.
        agent: they wrote a record whose provenance has this agent.
        run: they wrote a record whose provenance has this run.
        trailer: they have a trailer of this name and value. With `run`, either is enough.
        source: they wrote a record whose provenance has this source.
        since: UTC milliseconds; they are not older.
        until: UTC milliseconds; they are not newer, or are dated in the future.
        now: the present time in UTC milliseconds.
    """

    key: str | None = None
    prefix: str | None = None
    author: str | None = None
    agent: str | None = None
    run: str | None = None
    source: str | None = None
    trailer: tuple[str, str] | None = None
    since: int | None = None
    until: int | None = None
    now: int = 2**63 - 1

    def facts(self) -> dict[str, str]:
        """The fields and values that one record that the commits wrote must have."""
        asked = {"agent": self.agent, "source": self.source, "run": self.run}
        return {name: value for name, value in asked.items() if value is not None}

    def matches(self, blocks: Blocks, commit: Commit, named: Named | None = None) -> bool:
        """Whether a commit matches, apart from key and prefix.

        Args:
            blocks: the objects.
            commit: the commit.
            named: the commits that the engine's index names for `facts`, if it has them.
        """
        if self.author is not None and commit.author != self.author:
            return False
        if self.until is not None and self.until < commit.timestamp_ms <= self.now:
            return False
        if self.since is not None and commit.timestamp_ms < self.since:
            return False
        asked = self.facts()
        if self.trailer is not None:
            name, value = self.trailer
            if commit.trailers.get(name) == value:
                asked.pop("run", None)
            elif self.run is None:
                return False
        if named is not None and not named.may_have(commit, asked):
            return False
        return not asked or any(
            all(getattr(record.provenance, name) == value for name, value in asked.items())
            for record in written(blocks, commit)
        )


def log(
    blocks: Blocks,
    heads: Collection[Commit],
    wanted: LogFilter | None = None,
    *,
    first_parent: bool = False,
) -> Iterator[Commit]:
    """Commits and their ancestors, each once, newest first, without the root commit.

    Args:
        blocks: the objects.
        heads: the commits to look back from; only one with `first_parent`.
        wanted: the filter; all commits if not given.
        first_parent: follow only first parents. A merge then changes the keys in which it differs
            from its first parent.

    Raises:
        NotFoundError: no commit up to there had the key.
        ValidationError: both a key and a prefix are given, or several heads with `first_parent`.
    """
    wanted = wanted or LogFilter()
    if wanted.key is not None and wanted.prefix is not None:
        raise ValidationError("give either a key or a prefix, not both")
    if first_parent:
        (head,) = heads
        commits = _line(blocks, head, wanted)
    else:
        commits = _all(blocks, heads, wanted)
    named = named_commits(blocks, heads, wanted.facts())
    if named is not None and wanted.trailer in (None, (RUN_TRAILER, wanted.run)):
        plain = wanted.key is None and not wanted.prefix and not first_parent and len(heads) == 1
        before = named.before(blocks, *heads) if plain else None
        commits = named.until_the_last(commits) if before is None else iter(before)
    return (c for c in commits if c.id != ROOT_COMMIT.id and wanted.matches(blocks, c, named))


def diff(blocks: Blocks, a: Id, b: Id, prefix: str = "") -> Iterator[Change]:
    """The keys whose values differ between two roots, in order of key.

    A key that was moved is one change under its new key; the old key is not listed.

    Args:
        blocks: the objects.
        a: root of the first state.
        b: root of the second state.
        prefix: only keys that start with this.
    """
    changes = [
        (key, _record(blocks, key, before), _record(blocks, key, after))
        for key, before, after in tree.diff(blocks.node, a, b, prefix)
    ]
    return describe(changes)


def describe(changes: Iterable[tuple[str, Record | None, Record | None]]) -> Iterator[Change]:
    """The changes between records before and after, each move as one; equal values are left out.

    Args:
        changes: key, record before and record after, in order of key.
    """
    each = list(changes)
    removed = {key: before for key, before, after in each if after is None}
    moved = {
        after.moved_from
        for _, before, after in each
        if before is None and after is not None and after.moved_from in removed
    }
    for key, before, after in each:
        if before is None and after is not None and after.moved_from in moved:
            yield Change(key, "moved", removed[after.moved_from], after)
        elif key not in moved and not _same(before, after):
            yield Change(key, _kind(before, after), before, after)


def history(blocks: Blocks, key: str, at: Commit) -> Iterator[Blame]:
    """Every value that a key has had up to a commit, newest first.

    If the record was moved there from another key, the history of that key follows.

    Args:
        blocks: the objects.
        key: the key.
        at: the commit to look back from.

    Raises:
        NotFoundError: no commit up to there had the key.
    """
    return _values(blocks, _streams(blocks, key, [at]))


def _streams(blocks: Blocks, key: str, heads: Collection[Commit]) -> "_Streams":
    """The commits up to some heads that changed a key; raises if there are none."""
    streams = _Streams()
    for head in heads:
        streams.add(key, changing(blocks, key, head))
    if not streams:
        where = f"no commit up to {next(iter(heads)).id}" if len(heads) == 1 else "no commit"
        raise NotFoundError(f"{where} had a record {key!r}")
    return streams


class _Streams:
    """The commits that changed some keys, merged, newest first, each once for a key."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, str, str, Commit, Iterator[Commit]]] = []
        self._seen: set[tuple[str, str]] = set()

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, key: str, commits: Iterator[Commit]) -> None:
        """Add the commits that changed a key, given newest first."""
        for commit in commits:
            if (key, commit.id) not in self._seen:
                self._seen.add((key, commit.id))
                heappush(self._heap, (*_newest_first(commit), key, commit, commits))
                return

    def pop(self) -> tuple[str, Commit, Iterator[Commit]]:
        """The newest commit, its key, and the rest of its iterator."""
        _, _, _, key, commit, older = heappop(self._heap)
        return key, commit, older


def _values(blocks: Blocks, streams: _Streams) -> Iterator[Blame]:
    while streams:
        key, commit, older = streams.pop()
        record = Tree.of(blocks, commit).record(key)
        yield Blame(key, record, commit)
        origins = moved_in(blocks, commit, record) if record else []
        for parent in origins:
            assert record is not None and record.moved_from is not None
            streams.add(record.moved_from, changing(blocks, record.moved_from, parent))
        parents = map(blocks.commit, commit.parent_cids)
        if not origins or any(Tree.of(blocks, parent).get(key) is not None for parent in parents):
            streams.add(key, older)


def moved_in(blocks: Blocks, commit: Commit, record: Record) -> list[Commit]:
    """The parents that have the record of a moved key under its old key; empty without a move.

    Args:
        blocks: the objects.
        commit: a commit that changed the record's key.
        record: what it left there.
    """
    old = record.moved_from
    if old is None:
        return []
    wrote = record.transaction_id == commit.transaction_id
    if not wrote and Tree.of(blocks, commit).get(old) is not None:
        return []
    parents = map(blocks.commit, commit.parent_cids)
    return [parent for parent in parents if Tree.of(blocks, parent).get(old) is not None]


def _all(blocks: Blocks, heads: Collection[Commit], wanted: LogFilter) -> Iterator[Commit]:
    if wanted.key is not None:
        streams = _streams(blocks, wanted.key, heads)
        return _each_once(blame.commit for blame in _values(blocks, streams))
    if wanted.prefix:
        below = (changing_below(blocks, wanted.prefix, head) for head in heads)
        return _each_once(merge(*below, key=_newest_first))
    cids = [head.cid for head in heads]
    return ancestors(blocks.walk(), cids, since=wanted.since or 0)


def _newest_first(commit: Commit) -> tuple[int, int, str]:
    """The order of `graph.ancestors`."""
    return (-commit.generation, -commit.timestamp_ms, commit.id)


def _each_once(commits: Iterable[Commit]) -> Iterator[Commit]:
    """Each commit once, from commits in which equal ones are adjacent."""
    return (commit for commit, _ in groupby(commits))


def _line(blocks: Blocks, head: Commit, wanted: LogFilter) -> Iterator[Commit]:
    key = wanted.key
    for commit in first_parents(blocks.walk(), head.cid):
        if not commit.parents or commit.timestamp_ms < (wanted.since or 0):
            return
        before, after = Tree.before(blocks, commit), Tree.of(blocks, commit)
        if key is not None:
            if after.get(key) == before.get(key):
                continue
            record = after.record(key)
            if record and moved_in(blocks, commit, record):
                key = record.moved_from
        elif wanted.prefix and next(before.diff(after, wanted.prefix), None) is None:
            continue
        yield commit


def _kind(before: Record | None, after: Record | None) -> ChangeKind:
    if before is None:
        return "added"
    return "removed" if after is None else "changed"


def _record(blocks: Blocks, key: str, block: Id | None) -> Record | None:
    return None if block is None else blocks.record(key, block)


def _same(a: Record | None, b: Record | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.same_value(b)

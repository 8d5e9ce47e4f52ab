"""Keeping a store sound: verify, statistics, backup."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from mnemosyne.blocks import Blocks
from mnemosyne.engine import open_engine
from mnemosyne.engine.base import Enumerates, RefUpdate, Snapshots
from mnemosyne.errors import (
    AlreadyExistsError,
    CorruptObjectError,
    EngineError,
    MnemosyneError,
    NotFoundError,
)
from mnemosyne.graph import ancestors
from mnemosyne.model import Commit
from mnemosyne.objects import (
    Id,
    Node,
    decode_commit,
    decode_node,
    decode_record,
    decode_vector,
    parse_id,
    text_id,
)
from mnemosyne.refs import BRANCH, ROOT_COMMIT, TAG, ref_names
from mnemosyne.schema import check_block

__all__ = ["Problem", "Stats", "VerifyReport", "backup", "stats", "verify"]

BATCH = 256
Progress = Callable[[int], object]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a store.

    Attributes:
        object: id of the object concerned.
        kind: the `kind` of the error that reading it raises.
        message: what is wrong.
    """

    object: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `verify` found.

    Attributes:
        problems: what is wrong; empty in a sound store.
        commits: how many commits were checked.
        objects: how many objects were checked, commits included.
    """

    problems: tuple[Problem, ...] = ()
    commits: int = 0
    objects: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Stats:
    """How large a repository is.

    Attributes:
        url: the canonical URL.
        branches: how many branches there are.
        tags: how many tags there are.
        commits: how many commits the branches and tags reach.
        records: how many records each branch holds.
        objects: how many objects the engine holds; None if it cannot tell.
        bytes: bytes that the store takes; None if the engine cannot tell.
    """

    url: str
    branches: int
    tags: int
    commits: int
    records: dict[str, int]
    objects: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class _Span:
    """What the parent of a node says of it, and the first key, which it does not say."""

    level: int
    first: str
    last: str
    count: int


@dataclass(slots=True)
class _Check:
    blocks: Blocks
    progress: Progress | None
    problems: dict[Id, Problem] = field(default_factory=dict[Id, Problem])
    seen: set[Id] = field(default_factory=set[Id])
    nodes: dict[Id, "_Span"] = field(default_factory=dict[Id, "_Span"])

    def objects(self, ids: list[Id]) -> Iterator[tuple[Id, bytes]]:
        """Read objects not seen yet, noting those that are missing or not what their id says."""
        fresh = [block for block in dict.fromkeys(ids) if block not in self.seen]
        self.seen.update(fresh)
        for start in range(0, len(fresh), BATCH):
            batch = fresh[start : start + BATCH]
            found = self.blocks.engine.read(batch)
            for block in batch:
                data = found.get(block)
                if data is None:
                    self.note(block, NotFoundError(f"object {text_id(block)} is missing"))
                elif self.sound(block, data):
                    yield block, data
            if self.progress:
                self.progress(len(self.seen))

    def sound(self, block: Id, data: bytes) -> bool:
        try:
            check_block(block, data)
        except CorruptObjectError as error:
            self.note(block, error)
            return False
        return True

    def note(self, block: Id, error: MnemosyneError) -> None:
        self.problems.setdefault(block, Problem(text_id(block), error.kind, str(error)))


def verify(blocks: Blocks, progress: Progress | None = None) -> VerifyReport:
    """Read everything that branches and tags reach, and whatever else is stored, and check it.

    Checked are: every object is there, has the bytes that its id says, is in canonical form and
    follows the schema of its kind; tree nodes agree with their children; times and generations of
    commits never fall behind their parents', and every history begins with the first commit.

    Args:
        blocks: the objects.
        progress: called now and then with how many objects have been checked.
    """
    check = _Check(blocks, progress)
    commits: dict[str, Commit] = {}
    level = list(blocks.engine.refs().values())
    while level:
        found = [_decoded(check, decode_commit, *each) for each in check.objects(level)]
        sound = [commit for commit in found if commit is not None]
        commits.update((commit.id, commit) for commit in sound)
        _check_trees(check, [parse_id(commit.root) for commit in sound])
        level = [parse_id(parent) for commit in sound for parent in commit.parents]
    for commit in commits.values():
        _check_order(check, commit, commits)
    if isinstance(blocks.engine, Enumerates):
        for _ in check.objects(list(blocks.engine.ids())):
            pass
    return VerifyReport(tuple(check.problems.values()), len(commits), len(check.seen))


def _decoded(check: _Check, decode: Callable[[Id, bytes], T], block: Id, data: bytes) -> T | None:
    try:
        return decode(block, data)
    except CorruptObjectError as error:
        check.note(block, error)
        return None


def _check_order(check: _Check, commit: Commit, commits: dict[str, Commit]) -> None:
    if not commit.parents and commit.id != ROOT_COMMIT.id:
        message = f"commit {commit.id} has no parents and is not the first commit of all"
        check.note(parse_id(commit.id), CorruptObjectError(message))
    parents = [commits[parent] for parent in commit.parents if parent in commits]
    if len(parents) < len(commit.parents):
        return
    generation = max((parent.generation + 1 for parent in parents), default=0)
    if commit.generation != generation or any(parent.time > commit.time for parent in parents):
        message = f"commit {commit.id} does not follow its parents in time and generation"
        check.note(parse_id(commit.id), CorruptObjectError(message))


def _check_trees(check: _Check, roots: list[Id]) -> None:
    records: list[Id] = []
    inner: dict[Id, Node] = {}
    level = roots
    while level:
        below: list[Id] = []
        for block, data in check.objects(level):
            node = _decoded(check, decode_node, block, data)
            if node is None:
                continue
            if node.keys:
                check.nodes[block] = _Span(node.level, node.keys[0], node.keys[-1], node.count)
            if node.level:
                inner[block] = node
            (below if node.level else records).extend(node.links)
        level = below
    _check_nodes(check, inner, roots)
    vectors: list[Id] = []
    for each in check.objects(records):
        if record := _decoded(check, decode_record, *each):
            vectors.extend(record.vectors.values())
    for each in check.objects(vectors):
        _decoded(check, decode_vector, *each)


def _check_nodes(check: _Check, inner: dict[Id, Node], roots: list[Id]) -> None:
    """Compare what inner nodes say of their children with the children."""
    for root in roots:
        if root in inner and len(inner[root].links) == 1:
            message = f"node {text_id(root)} is a root with one child"
            check.note(root, CorruptObjectError(message))
    for block, node in inner.items():
        before = ""
        for key, link, count in zip(node.keys, node.links, node.counts, strict=True):
            child = check.nodes.get(link)
            if child and (
                child != _Span(node.level - 1, child.first, key, count) or child.first <= before
            ):
                message = f"node {text_id(block)} does not agree with its child {text_id(link)}"
                check.note(block, CorruptObjectError(message))
            before = key


def stats(blocks: Blocks) -> Stats:
    """Count what a repository holds."""
    engine = blocks.engine
    branches, tags = ref_names(blocks, BRANCH), ref_names(blocks, TAG)
    heads = [*branches.values(), *tags.values()]
    counted = isinstance(engine, Enumerates)
    return Stats(
        engine.url,
        len(branches),
        len(tags),
        sum(1 for _ in ancestors(blocks.commit, heads)) - 1,
        {
            name: blocks.node(parse_id(blocks.commit(head).root)).count
            for name, head in branches.items()
        },
        sum(1 for _ in engine.ids()) if counted else None,
        engine.size() if counted else None,
    )


def backup(blocks: Blocks, path: str, now: int) -> None:
    """Write a consistent copy of the whole store to a new file, which opens as a store.

    Args:
        blocks: the objects.
        path: where to write it.
        now: UTC milliseconds, for the reflog of a copy that begins with an empty one.

    Raises:
        AlreadyExistsError: something is at that path.
        EngineError: the copy cannot be written, or the engine cannot list what it holds.
    """
    if Path(path).exists():
        raise AlreadyExistsError(f"cannot back up to {path}: something is there already")
    engine = blocks.engine
    if isinstance(engine, Snapshots):
        engine.backup(path)
        return
    if not isinstance(engine, Enumerates):
        raise EngineError(f"cannot back up {engine.url}: it cannot list its objects")
    refs = engine.refs()
    target = open_engine(path, create=True)
    try:
        ids = list(engine.ids())
        for start in range(0, len(ids), BATCH):
            target.write(blocks.read(ids[start : start + BATCH]))
        for name, head in refs.items():
            target.write({}, RefUpdate(name, None, head, when=now, why="backup"))
    finally:
        target.close()

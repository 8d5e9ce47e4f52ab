"""Checking a store."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.protocol import Enumerates
from mnemosyne_vcs.errors import CorruptObjectError, MnemosyneError, NotFoundError
from mnemosyne_vcs.format.objects import (
    Node,
    decode_commit,
    decode_node,
    decode_record,
    decode_vector,
)
from mnemosyne_vcs.ids import Id, text_id
from mnemosyne_vcs.index_check import wrong_entries
from mnemosyne_vcs.maintenance.strict import check_block
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.refs import BRANCH, ROOT_COMMIT, what_is_lacking

__all__ = ["Problem", "VerifyReport", "verify", "verify_objects"]

ATTEMPTS = 4
INDEX = "index"
REBUILD = "rebuild_index() or `mnem verify --repair-index` rebuilds the index"
Progress = Callable[[int], object]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a store.

    Attributes:
        object: id of the object; empty if the problem is with the whole store.
        kind: the `kind` of the error that reading it raises; `index` if the history index is wrong
            about a commit, which `rebuild_index` repairs, or an index of vectors is wrong.
        message: what is wrong.
    """

    object: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of `verify`.

    Attributes:
        problems: what is wrong; empty for a sound store.
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
class _Span:
    """The range and count of a node, as its parent should have them."""

    level: int
    first: str
    last: str
    count: int


@dataclass(slots=True)
class _Check:
    """The state of a check.

    Attributes:
        problems: what is wrong, by object.
        seen: the objects that were read.
        nodes: what was found about tree nodes.
        commits: the sound commits.
        missing: the objects that were not there when they were read.
        fresh: the objects that were read since `begin`.
    """

    blocks: Blocks
    progress: Progress | None
    problems: dict[Id, Problem] = field(default_factory=dict[Id, Problem])
    seen: set[Id] = field(default_factory=set[Id])
    nodes: dict[Id, "_Span"] = field(default_factory=dict[Id, "_Span"])
    commits: dict[str, Commit] = field(default_factory=dict[str, Commit])
    missing: set[Id] = field(default_factory=set[Id])
    fresh: list[Id] = field(default_factory=list[Id])

    def begin(self) -> None:
        """Begin a part that can be given up."""
        self.missing.clear()
        self.fresh.clear()

    def give_up(self) -> None:
        """Forget what was found since `begin`."""
        for block in self.fresh:
            self.seen.discard(block)
            self.nodes.pop(block, None)
            self.problems.pop(block, None)
            self.commits.pop(text_id(block), None)

    def objects(self, ids: Iterable[Id]) -> Iterator[tuple[Id, bytes]]:
        """Read objects not seen yet, and note those that are missing or do not match their id."""
        fresh = [block for block in dict.fromkeys(ids) if block not in self.seen]
        self.seen.update(fresh)
        self.fresh += fresh
        for batch in batches(fresh):
            found = self.blocks.engine.read(batch)
            for block in batch:
                data = found.get(block)
                if data is None:
                    self.missing.add(block)
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

    def report(self) -> VerifyReport:
        return VerifyReport(tuple(self.problems.values()), len(self.commits), len(self.seen))

    def note_missing(self) -> None:
        for block in sorted(self.missing):
            self.note(block, NotFoundError(f"object {text_id(block)} is missing"))


def verify(blocks: Blocks, progress: Progress | None = None) -> VerifyReport:
    """Read and check everything that refs reach, and everything else that is stored.

    It checks that there is a branch; that every object is there, matches its id, is in canonical
    form and follows the schema of its kind; that tree nodes agree with their children; that times
    and generations of commits never fall behind their parents', and that every history begins with
    the root commit; that the index of the history, and those of vectors, agree with the objects.
    Others may write, delete branches and collect garbage meanwhile.

    Args:
        blocks: the objects.
        progress: called from time to time with how many objects have been checked.
    """
    check = _checked(blocks, progress)
    report = check.report()
    lacking = what_is_lacking(blocks.engine)
    incomplete = [] if lacking is None else [Problem("", CorruptObjectError.kind, lacking)]
    wrong = [_of_index(*each) for each in wrong_entries(blocks, check.commits.values()).items()]
    vectors = _wrong_vectors(blocks) if report.ok else []
    return replace(report, problems=(*incomplete, *report.problems, *wrong, *vectors))


def _wrong_vectors(blocks: Blocks) -> list[Problem]:
    if blocks.can.vectors is None:
        return []
    from mnemosyne_vcs.views.vector_check import wrong_vectors

    return [
        Problem(
            "",
            INDEX,
            f"the index of the vectors of {(name := ref.removeprefix(BRANCH))!r} is wrong in "
            f"{count:,} places: rebuild it with `mnem index -d {name}` and `mnem index {name}`",
        )
        for ref, count in wrong_vectors(blocks).items()
    ]


def _of_index(block: Id, fault: str) -> Problem:
    try:
        commit = text_id(block) if block else ""
    except ValueError:
        commit = block.hex()
    about = f" about commit {commit}" if commit else ""
    return Problem(commit, INDEX, f"the history index is wrong{about}: it {fault}; {REBUILD}")


def verify_objects(blocks: Blocks, progress: Progress | None = None) -> VerifyReport:
    """Check objects as `verify` does, without requiring a branch.

    Args:
        blocks: the objects.
        progress: called from time to time with how many objects have been checked.
    """
    return _checked(blocks, progress).report()


def _checked(blocks: Blocks, progress: Progress | None) -> _Check:
    check, engine = _Check(blocks, progress), blocks.engine
    done: set[Id] = set()
    for _ in range(ATTEMPTS):
        heads = [head for head in dict.fromkeys(engine.refs().values()) if head not in done]
        done.update(heads)
        if sum(_check_head(check, head) for head in heads) == len(heads):
            break
    for commit in check.commits.values():
        _check_order(check, commit)
    if blocks.can.enumerate is not None:
        _check_stored(check, blocks.can.enumerate)
    return check


def _check_head(check: _Check, head: Id) -> bool:
    """Check what a commit of a ref reaches; returns whether refs still reach it afterwards.

    A missing object is damage only if the commit is still needed: a ref may have been deleted and
    its objects collected during the check. Then it does not count.
    """
    for _ in range(ATTEMPTS):
        check.begin()
        _check_history(check, head)
        if not check.missing:
            return True
        if not is_needed(check.blocks, head):
            check.give_up()
            return False
        if not check.blocks.can.exists(check.missing) and is_needed(check.blocks, head):
            check.note_missing()
            return True
        check.give_up()  # it was restored meanwhile
    return False


def is_needed(blocks: Blocks, head: Id) -> bool:
    if head in blocks.engine.refs().values():
        return True
    commit = blocks.find_commit(head)
    return commit is not None and blocks.is_held(commit)


def _check_history(check: _Check, head: Id) -> None:
    level = [head]
    while level:
        found = [_decoded(check, decode_commit, *each) for each in check.objects(level)]
        sound = [commit for commit in found if commit is not None]
        check.commits.update((commit.id, commit) for commit in sound)
        _check_trees(check, [commit.tree_cid for commit in sound])
        level = [parent for commit in sound for parent in commit.parent_cids]


def _check_stored(check: _Check, engine: Enumerates) -> None:
    """Check what no ref reaches. It is missing if the engine lists it and cannot read it."""
    check.begin()
    for _ in check.objects(engine.ids()):
        pass
    for _ in range(ATTEMPTS):
        if not check.missing:
            return
        again, check.missing = check.missing & set(engine.ids()), set()
        check.seen.difference_update(check.fresh)
        for _ in check.objects(again):
            pass
    check.note_missing()


def _decoded(check: _Check, decode: Callable[[Id, bytes], T], block: Id, data: bytes) -> T | None:
    try:
        return decode(block, data)
    except CorruptObjectError as error:
        check.note(block, error)
        return None


def _check_order(check: _Check, commit: Commit) -> None:
    commits = check.commits
    if not commit.parents and commit.id != ROOT_COMMIT.id:
        message = f"commit {commit.id} has no parents and is not the root commit"
        check.note(commit.cid, CorruptObjectError(message))
    parents = [commits[parent] for parent in commit.parents if parent in commits]
    if len(parents) < len(commit.parents):
        return
    generation = max((parent.generation + 1 for parent in parents), default=0)
    if commit.generation != generation or any(
        parent.timestamp_ms > commit.timestamp_ms for parent in parents
    ):
        message = f"commit {commit.id} does not follow its parents in time and generation"
        check.note(commit.cid, CorruptObjectError(message))


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
    """Compare the entries of inner nodes with their children."""
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

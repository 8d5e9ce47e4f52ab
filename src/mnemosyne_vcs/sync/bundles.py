"""Bundles: branches and tags with all that they reach, in one CAR file. See docs/format/bundles.md.

The root block of the file has the commit of each branch and tag, and links lead from there to
everything else, so that any IPLD tool can walk a bundle.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, cast

import libipld

from mnemosyne_vcs import tree
from mnemosyne_vcs.batches import BATCH, batches
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.errors import (
    ConflictError,
    CorruptObjectError,
    MnemosyneError,
    ReadOnlyError,
    ValidationError,
)
from mnemosyne_vcs.files import existing_file, name_of, new_file
from mnemosyne_vcs.format.car import CarIndex, index_car, write_car
from mnemosyne_vcs.format.objects import check_id, decode_record, fields_of, object_id
from mnemosyne_vcs.frozen import freeze
from mnemosyne_vcs.graph import ancestors, is_ancestor
from mnemosyne_vcs.history.index import complete_index
from mnemosyne_vcs.ids import Id, parse_id, text_id
from mnemosyne_vcs.maintenance.verify import verify_objects
from mnemosyne_vcs.refs import BRANCH, TAG, branch_ref, check_new_name, tag_ref, write_ref

__all__ = ["Bundle", "check_bundle", "export_bundle", "import_bundle"]

Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Bundle:
    """What was exported to a bundle, or imported from one.

    Attributes:
        path: the file: a path or a stream.
        branches: the id of the commit that each branch names, by name.
        tags: the id of the commit that each tag names, by name.
        objects: how many objects the file holds.
    """

    path: str
    branches: Mapping[str, str]
    tags: Mapping[str, str]
    objects: int

    def __post_init__(self) -> None:
        freeze(self, "branches", "tags")


def export_bundle(
    blocks: Blocks, path: str | BinaryIO, refs: Mapping[str, Id], progress: Progress | None = None
) -> Bundle:
    """Write refs and everything that they reach to a new file. The same refs give the same bytes.

    Args:
        blocks: the objects.
        path: where to write: a path or a stream.
        refs: what to write, by ref name (`branch/…` or `tag/…`).
        progress: called from time to time with how many objects have been written.

    Raises:
        ValidationError: there are no refs.
        AlreadyExistsError: the path exists already.
        EngineError: it cannot be written.
        NotFoundError: an object is missing.
        CorruptObjectError: an object is damaged.
    """
    if not refs:
        raise ValidationError("a bundle needs at least one branch or tag")
    manifest = libipld.encode_dag_cbor({"kind": "refs", "refs": dict(refs)})
    root = object_id(manifest)
    with new_file(path) as file:
        written = _counted(_objects(blocks, refs.values()), progress)
        count = write_car(file, root, _first((root, manifest), written))
    return _bundle(name_of(path), refs, count - 1)


def import_bundle(
    blocks: Blocks,
    path: str | BinaryIO,
    *,
    prefix: str,
    who: str,
    when: int,
    progress: Progress | None = None,
) -> Bundle:
    """Read a bundle: all of it, or nothing.

    Before anything is written, every block is checked, and nothing may be missing. A branch or
    tag that does not exist is created; a branch moves if its commit is in the past of the bundle's.

    Args:
        blocks: where to.
        path: the file: a path or a stream.
        prefix: what to put before the names of branches and tags, such as `theirs/`.
        who: the author of the moves, for the reflog.
        when: UTC milliseconds, for the reflog.
        progress: called from time to time with how many objects have been checked.

    Raises:
        NotFoundError: the file does not exist.
        ValidationError: it is not a bundle, or a name in it, with the prefix, is not valid here.
        CorruptObjectError: it is damaged or incomplete.
        ConflictError: a branch or tag is at a commit that the bundle's commit does not follow.
        ReadOnlyError: the store does not accept writes.
        EngineError: the file cannot be read, or the store failed.
    """
    if blocks.engine.read_only:
        raise ReadOnlyError(f"{blocks.engine.url} was opened read-only; an import needs to write")
    with existing_file(path) as file:
        received = _Received(file, name_of(path))
        _check(received, progress)
        refs = {_prefixed(name, prefix): head for name, head in received.refs().items()}
        for name in refs:
            kind, _, short = name.partition("/")
            check_new_name(short, kind)
        try:
            _store(blocks, received, refs, who, when)
        except BaseException:
            blocks.renew()
            raise
    return _bundle(received.url, refs, len(received.index.places))


def check_bundle(path: str | BinaryIO, progress: Progress | None = None) -> Bundle:
    """Check a bundle as an import does, and return its contents.

    Args:
        path: the file: a path or a stream.
        progress: called from time to time with how many objects have been checked.

    Raises:
        NotFoundError: the file does not exist.
        ValidationError: it is not a bundle, or the path is not one.
        CorruptObjectError: it is damaged or incomplete.
        EngineError: the file cannot be read.
    """
    with existing_file(path) as file:
        received = _Received(file, name_of(path))
        _check(received, progress)
        return _bundle(received.url, received.refs(), len(received.index.places))


def _check(received: "_Received", progress: Progress | None) -> None:
    report = verify_objects(Blocks(received), progress)
    if report.problems:
        why = report.problems[0].message
        raise CorruptObjectError(f"{received.url} is damaged or incomplete: {why}")
    if report.objects < len(received.index.places):
        raise ValidationError(
            f"{received.url} is not a Mnemosyne bundle: it holds objects that none of its refs "
            "reaches"
        )


def _objects(blocks: Blocks, heads: Iterable[Id]) -> Iterator[tuple[Id, bytes]]:
    """All objects that the heads reach, each once, commit by commit from the oldest."""
    known: set[Id] = set()
    for commit in reversed(list(ancestors(blocks.walk(), heads))):
        found = list(tree.walk(blocks.node, commit.tree_cid, known))
        for batch in batches(found):
            data = blocks.read([block for block, _ in batch])
            yield from ((block, data[block]) for block, _ in batch)
            records = [decode_record(block, data[block]) for block, key in batch if key is not None]
            named = {vector: None for each in records for vector in each.vectors.values()}
            vectors = [vector for vector in named if vector not in known]
            data = blocks.read(vectors)
            yield from ((vector, data[vector]) for vector in vectors)
            known.update(vectors)
        block = commit.cid
        yield block, blocks.read_one(block)


def _first(first: tuple[Id, bytes], rest: Iterable[tuple[Id, bytes]]) -> Iterator[tuple[Id, bytes]]:
    yield first
    yield from rest


def _counted(
    objects: Iterable[tuple[Id, bytes]], progress: Progress | None
) -> Iterator[tuple[Id, bytes]]:
    for number, each in enumerate(objects, 1):
        yield each
        if progress and number % BATCH == 0:
            progress(number)


def _bundle(path: str, refs: Mapping[str, Id], objects: int) -> Bundle:
    branches, tags = (
        {name.removeprefix(kind): text_id(refs[name]) for name in refs if name.startswith(kind)}
        for kind in (BRANCH, TAG)
    )
    return Bundle(path, branches, tags, objects)


def _prefixed(name: str, prefix: str) -> str:
    if name.startswith(BRANCH):
        return branch_ref(prefix + name.removeprefix(BRANCH))
    return tag_ref(prefix + name.removeprefix(TAG))


def _store(
    blocks: Blocks, received: "_Received", refs: Mapping[str, Id], who: str, when: int
) -> None:
    """Write a checked bundle, in one transaction if the engine has transactions."""
    engine = blocks.engine
    with blocks.can.exclusive():
        moves = [
            RefUpdate(name, old, new, who, when, f"import {received.url}")
            for name, new in refs.items()
            if (old := engine.ref(name)) != new
        ]
        for move in moves:
            _check_move(received, move)
        for batch in batches(received.index.places):
            engine.write(received.read(batch))
        complete_index(blocks, refs.values())
        for move in moves:
            write_ref(blocks, {}, move)


def _check_move(received: "_Received", move: RefUpdate) -> None:
    if move.old is None or move.new is None:
        return
    old, new = text_id(move.old), text_id(move.new)
    lookup = Blocks(received).commit
    follows = move.old in received.index.places and is_ancestor(lookup, move.old, move.new)
    if move.name.startswith(TAG) or not follows:
        raise ConflictError(
            f"{move.name!r} names {old}, which {new} in {received.url} does not follow; import "
            "under another name with a prefix, and merge"
        )


class _Received:
    """A bundle as a read-only engine."""

    read_only = True

    def __init__(self, file: BinaryIO, path: str) -> None:
        self.url = path
        self._file = file
        self.index: CarIndex = index_car(file, path)
        self._refs = self._manifest()

    def read(self, ids: Collection[Id]) -> Mapping[Id, bytes]:
        """See `Engine.read`."""
        here = self.index.places.keys() & ids
        return {block: self.index.read(self._file, block) for block in here}

    def ref(self, name: str) -> Id | None:
        """See `Engine.ref`."""
        return self._refs.get(name)

    def refs(self, prefix: str = "") -> Mapping[str, Id]:
        """See `Engine.refs`."""
        return {name: head for name, head in self._refs.items() if name.startswith(prefix)}

    def write(self, objects: Mapping[Id, bytes], update: RefUpdate | None = None) -> None:
        """See `Engine.write`."""
        raise ReadOnlyError(f"{self.url} is a bundle, which cannot be written to")

    def close(self) -> None:
        """See `Engine.close`."""

    def _manifest(self) -> dict[str, Id]:
        """Take the root block, which is not an object of the store, out of the index."""
        root = self.index.root
        if root not in self.index.places:
            raise CorruptObjectError(f"{self.url} lacks its root block {text_id(root)}")
        data = self.index.read(self._file, root)
        del self.index.places[root]
        try:
            check_id(root, data)
            fields = fields_of(root, data)
        except CorruptObjectError as error:
            raise CorruptObjectError(f"{self.url} is damaged: {error}") from error
        refs = fields.get("refs")
        if fields != {"kind": "refs", "refs": refs} or not isinstance(refs, dict) or not refs:
            raise ValidationError(
                f"{self.url} is a CAR file but not a Mnemosyne bundle: its root names no refs"
            )
        return _checked(cast("dict[str, object]", refs), self.url)


def _checked(refs: dict[str, object], path: str) -> dict[str, Id]:
    checked: dict[str, Id] = {}
    for name, head in refs.items():
        try:
            if not isinstance(head, bytes) or not name.startswith((BRANCH, TAG)):
                raise ValidationError(f"{name!r} is not a branch or tag")
            _prefixed(name, "")
            checked[name] = parse_id(text_id(head))
        except MnemosyneError as error:
            raise ValidationError(f"{path} is not a Mnemosyne bundle: {error}") from error
    return checked

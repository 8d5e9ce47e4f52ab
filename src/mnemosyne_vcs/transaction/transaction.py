"""Transactions: buffered operations that become one commit.

A transaction starts from a head. If the branch has moved by the time it commits, and nothing
that it read or wrote has changed, it lands on the new head; otherwise it raises.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import TracebackType
from typing import Any, NoReturn, Self

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.embedding import Embed, VectorLike, floats_of
from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    RefConflictError,
    TransactionDoneError,
    ValidationError,
)
from mnemosyne_vcs.format.objects import (
    Node,
    encode_commit,
    object_id,
    vector_of_floats,
)
from mnemosyne_vcs.format.validation import (
    check_content,
    check_key,
    check_moment,
    check_provenance,
    check_text,
)
from mnemosyne_vcs.graph import is_ancestor
from mnemosyne_vcs.history.facts import facts_of
from mnemosyne_vcs.ids import Id, text_id
from mnemosyne_vcs.model import JSON, UNKNOWN, Commit, Provenance, Record, Vectors
from mnemosyne_vcs.refs import branch_head, branch_ref, moved, write_ref
from mnemosyne_vcs.transaction.buffer import Buffer
from mnemosyne_vcs.transaction.changes import Draft, Held
from mnemosyne_vcs.transaction.heads import HeadCache
from mnemosyne_vcs.transaction.retries import until_it_lands
from mnemosyne_vcs.views.server_index import index_is_current, plan_index_update

__all__ = [
    "Transaction",
    "Writer",
]


@dataclass(frozen=True, slots=True)
class Writer:
    """The side of a repository that a transaction needs.

    Attributes:
        blocks: the objects.
        author: the author of transactions that name no other.
        clock: gives the time as UTC milliseconds.
        embed: turns texts into vectors, if the repository can.
        heads: the last commits of this process on each branch.
    """

    blocks: Blocks
    author: str
    clock: Callable[[], int]
    embed: Embed | None = None
    heads: HeadCache = field(default_factory=HeadCache)


@dataclass(frozen=True, slots=True)
class _Ready:
    """A commit that is ready to be written.

    Attributes:
        commit: the commit.
        update: how the branch moves to it.
        objects: all objects that it adds to the store.
        values: the records and vectors among them.
        nodes: the nodes of the tree among them.
    """

    commit: Commit
    update: RefUpdate
    objects: Mapping[Id, bytes]
    values: Mapping[Id, bytes]
    nodes: Mapping[Id, Node]


class Transaction:
    """Puts, deletes and moves that become one commit of one branch.

    As a context manager it commits at the end of the block, or rolls back on an exception.
    It sees its own writes. It is not safe for use by several threads at once; use one in each
    thread.

    Args:
        writer: the repository's side.
        branch: the branch to commit to.
        author: the author; the repository's if not given.
        message: the commit message.
        trailers: further facts by name for the commit.
        base: the commit to start from, if not the newest of the branch.
        expect: the commit that the branch must point at, from now until the commit lands; any
            other one is a conflict, whatever it changed.
        changes: initial states of some keys: a record version of the repository, which keeps its
            writer; a record to write; None for no record.
        merges: the commit whose history becomes part of the branch's too, which makes a commit
            even if no record changes; `expect` must be given with it.

    Attributes:
        id: the transaction's id (32 hex digits), which its records and its commit carry.
        base: the commit that it started from.
        branch: the branch that it commits to.
        author: the author.
        message: the commit message; may be set until the commit.
        trailers: further facts for the commit; may be changed until the commit.

    Raises:
        NotFoundError: the branch does not exist.
        RefConflictError: the branch does not point at `expect`.
        ValidationError: author, message or a trailer is not text.
    """

    def __init__(
        self,
        writer: Writer,
        branch: str,
        *,
        author: str | None = None,
        message: str = "",
        trailers: Mapping[str, str] | None = None,
        base: Commit | None = None,
        expect: Commit | None = None,
        changes: Mapping[str, Held] | None = None,
        merges: Commit | None = None,
    ) -> None:
        self.id = os.urandom(16).hex()
        self.base = branch_head(writer.blocks, branch) if base is None else base
        if expect is not None and self.base.id != expect.id:
            raise moved(branch, expect, self.base)
        self._expect = expect
        self.branch = branch
        self.author = check_text(writer.author if author is None else author, "author")
        self.message = message
        self.trailers = dict(trailers or {})
        self._merges = merges
        self._committed: Commit | None = None
        self._given_up = False
        self._tried = False
        self._writer = writer
        self._blocks = writer.blocks
        self._buffer = Buffer(writer.blocks, self.base.tree_cid, self.id)
        for key, held in (changes or {}).items():
            if isinstance(held, Draft):
                self._buffer.write_merged(key, held)
            else:
                self._buffer.put_back(key, held)

    @property
    def committed(self) -> Commit | None:
        """The commit, once it is made; None before."""
        return self._committed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self._committed is None and not self._given_up:
                self.commit()
        finally:
            self._given_up = self._committed is None

    def __reduce__(self) -> NoReturn:
        raise TypeError("a transaction cannot be pickled or copied: it belongs to one repository")

    def put(
        self,
        key: str,
        content: JSON,
        *,
        embedding: VectorLike | None = None,
        vectors: Mapping[str, VectorLike] | None = None,
        embedder: str | None = None,
        provenance: Provenance | None = None,
        event_time: datetime | int | None = None,
    ) -> None:
        """Write a record, replacing the one under the key if there is one.

        Args:
            key: 1 to 4,096 bytes of UTF-8 without control characters; `/` separates its parts.
            content: any JSON value.
            embedding: the vector named `""`: numbers, shape `(dimension,)`, or text for the
                repository's `embed`.
            vectors: further vectors by name.
            embedder: id of the model that made the vectors.
            provenance: the origin of the record.
            event_time: the time of the event that it describes: a datetime (naive means UTC) or UTC
                milliseconds.

        Raises:
            ValidationError: an argument is outside what the format can hold; it is named.
            TransactionDoneError: this was already committed or rolled back.
        """
        self._check_open()
        key = check_key(key)
        named = dict(vectors or {})
        if embedding is not None:
            named[""] = embedding
        floats = {
            check_text(name, "a vector's name"): floats_of(
                value,
                f"{f'vector {name!r}' if name else 'embedding'} of {key!r}",
                self._writer.embed,
            )
            for name, value in named.items()
        }
        self._buffer.write(
            Record(
                key,
                check_content(content, f"content of {key!r}"),
                Vectors(floats, vector_of_floats),
                None if embedder is None else check_text(embedder, "embedder"),
                UNKNOWN if provenance is None else check_provenance(provenance),
                None if event_time is None else check_moment(event_time, "event_time"),
                self.id,
            )
        )

    def delete(self, key: str) -> None:
        """Delete the record under a key.

        Raises:
            NotFoundError: there is no such record.
            ValidationError: the key is not a string.
            TransactionDoneError: this was already committed or rolled back.
        """
        self._check_open(key)
        if self._buffer.lookup(key) is None:
            raise NotFoundError(f"there is no record {key!r} on branch {self.branch!r} to delete")
        self._buffer.put_back(key, None)

    def move(self, old: str, new: str) -> None:
        """Move a record to another key; history, blame and merge follow it.

        Raises:
            NotFoundError: there is no record under the old key.
            AlreadyExistsError: there is one under the new key.
            ValidationError: the new key is not a valid one.
            TransactionDoneError: this was already committed or rolled back.
        """
        self._check_open()
        new = check_key(new)
        record = self[old]
        if new in self:
            raise AlreadyExistsError(
                f"cannot move {old!r} to {new!r}: branch {self.branch!r} has a record there"
            )
        floats = {name: vector.tobytes() for name, vector in record.vectors.items()}
        origin = record.moved_from if record.transaction_id == self.id else None
        self._buffer.write(
            replace(
                record,
                key=new,
                vectors=Vectors(floats, vector_of_floats),
                transaction_id=self.id,
                moved_from=origin or old,
            )
        )
        self._buffer.put_back(old, None)

    def get(self, key: str, default: Any = None) -> Any:
        """The record under a key as this transaction sees it, else the default.

        Raises:
            ValidationError: the key is not a string.
            TransactionDoneError: this was already committed or rolled back.
        """
        self._check_open(key)
        self._buffer.read_keys.add(key)
        block = self._buffer.lookup(key)
        return default if block is None else self._buffer.record(key, block)

    def __getitem__(self, key: str) -> Record:
        record = self.get(key)
        if record is None:
            raise NotFoundError(f"there is no record {key!r} on branch {self.branch!r}")
        return record

    def __contains__(self, key: object) -> bool:
        self._check_open()
        if not isinstance(key, str):
            return False
        self._buffer.read_keys.add(key)
        return self._buffer.lookup(key) is not None

    def __iter__(self) -> Iterator[str]:
        return self.scan_keys()

    def __len__(self) -> int:
        return sum(1 for _ in self.scan_keys())

    def __bool__(self) -> bool:
        """True, even if the branch has no records."""
        return True

    def __setitem__(self, key: str, content: JSON) -> None:
        self.put(key, content)

    def __delitem__(self, key: str) -> None:
        self.delete(key)

    def rollback(self) -> None:
        """Roll the transaction back: nothing of it is written, not even at the end of its block.

        Raises:
            TransactionDoneError: this was already committed or rolled back.
        """
        self._check_open()
        self._given_up = True

    def scan(self, prefix: str = "") -> Iterator[Record]:
        """The records whose keys start with a prefix as this transaction sees them, by key.

        Raises:
            ValidationError: the prefix is not a string.
            TransactionDoneError: this was already committed or rolled back.
        """
        return self._buffer.records(self._entries(prefix))

    def depends_on(self, prefix: str = "") -> None:
        """Make the commit depend on every record below a prefix, as if it had been scanned.

        For decisions that were based on a snapshot or a view of `base`.

        Raises:
            ValidationError: the prefix is not a string.
            TransactionDoneError: this was already committed or rolled back.
        """
        self._check_open()
        self._buffer.read_prefixes.add(check_text(prefix, "prefix"))

    def scan_keys(self, prefix: str = "") -> Iterator[str]:
        """The keys that start with a prefix as this transaction sees them, in order.

        Raises:
            ValidationError: the prefix is not a string.
            TransactionDoneError: this was already committed or rolled back.
        """
        return (key for key, _ in self._entries(prefix))

    def written(self) -> Iterator[Record]:
        """The records that this transaction writes, in no order."""
        self._buffer.settle()
        return self._buffer.written()

    def changed_keys(self) -> Collection[str]:
        """The keys whose state after this transaction differs from `base`."""
        self._buffer.settle()
        return self._buffer.changes(self.base.tree_cid).keys()

    def touched(self) -> Collection[str]:
        """The keys that this transaction has written or deleted."""
        self._buffer.settle()
        return self._buffer.pending.keys()

    def commit(self) -> Commit:
        """Make the commit, or return the head if nothing changes.

        Returns:
            The commit, durable and visible to every process.

        Raises:
            ConflictError: others have changed what this transaction read or wrote.
            RefConflictError: the branch does not point at the commit that was expected any more.
            EngineError: the store failed, and the commit is not in it.
            ReadOnlyError: the store does not accept writes.
            NotFoundError: an object that is needed is missing from the store.
            CorruptObjectError: an object that is needed is damaged.
            ValidationError: message or a trailer is not text.
            TransactionDoneError: this was already committed or rolled back.
        """
        self._check_open()
        if self._expect is None:
            self._committed = until_it_lands(self._blocks.can, self._attempt, RefConflictError)
        else:
            self._committed = self._land_as_expected(self._expect)
        return self._committed

    def _check_open(self, text: object = "") -> None:
        """Raise if the transaction is over, or if a key or prefix is not text."""
        if self._committed is not None:
            raise TransactionDoneError(
                f"this transaction was committed as {self._committed.id}; begin another one"
            )
        if self._given_up:
            raise TransactionDoneError(
                "this transaction was rolled back, and nothing of it was written; begin another one"
            )
        if not isinstance(text, str):
            raise ValidationError(f"a key is a string, not {type(text).__name__}: {text!r:.80}")

    def _entries(self, prefix: str) -> list[tuple[str, Id]]:
        """The keys that start with a prefix, with their records; the commit depends on all."""
        self._check_open()
        self._buffer.read_prefixes.add(check_text(prefix, "prefix"))
        return self._buffer.entries(prefix)

    def _land_as_expected(self, expect: Commit) -> Commit:
        """Land on the commit that is expected, or not at all."""
        try:
            made = self._land_on(expect)
        except (NotFoundError, RefConflictError):
            self._check_expected(expect)
            raise
        if made is expect:
            self._check_expected(expect)
        return made

    def _check_expected(self, expect: Commit) -> None:
        head = branch_head(self._blocks, self.branch)
        if head.id != expect.id:
            raise moved(self.branch, expect, head)

    def _attempt(self) -> Commit:
        """Land on the base at first, without reading the branch; then on its head.

        The base is missing if the branch was deleted meanwhile and garbage collected.
        """
        if not self._tried:
            self._tried = True
            with suppress(NotFoundError):
                made = self._land_on(self.base)
                if made is not self.base:
                    return made
        head = branch_head(self._blocks, self.branch)
        if self._buffer.has_writes and head.id != self.base.id:
            self._check_against(head)
        return self._land_on(head)

    def _land_on(self, head: Commit) -> Commit:
        """Make the commit on a head, or return the head if nothing changes."""
        self._buffer.settle()
        ready = self._prepared(head)
        return head if ready is None else self._land(head, ready)

    def _prepared(self, head: Commit) -> _Ready | None:
        """The commit on a head, or None if nothing changes."""
        node, root = self._blocks.node, head.tree_cid
        changes = self._buffer.changes(root)
        if not changes and not self._merges:
            return None
        edit = tree.edit(node, root, changes)
        now = self._writer.clock()
        unnamed = self._unnamed(head, edit.root, now)
        block, ref = encode_commit(unnamed), branch_ref(self.branch)
        new = object_id(block)
        values = self._buffer.objects(changes, put_back=self._merges is None)
        objects = {**values, **edit.blocks, new: block}
        update = RefUpdate(
            ref,
            head.cid,
            new,
            self.author,
            now,
            self.message,
            self._index_entry(new, changes, unnamed, values),
            plan_index_update(
                self._blocks,
                ref,
                root,
                edit.root,
                changes,
                objects,
                in_full=self._merges is not None,
            ),
        )
        return _Ready(replace(unnamed, id=text_id(new)), update, objects, values, edit.nodes)

    def _unnamed(self, head: Commit, root: Id, now: int) -> Commit:
        """The commit of a tree on a head, without its id."""
        parents = [head] if self._merges is None else [head, self._merges]
        return Commit(
            id="",
            parents=tuple(parent.id for parent in parents),
            tree=text_id(root),
            transaction_id=self.id,
            author=self.author,
            message=check_text(self.message, "message"),
            timestamp_ms=max(now, *(parent.timestamp_ms for parent in parents)),
            generation=1 + max(parent.generation for parent in parents),
            trailers={
                check_text(name, "a trailer's name"): check_text(value, f"trailer {name!r}")
                for name, value in self.trailers.items()
            },
        )

    def _land(self, head: Commit, ready: _Ready) -> Commit:
        """Write a prepared commit."""
        made, update = ready.commit, ready.update
        merged = [] if self._merges is None else [self._merges.cid]
        write_ref(self._blocks, ready.objects, update, merged)
        self._blocks.remember_nodes(ready.nodes)
        self._blocks.remember_values(ready.values)
        self._blocks.remember_commit(made.cid, made)
        if index_is_current(self._blocks, update):
            self._writer.heads.note(self.branch, head, made)
        else:
            self._writer.heads.forget(self.branch)
        return made

    def _index_entry(
        self, new: Id, changes: Mapping[str, Id | None], made: Commit, objects: Mapping[Id, bytes]
    ) -> IndexEntry:
        """The entry of the commit in a history index; without facts if that takes reading."""
        keys = self._new_everywhere(changes)
        origins = self._buffer.origins((changes[key] for key in keys), objects)
        facts = None if origins is None else facts_of(made.author, made.trailers, *origins)
        return IndexEntry(new, self.id, keys, facts)

    def _new_everywhere(self, changes: Mapping[str, Id | None]) -> Collection[str]:
        """The keys that differ both from the head and from the merged commit."""
        if self._merges is None:
            return changes.keys()
        node, root = self._blocks.node, self._merges.tree_cid
        return [key for key, record in changes.items() if tree.get(node, root, key) != record]

    def _check_against(self, head: Commit) -> None:
        """Raise if the branch has moved to a head that clashes with what was read or written."""
        known = {self.base.cid: self.base}
        lookup = self._blocks.commit
        if not is_ancestor(lambda each: known.get(each) or lookup(each), self.base.cid, head.cid):
            raise ConflictError(
                f"branch {self.branch!r} was deleted and made again at {head.id}, which does not "
                f"follow {self.base.id}, where this transaction began; begin again"
            )
        conflicts = self._buffer.clashes(head.tree_cid)
        if conflicts:
            keys = ", ".join(repr(conflict.key) for conflict in conflicts[:5])
            raise ConflictError(
                f"branch {self.branch!r} has moved to {head.id}, which changed {keys}"
                f"{' and more' if len(conflicts) > 5 else ''}, used by this transaction; "
                "begin again on the new head, or use `transact`",
                conflicts,
            )

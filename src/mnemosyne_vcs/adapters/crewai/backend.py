"""`MnemosyneStorageBackend`: CrewAI's storage contract over a repository."""

import asyncio
from collections.abc import Callable, Iterable, Sized
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from mnemosyne_vcs.adapters.crewai.contents import Contents
from mnemosyne_vcs.adapters.crewai.keys import (
    ROOT,
    child_scopes,
    key_for,
    mended,
    prefix_of,
    scope_path,
)
from mnemosyne_vcs.adapters.crewai.opened import Opened
from mnemosyne_vcs.adapters.crewai.provenance import current_origin, listen
from mnemosyne_vcs.adapters.crewai.specs import spec_of
from mnemosyne_vcs.adapters.crewai.translate import (
    common_dimension,
    content_of,
    dimension_mismatch,
    embedding_of,
    facts_of,
    metadata_test,
    microseconds,
    moment_of,
    naive_utc,
    record_of,
    text_to_embed,
)
from mnemosyne_vcs.embedding import Embed
from mnemosyne_vcs.errors import NotFoundError, ReadOnlyError, ValidationError
from mnemosyne_vcs.model import Blame, Commit, Provenance, Record, Revision
from mnemosyne_vcs.repository import Repository
from mnemosyne_vcs.transaction.transaction import Transaction

if TYPE_CHECKING:
    from crewai.memory.types import MemoryRecord, ScopeInfo

__all__ = ["MnemosyneStorageBackend"]


class MnemosyneStorageBackend:
    """CrewAI memory in a versioned store: pass it as `Memory(storage=...)`.

    Every `save`, `update`, `delete` and `reset` is one commit, durable when the call returns; the
    commits of one memory operation share the trailer `Save-Id`, those of one kickoff `Run-Id`.
    Any number of threads, processes and backends may share one store.

    `search` scores by exact cosine similarity, and filters before it cuts. A record without an
    embedding is stored but never found by search. A record id is unique in the branch; if other
    code has put a second record with the same id there, `get_record` returns the one that was
    written last, and `save`, `update` and `delete` apply to all of them.

    A record that other code has put under a key of CrewAI's and that does not have the form of a
    memory record is ignored everywhere. A record that was moved to another key is in the scope of
    that key. Half an emoji in a text, a lone surrogate, is stored as U+FFFD.

    `private` is stored, not enforced: the protocol never says who asks, so `search` and
    `list_records` return private records like any others. CrewAI's own recall hides them, one
    layer up, from all but their source; code that calls this backend directly sees them.

    Args:
        url_or_repository: a path or URL as `mnemosyne_vcs.open` takes it, created on first use if
            it does not exist, or an open repository.
        branch: the branch to read and write.
        author: the author of commits.

    Attributes:
        branch: the branch that is read and written.
        author: the author of commits.
    """

    def __init__(
        self,
        url_or_repository: str | PathLike[str] | Repository,
        *,
        branch: str = "main",
        author: str = "crewai",
    ) -> None:
        self.branch = branch
        self.author = author
        self._revision: str | None = None
        self._opened = Opened(url_or_repository)
        with suppress(ImportError):  # an unknown version of CrewAI: origins stay unknown
            listen()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.spec}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self.repository.url.startswith("memory:"):
            raise TypeError("a backend in memory cannot be pickled; keep its memory in a file")
        return _unpickled, (
            type(self),
            self.repository.url,
            self.branch,
            self.author,
            self._revision,
        )

    @property
    def repository(self) -> Repository:
        """The repository, opened when it is first used.

        Raises:
            ReadOnlyError: the store does not exist and cannot be created.
            FormatVersionError: the store was written in a newer format.
            EngineError: it is not a store, or cannot be read.
        """
        return self._opened.repository(self.branch)

    @property
    def spec(self) -> str:
        """The text from which `register`'s factory can make this backend again."""
        return spec_of(self._opened.url, self.branch, self._revision)

    @property
    def __pydantic_serializer__(self) -> Any:
        """Lets CrewAI's checkpoints store the spec in place of the backend."""
        from pydantic_core import SchemaSerializer, core_schema

        as_spec = core_schema.plain_serializer_function_ser_schema(
            lambda backend: backend.spec, when_used="json"
        )
        return SchemaSerializer(core_schema.any_schema(serialization=as_spec))

    def on(self, branch: str) -> Self:
        """A backend on another branch of the same repository.

        Args:
            branch: the branch; created from this backend's if it does not exist.

        Raises:
            ValidationError: the name is not a valid branch name.
        """
        if branch not in self.repository.branches():
            self.repository.create_branch(branch, revision=self._revision or self.branch)
        return self._sibling(branch, None)

    def at(self, revision: Revision) -> Self:
        """The memory at a revision, for `Memory(storage=..., read_only=True)`.

        Args:
            revision: a commit id, tag, `main~3`, `main@{yesterday}` and the like.

        Raises:
            NotFoundError: it names nothing that exists.
            InvalidRevisionError: it is not a valid revision.
        """
        return self._sibling(self.branch, self.repository.resolve(revision).id)

    def history(self, record_id: str) -> list[Blame]:
        """Every value of a record, newest first, through changes of scope.

        Raises:
            NotFoundError: no commit had the record.
        """
        contents = self._contents()
        key = self._known_key(contents, record_id) or self._lost_key(contents, record_id)
        return list(self.repository.history(key, contents.snapshot.commit.id))

    def why(self, record_id: str) -> Blame:
        """The commit that set the value of a record, and its source.

        A re-embedding does not count. CrewAI passes no source when it consolidates; the
        provenance then has the source of the newest earlier value that has one.

        Raises:
            NotFoundError: no commit had the record.
        """
        newest, *earlier = self.history(record_id)
        while earlier and _unchanged(earlier[0], newest):
            newest = earlier.pop(0)
        newest = self.repository.blame(newest.key, newest.commit.id)
        record = newest.record
        if record is None or record.provenance.source:
            return newest
        sources = (each.record.provenance.source for each in earlier if each.record)
        source = next((source for source in sources if source), None)
        provenance = replace(record.provenance, source=source)
        return replace(newest, record=replace(record, provenance=provenance))

    def reembed(self, embed: Embed, *, embedder: str | None = None) -> Commit:
        """Replace the embeddings of the whole branch by those of another model, in one commit.

        From then on `save` and `search` take that model's. Records without an embedding are left
        as they are. See `Repository.reembed`.

        Args:
            embed: turns a list of texts into vectors, one each.
            embedder: id of the model, if the records are to name it.

        Returns:
            The new commit, or the head if no embedding changed.

        Raises:
            ReadOnlyError: this backend shows the past, or the store does not accept writes.
            ValidationError: `embed` did not return one vector for each text.
            DimensionError: it returned vectors of several dimensions; nothing was written.
            EngineError: the store failed, and nothing was written.
        """
        self._check_present()
        return self.repository.reembed(
            embed,
            branch=self.branch,
            prefix=ROOT,
            embedder=embedder,
            text=text_to_embed,
            author=self.author,
        )

    def close(self) -> None:
        """Close files and connections; a later call opens them again."""
        self._opened.close()

    def save(self, records: "list[MemoryRecord]") -> None:
        """Store records in one commit, replacing those with the same ids.

        Embeddings of another dimension are accepted if no others remain.

        Raises:
            EmbeddingDimensionMismatchError: an embedding has another dimension than the branch's
                or another record's; nothing is written.
            ValidationError: a field cannot be stored; nothing is written.
            ReadOnlyError: the store does not accept writes.
            EngineError: the store failed, and nothing was written.
        """
        if records:
            self._put(records, f"save {_counted(records)}")

    def update(self, record: "MemoryRecord") -> None:
        """Replace the record with the same id, or store it if there is none; raises as `save`."""
        self._put([record], f"update {record.id}")

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> "list[tuple[MemoryRecord, float]]":
        """The records most similar to a query, with their cosine similarity.

        Filters apply before the cut: `limit` records are found if that many match.

        Args:
            query_embedding: the query, shape `(dimension,)`.
            scope_prefix: only records at or below this scope.
            categories: only records with at least one of these.
            metadata_filter: only records whose metadata has these values.
            limit: how many at most; 0 or less gives none.
            min_score: the least similarity.

        Returns:
            `(record, similarity)`, most similar first, private records included.

        Raises:
            EmbeddingDimensionMismatchError: the query has another dimension than the branch.
            EngineError: the store cannot be read.
        """
        contents = self._contents()
        try:
            hits = contents.search(
                query_embedding, scope_prefix, categories, metadata_filter, limit, min_score
            )
        except ValidationError:
            dimensions = contents.snapshot.dimensions()
            if not dimensions:
                return []
            if len(query_embedding) not in dimensions:
                raise dimension_mismatch(dimensions[0], len(query_embedding)) from None
            raise
        return [(record_of(hit.record), hit.score) for hit in hits]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that match all given filters, in one commit.

        Args:
            scope_prefix: records at or below this scope.
            categories: records with at least one of these.
            record_ids: records with these ids; an empty list deletes nothing.
            older_than: records created before this moment.
            metadata_filter: records whose metadata has these values.

        Returns:
            The number of deleted records.

        Raises:
            ReadOnlyError: the store does not accept writes.
            EngineError: the store failed, and nothing was deleted.
        """
        test = _deletion_test(categories, older_than, metadata_filter)
        deleted: list[str] = []

        def write(transaction: Transaction) -> None:
            contents = self._base(transaction)
            if record_ids is None:
                keys = contents.under(scope_prefix)
            else:
                keys = contents.with_ids(record_ids, scope_prefix)
            snapshot = contents.snapshot
            deleted[:] = keys if test is None else (key for key in keys if test(snapshot[key]))
            for key in deleted:
                transaction.delete(key)
            transaction.message = f"delete {_counted(deleted)}"

        self._transact(write)
        return len(deleted)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete all records at or below a scope in one commit; the history keeps them.

        Raises:
            ReadOnlyError: the store does not accept writes.
            EngineError: the store failed, and nothing was deleted.
        """

        def write(transaction: Transaction) -> None:
            for key in self._base(transaction).under(scope_prefix):
                transaction.delete(key)
            transaction.message = f"reset {scope_path(scope_prefix) or '/'}"

        self._transact(write)

    def get_record(self, record_id: str) -> "MemoryRecord | None":
        """The record with an id, its embedding included, or None.

        Raises:
            EngineError: the store cannot be read.
        """
        found = self._contents().records(record_id)
        return record_of(found[0]) if found else None

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> "list[MemoryRecord]":
        """Records at or below a scope, newest first, ties by key.

        Args:
            scope_prefix: the scope; None for all.
            limit: how many at most; 0 or less gives none.
            offset: how many to skip before them; less than 0 gives none.

        Raises:
            EngineError: the store cannot be read.
        """
        if limit <= 0 or offset < 0:
            return []
        contents = self._contents()
        keys = contents.scopes.newest(prefix_of(scope_prefix), limit, offset)
        records = contents.snapshot.read_many(keys, with_vectors=True)
        return [record_of(record) for record in records]

    def get_scope_info(self, scope: str) -> "ScopeInfo":
        """The number of records in and below a scope, their categories, times and child scopes.

        Raises:
            EngineError: the store cannot be read.
        """
        from crewai.memory.types import ScopeInfo

        view, prefix = self._contents().scopes, prefix_of(scope)
        times = view.times(prefix)
        oldest, newest = map(moment_of, times) if times else (None, None)
        return ScopeInfo(
            path=scope.rstrip("/") or "/",
            record_count=view.count(prefix),
            categories=list(view.categories(prefix)),
            oldest_record=oldest,
            newest_record=newest,
            child_scopes=child_scopes(view.scopes(prefix), scope_path(scope)),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes directly below a parent with records in or below them, sorted.

        Raises:
            EngineError: the store cannot be read.
        """
        view = self._contents().scopes
        return child_scopes(view.scopes(prefix_of(parent)), scope_path(parent))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """The number of records at or below a scope with each category.

        Raises:
            EngineError: the store cannot be read.
        """
        return self._contents().scopes.categories(prefix_of(scope_prefix))

    def count(self, scope_prefix: str | None = None) -> int:
        """The number of records at or below a scope.

        Raises:
            EngineError: the store cannot be read.
        """
        return self._contents().scopes.count(prefix_of(scope_prefix))

    async def asave(self, records: "list[MemoryRecord]") -> None:
        """`save` in another thread."""
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> "list[tuple[MemoryRecord, float]]":
        """`search` in another thread."""
        return await asyncio.to_thread(
            self.search,
            query_embedding,
            scope_prefix,
            categories,
            metadata_filter,
            limit,
            min_score,
        )

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """`delete` in another thread."""
        return await asyncio.to_thread(
            self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter
        )

    def _sibling(self, branch: str, revision: str | None) -> Self:
        sibling = type(self)(self.repository, branch=branch, author=self.author)
        sibling._revision = revision
        sibling._opened = self._opened
        return sibling

    def _check_present(self) -> None:
        if self._revision is not None:
            raise ReadOnlyError(
                f"this backend shows the past commit {self._revision}; write to on(branch) instead"
            )

    def _contents(self) -> Contents:
        return Contents(self.repository, self.repository.at(self._revision or self.branch))

    def _base(self, transaction: Transaction) -> Contents:
        """The state that a transaction starts from, and depends on as a whole."""
        transaction.depends_on()
        return Contents(self.repository, self.repository.at(transaction.base.id))

    def _known_key(self, contents: Contents, record_id: str) -> str | None:
        """The key of a record id: of CrewAI's newest record with it, else of any record."""
        keys = [record.key for record in contents.records(record_id)]
        return next(iter(keys or contents.any_keys(record_id)), None)

    def _lost_key(self, contents: Contents, record_id: str) -> str:
        """The key that a record had before it was deleted."""
        newest = contents.snapshot.commit.id
        for commit in self.repository.log(newest):
            before = Contents(self.repository, self.repository.at(commit.parents[0]))
            key = self._known_key(before, record_id)
            if key is not None:
                return key
        raise NotFoundError(f"no commit up to {newest} had record {record_id!r}")

    def _put(self, records: "Iterable[MemoryRecord]", message: str) -> None:
        latest = {record.id: record for record in records}
        dimension = common_dimension(latest.values())
        origin = current_origin()

        @cache
        def provenance(source: str | None) -> Provenance:
            told = (source, origin.agent, origin.task)
            source, agent, task = (mended(text) if text else None for text in told)
            return Provenance(source, agent, task, run=origin.run_id)

        def write(transaction: Transaction) -> None:
            base = self._base(transaction)
            if dimension is not None:
                self._opened.check_dimension(base, dimension, latest.keys())
            for record in latest.values():
                key = key_for(record.scope, record.id)
                _make_way(transaction, base, record.id, key)
                transaction.put(
                    key,
                    content_of(record),
                    embedding=embedding_of(record),
                    provenance=provenance(record.source),
                )
            transaction.message = message

        commit = self._transact(write)
        if dimension is not None:
            self._opened.dimension_at(commit.tree_cid, dimension)

    def _transact(self, write: Callable[[Transaction], None]) -> Commit:
        self._check_present()
        origin = current_origin()
        trailers = {"Save-Id": origin.save_id, "Run-Id": origin.run_id, "Crew": origin.crew}
        return self.repository.transact(
            write,
            self.branch,
            author=self.author,
            trailers={name: mended(value) for name, value in trailers.items() if value},
        )


def _unpickled(
    cls: type[MnemosyneStorageBackend], url: str, branch: str, author: str, revision: str | None
) -> MnemosyneStorageBackend:
    backend = cls(url, branch=branch, author=author)
    return backend if revision is None else backend.at(revision)


def _unchanged(older: Blame, newer: Blame) -> bool:
    """Whether a later value of a record has the same contents, as after re-embedding."""
    before, after = older.record, newer.record
    return (
        before is not None
        and after is not None
        and before.key == after.key
        and before.content == after.content
        and before.provenance == after.provenance
    )


def _make_way(transaction: Transaction, base: Contents, record_id: str, key: str) -> None:
    """Remove all other keys of a record id than the one that is about to be written."""
    if base.any_keys(record_id) in ([], [key]):
        return
    others = [record.key for record in base.records(record_id) if record.key != key]
    if others and key not in transaction:
        transaction.move(others.pop(0), key)
    for other in others:
        transaction.delete(other)


def _deletion_test(
    categories: list[str] | None,
    older_than: datetime | None,
    metadata_filter: dict[str, Any] | None,
) -> Callable[[Record], bool] | None:
    if not categories and older_than is None and not metadata_filter:
        return None
    wanted = frozenset(map(mended, categories or ()))
    cut = None if older_than is None else microseconds(naive_utc(older_than))
    matches = metadata_test(metadata_filter or {})

    def test(record: Record) -> bool:
        facts = facts_of(record)
        if facts is None or (wanted and wanted.isdisjoint(facts.categories)):
            return False
        old = cut is None or (facts.created is not None and facts.created < cut)
        return old and matches(record)

    return test


def _counted(items: Sized) -> str:
    return f"{len(items)} record{'' if len(items) == 1 else 's'}"

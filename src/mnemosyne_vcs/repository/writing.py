"""The part of `Repository` that writes records, each call in a commit of its own."""

from collections.abc import Mapping
from datetime import datetime

from mnemosyne_vcs.embedding import VectorLike, embed_all
from mnemosyne_vcs.errors import NotFoundError, ValidationError
from mnemosyne_vcs.model import JSON, Commit, Provenance, Revision
from mnemosyne_vcs.refs import DEFAULT_BRANCH
from mnemosyne_vcs.repository.base import RepositoryBase
from mnemosyne_vcs.transaction.transact import transact
from mnemosyne_vcs.transaction.transaction import Transaction

__all__ = ["_Writing"]


class _Writing(RepositoryBase):
    """Short forms of a transaction. Changes that belong together go into one transaction."""

    def put(
        self,
        key: str,
        content: JSON,
        *,
        branch: str = DEFAULT_BRANCH,
        embedding: VectorLike | None = None,
        vectors: Mapping[str, VectorLike] | None = None,
        embedder: str | None = None,
        provenance: Provenance | None = None,
        event_time: datetime | int | None = None,
        author: str | None = None,
        message: str = "",
        expect: Revision | None = None,
    ) -> Commit:
        """Write one record in a commit of its own; arguments and errors as in `Transaction.put`
        and `transact`."""

        def write(transaction: Transaction) -> None:
            transaction.put(
                key,
                content,
                embedding=embedding,
                vectors=vectors,
                embedder=embedder,
                provenance=provenance,
                event_time=event_time,
            )

        self._check_writable()
        return transact(
            self._writer,
            write,
            branch,
            author=author,
            message=message or f"put {key}",
            reads=False,
            expect=self._expected(expect),
        )

    def put_many(
        self,
        contents: Mapping[str, JSON],
        *,
        branch: str = DEFAULT_BRANCH,
        embeddings: Mapping[str, VectorLike] | None = None,
        embedder: str | None = None,
        provenance: Provenance | None = None,
        event_time: datetime | int | None = None,
        author: str | None = None,
        message: str = "",
        expect: Revision | None = None,
    ) -> Commit:
        """Write many records in one commit, each replacing the one under its key.

        Args:
            contents: the content for each key.
            branch: the branch to commit to.
            embeddings: the vector named `""` for those keys that have one: numbers of shape
                `(dimension,)`, or texts, which are passed to the repository's `embed` many at once.
            embedder: id of the model that made the vectors.
            provenance: the origin of all records.
            event_time: the time of the event that they describe: a datetime (naive means UTC) or
                UTC milliseconds.
            author: the author; the repository's if not given.
            message: the commit message.
            expect: the commit that the branch must point at.

        Returns:
            The commit, or the head if nothing changes.

        Raises:
            NotFoundError: the branch does not exist.
            ValidationError: an argument is outside what the format can hold, or an embedding is
                for a key without content; nothing was written.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the store failed, and the commit is not in it.
        """
        self._check_writable()
        records = dict(contents)
        vectors = self._embedded(embeddings or {}, records)

        def write(transaction: Transaction) -> None:
            for key, content in records.items():
                transaction.put(
                    key,
                    content,
                    embedding=vectors.get(key),
                    embedder=embedder if key in vectors else None,
                    provenance=provenance,
                    event_time=event_time,
                )

        return transact(
            self._writer,
            write,
            branch,
            author=author,
            message=message or f"put {len(records):,} records",
            reads=False,
            expect=self._expected(expect),
        )

    def move(
        self,
        old: str,
        new: str,
        *,
        branch: str = DEFAULT_BRANCH,
        author: str | None = None,
        message: str = "",
        expect: Revision | None = None,
    ) -> Commit:
        """Move one record to another key in a commit of its own; history and blame follow it.

        Raises:
            NotFoundError: there is no record under the old key, or the branch does not exist.
            AlreadyExistsError: there is one under the new key.
            ValidationError: the new key is not valid.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the store failed, and the commit is not in it.
        """
        return self.transact(
            lambda transaction: transaction.move(old, new),
            branch,
            author=author,
            message=message or f"move {old} to {new}",
            expect=expect,
        )

    def delete(
        self,
        key: str | None = None,
        *,
        prefix: str | None = None,
        branch: str = DEFAULT_BRANCH,
        author: str | None = None,
        message: str = "",
        expect: Revision | None = None,
    ) -> Commit:
        """Delete one record, or all whose keys start with a prefix, in a commit of its own.

        Args:
            key: the key of the record.
            prefix: what the keys start with; empty for all records.
            branch: the branch to commit to.
            author: the author; the repository's if not given.
            message: the commit message.
            expect: the commit that the branch must point at.

        Raises:
            NotFoundError: the record or branch does not exist, or no key starts with the prefix.
            ValidationError: key and prefix are both given or both missing, or are not text.
            RefConflictError: the branch does not point at `expect`; nothing was written.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the store failed, and the commit is not in it.
        """
        if (key is None) == (prefix is None):
            raise ValidationError("delete takes either a key or a prefix")

        def remove(transaction: Transaction) -> None:
            for each in _keys(transaction, prefix) if key is None else [key]:
                transaction.delete(each)

        what = key if key is not None else f"everything below {prefix!r}"
        return self.transact(
            remove, branch, author=author, message=message or f"delete {what}", expect=expect
        )

    def _embedded(
        self, embeddings: Mapping[str, VectorLike], contents: Mapping[str, JSON]
    ) -> dict[str, VectorLike]:
        """The embeddings, with texts turned into vectors by the repository."""
        for key in embeddings:
            if key not in contents:
                raise ValidationError(f"there is an embedding for {key!r}, but no content")
        texts = [value for value in embeddings.values() if isinstance(value, str)]
        embed = self._writer.embed
        known = embed_all(embed, texts) if embed else {}
        return {
            key: known.get(value, value) if isinstance(value, str) else value
            for key, value in embeddings.items()
        }


def _keys(transaction: Transaction, prefix: str | None) -> list[str]:
    keys = list(transaction.scan_keys(prefix or ""))
    if not keys:
        raise NotFoundError(
            f"there is no key that starts with {prefix!r} on branch {transaction.branch!r}"
        )
    return keys

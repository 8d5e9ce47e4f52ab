"""The part of `Repository` that concerns the vectors of branches: re-embedding and indexes."""

from collections.abc import Callable

from mnemosyne_vcs import tree
from mnemosyne_vcs.embedding import Embed
from mnemosyne_vcs.engine.vector_index import IndexesVectors
from mnemosyne_vcs.errors import BusyError, EngineError, NotFoundError, ValidationError
from mnemosyne_vcs.merge.mixing import check_mixing
from mnemosyne_vcs.model import Commit, Record
from mnemosyne_vcs.reembed import Reembedding, text_of
from mnemosyne_vcs.refs import BRANCH, DEFAULT_BRANCH, branch_head, branch_ref
from mnemosyne_vcs.repository.base import RepositoryBase
from mnemosyne_vcs.transaction.transaction import Transaction
from mnemosyne_vcs.views.server_index import update_index

__all__ = ["_VectorIndex"]

_ATTEMPTS = 20


class _VectorIndex(RepositoryBase):
    """Re-embedding, and indexes of the vectors of branches.

    If the engine can index vectors, branches can have an index. With one, `Snapshot.search` uses
    the engine and loads only what it finds; the answers are the same. Commits update the index.
    Without an index, each process loads the vectors.
    """

    def reembed(
        self,
        embed: Embed | None = None,
        *,
        branch: str = DEFAULT_BRANCH,
        prefix: str = "",
        vector: str = "",
        embedder: str | None = None,
        text: Callable[[Record], str | None] = text_of,
        author: str | None = None,
        message: str = "",
        allow_mixed_vectors: bool = False,
    ) -> Commit:
        """Replace the vectors of a branch by those of another model, in one commit.

        Records without such a vector are not changed. Content, provenance, event time and
        other vectors stay, so that `blame` of a field of the content still finds the commit
        that wrote it; `blame` of the whole record finds this commit. The texts and the new vectors
        are held in memory until the commit. If the branch moves meanwhile, only new texts are
        embedded.

        Args:
            embed: turns a list of up to 128 texts into vectors, one each; the repository's own if
                not given.
            branch: the branch.
            prefix: only records whose keys start with this.
            vector: the name of the vectors to replace.
            embedder: id of the model, which the records name from then on; None if unknown.
            text: returns the text to embed for a record, or None to leave the record as it is. If
                not given, the content if it is text, else the content as JSON.
            author: the author; the repository's if not given.
            message: the commit message.
            allow_mixed_vectors: allow vectors of several dimensions or models side by side where
                there was only one kind before; no search can compare them.

        Returns:
            The new commit, or the head if no vector changes.

        Raises:
            DimensionError: other records would keep vectors of another kind, and that is not
                allowed; nothing was written.
            NotFoundError: the branch does not exist.
            ReadOnlyError: the repository was opened for reading.
            ValidationError: there is no `embed`, or it or `text` returned something
                unexpected; nothing was written.
            EngineError: the store failed, and the commit is not in it.
            Exception: whatever `embed` and `text` raise; nothing was written.
        """
        embed = embed or self._writer.embed
        if embed is None:
            raise ValidationError(
                "there is nothing to embed with: give `embed`, or open the repository with one"
            )
        reembedding = Reembedding(embed, vector, embedder, text)

        def write(transaction: Transaction) -> None:
            count = reembedding.write(transaction, prefix)
            model = f" with {embedder}" if embedder else ""
            records = "1 record" if count == 1 else f"{count} records"
            transaction.message = message or f"re-embed {records}{model}"
            if not allow_mixed_vectors:
                check_mixing(self.blocks, transaction)

        return self.transact(write, branch, author=author)

    def create_vector_index(self, branch: str = DEFAULT_BRANCH) -> None:
        """Index the vectors of a branch in the engine, and keep the index.

        On a branch with an index, this only updates it.

        Args:
            branch: the branch.

        Raises:
            NotFoundError: the branch does not exist.
            ReadOnlyError: the repository was opened for reading.
            BusyError: it lost every race with other writers.
            EngineError: the engine has no such index; only PostgreSQL with pgvector does.
        """
        engine, ref = self._indexes(), branch_ref(branch)
        branch_head(self.blocks, branch)
        engine.add_vector_index(ref, tree.EMPTY_ROOT)
        for _ in range(_ATTEMPTS):
            head = branch_head(self.blocks, branch).tree_cid
            root = engine.known_vector_root(ref)
            if root == head or (root and update_index(self.blocks, engine, ref, root, head)):
                return
        raise BusyError(f"the index of branch {branch!r} is being written by others; try again")

    def drop_vector_index(self, branch: str = DEFAULT_BRANCH) -> None:
        """Drop the index of a branch's vectors; each process loads them then.

        Raises:
            NotFoundError: the branch has no index.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the engine has no such index, or failed.
        """
        if not self._indexes().drop_vector_index(branch_ref(branch)):
            raise NotFoundError(f"branch {branch!r} has no index of its vectors")

    def vector_indexes(self) -> dict[str, bool]:
        """The branches whose vectors are indexed, and whether the index is at the newest commit.

        If it is not, searches allow for that, and the next commit or search updates it.
        """
        vectors = self.blocks.can.vectors
        if vectors is None:
            return {}
        return {
            index.ref.removeprefix(BRANCH): self.blocks.commit(index.head).tree_cid == index.root
            for index in vectors.vector_indexes()
        }

    def _indexes(self) -> IndexesVectors:
        if self.blocks.can.vectors is not None:
            return self.blocks.can.vectors
        raise EngineError(
            f"{self.url} cannot index vectors; PostgreSQL with pgvector can. Searches load them"
        )

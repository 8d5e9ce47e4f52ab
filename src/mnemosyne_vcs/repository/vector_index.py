"""The part of `Repository` that lets the engine search the vectors of branches."""

from mnemosyne_vcs import tree
from mnemosyne_vcs.engine.vector_index import IndexesVectors
from mnemosyne_vcs.errors import BusyError, EngineError, NotFoundError
from mnemosyne_vcs.format.objects import parse_id, text_id
from mnemosyne_vcs.refs import BRANCH, DEFAULT_BRANCH, branch_head, branch_ref
from mnemosyne_vcs.repository.base import BaseMethods
from mnemosyne_vcs.views.server_index import follow

__all__ = ["IndexMethods"]

_ATTEMPTS = 20


class IndexMethods(BaseMethods):
    """Which branches have an index of their vectors, where the engine can keep one.

    With an index, `Snapshot.search` asks the engine, and loads only what it finds; the answers are
    the same. Commits keep the index in step. Without, each process loads the vectors.
    """

    def index_vectors(self, branch: str = DEFAULT_BRANCH) -> None:
        """Let the engine index the vectors of a branch, now and from here on.

        On a branch that has an index this only sees to it that the index is up to date.

        Args:
            branch: the branch.

        Raises:
            NotFoundError: there is no such branch.
            ReadOnlyError: the repository was opened for reading.
            BusyError: other writers were always faster.
            EngineError: the engine has no such index: only PostgreSQL with pgvector does.
        """
        engine, ref = self._indexes(), branch_ref(branch)
        branch_head(self.blocks, branch)
        engine.add_vector_index(ref, tree.EMPTY_ROOT)
        for _ in range(_ATTEMPTS):
            head = parse_id(branch_head(self.blocks, branch).root)
            root = engine.known_vector_root(ref)
            if root == head or (root and follow(self.blocks, engine, ref, root, head)):
                return
        raise BusyError(f"the index of branch {branch!r} is being written by others; try again")

    def drop_vector_index(self, branch: str = DEFAULT_BRANCH) -> None:
        """Give up the index of a branch's vectors; each process loads them from here on.

        Raises:
            NotFoundError: the branch has none.
            ReadOnlyError: the repository was opened for reading.
            EngineError: the engine has no such index, or failed.
        """
        if not self._indexes().drop_vector_index(branch_ref(branch)):
            raise NotFoundError(f"branch {branch!r} has no index of its vectors")

    def vector_indexes(self) -> dict[str, bool]:
        """The branches whose vectors are indexed, and whether the index is at the newest commit.

        Where it is not, searches make up for it; the next commit or search brings it along.
        """
        engine = self.blocks.engine
        if not isinstance(engine, IndexesVectors):
            return {}
        return {
            index.ref.removeprefix(BRANCH): parse_id(self.blocks.commit(text_id(index.head)).root)
            == index.root
            for index in engine.vector_indexes()
        }

    def _indexes(self) -> IndexesVectors:
        engine = self.blocks.engine
        if isinstance(engine, IndexesVectors):
            return engine
        raise EngineError(
            f"{engine.url} cannot index vectors; PostgreSQL with pgvector can. Searches load them"
        )

"""Search of the vectors of one root by an engine's index, without loading them.

The index holds the vectors of one tree. For another tree that differs in few keys, those keys are
excluded from the index and searched here. So answers never depend on the state of the index.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import compress, islice

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.vector_index import IndexesVectors, VectorIndex, VectorMatch, VectorQuery
from mnemosyne_vcs.errors import EngineError, NotFoundError, ReadOnlyError, ValidationError
from mnemosyne_vcs.format.objects import decode_record, decode_vector
from mnemosyne_vcs.format.validation import check_key
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.views.cosine import Query
from mnemosyne_vcs.views.keys import KeyFilter, Selection
from mnemosyne_vcs.views.quantized import Vector
from mnemosyne_vcs.views.server_index import MOST_BEHIND, update_index

__all__ = ["IndexedVectors", "find_index"]

_FEW_KEYS = 1000
_SPARE = 8
_MORE = 4


def find_index(blocks: Blocks, root: Id, commit: Id, name: str) -> "IndexedVectors | None":
    """The vectors of one name at a root, searched by an index of the engine, if there is one.

    An index whose ref points at the commit is updated first, if the store is writable.

    Args:
        blocks: the objects.
        root: the root.
        commit: the commit that the root is of.
        name: the name of the vectors.
    """
    engine = blocks.can.vectors
    if engine is None:
        return None
    indexes = engine.vector_indexes()
    for index in indexes:
        if index.root == root or (
            index.head == commit and _try_update_index(blocks, engine, index, root)
        ):
            return IndexedVectors(blocks, engine, index.ref, root, {}, name)
    with suppress(NotFoundError):  # the tree of an index may have been removed from the store
        links = _links(blocks, root)
        nearest = max(
            indexes, key=lambda each: len(links & _links(blocks, each.root)), default=None
        )
        if nearest is not None:
            found = tree.diff(blocks.node, nearest.root, root)
            changes = {key: after for key, _, after in islice(found, MOST_BEHIND + 1)}
            if len(changes) <= MOST_BEHIND:
                return IndexedVectors(blocks, engine, nearest.ref, nearest.root, changes, name)
    return None


class IndexedVectors:
    """The vectors of one name of all records of a root.

    Args:
        blocks: the objects.
        engine: the engine of the index.
        ref: the ref whose index it is.
        root: the root that the index must be at.
        changes: the keys whose records differ between there and the root that is searched, with
            their records in the latter; None for no record.
        name: the name of the vectors.
    """

    def __init__(
        self,
        blocks: Blocks,
        engine: IndexesVectors,
        ref: str,
        root: Id,
        changes: Mapping[str, Id | None],
        name: str,
    ) -> None:
        self._blocks = blocks
        self._engine = engine
        self._ref = ref
        self._root = root
        self._changes = changes
        self._name = name

    def dimensions(self) -> set[int] | None:
        """The dimensions of the vectors; None if the index has moved to another root."""
        changed = self._changes.keys()
        found = self._engine.vector_dimensions(self._ref, self._root, self._name, changed)
        if found is None:
            return None
        return {*found, *(len(vector) for _, vector in self._changed(changed))}

    def search(
        self,
        query: Vector,
        *,
        prefix: str = "",
        within: Selection | None = None,
        keep: KeyFilter | None = None,
        limit: int = 10,
        min_score: float,
    ) -> list[tuple[str, float]] | None:
        """The records whose vectors are most similar to a query; see `VectorView.search`.

        Returns:
            None if the index has moved to another root, or cannot hold such vectors.
        """
        if limit <= 0 or not _begins_keys(prefix):
            return []
        asked = Query(query)
        chosen = None if within is None else _chosen(within)
        few = chosen is not None and len(chosen) <= _FEW_KEYS
        test = _Test(None if few else chosen, keep)
        wanted = VectorQuery(
            self._name,
            asked.direction.astype("<f4", copy=False).tobytes(),
            limit + _SPARE,
            prefix,
            chosen if few else None,
            self._changes.keys(),
        )
        found = self._candidates(wanted, test, limit, min_score, asked.margin_of_directions)
        if found is None:
            return None
        data = self._blocks.read([match.vector for match in found])
        vectors = {match.key: decode_vector(match.vector, data[match.vector]) for match in found}
        changed = {
            key: vector
            for key, vector in self._changed(key for key in self._changes if key.startswith(prefix))
            if len(vector) == len(query) and (chosen is None or key in chosen)
        }
        vectors |= {key: changed[key] for key in test(list(changed))}
        scored = zip(vectors, asked.exact(vectors.values()), strict=True)
        hits = [hit for hit in scored if hit[1] >= min_score]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:limit]

    def _candidates(
        self,
        query: VectorQuery,
        test: KeyFilter,
        limit: int,
        min_score: float,
        margin: float,
    ) -> list[VectorMatch] | None:
        """The matches in the index that pass and can be among the `limit` best.

        It requests more and more matches, each time from the first on, until no later one can
        matter. Each answer is of one moment and of the same tree.
        """
        while True:
            matches = self._engine.nearest_vectors(self._ref, self._root, query)
            if matches is None:
                return None
            passed, done = _passing(matches, test, limit, min_score - margin, 2 * margin)
            if done or len(matches) < query.limit:
                return passed
            query = replace(query, limit=query.limit * _MORE)

    def _changed(self, keys: Iterable[str]) -> list[tuple[str, Vector]]:
        """The vectors of the keys whose records the index does not have."""
        entries = [(key, record) for key in keys if (record := self._changes[key]) is not None]
        if not entries:
            return []
        stored = self._blocks.read([record for _, record in entries])
        linked = [
            (key, vector)
            for key, record in entries
            if (vector := decode_record(record, stored[record]).vectors.get(self._name))
        ]
        data = self._blocks.read([vector for _, vector in linked])
        return [(key, decode_vector(vector, data[vector])) for key, vector in linked]


def _passing(
    matches: list[VectorMatch], test: KeyFilter, limit: int, least: float, slack: float
) -> tuple[list[VectorMatch], bool]:
    """The passing matches that can still reach the top `limit`.

    Args:
        matches: greatest product first.
        test: which keys pass.
        limit: how many are wanted.
        least: products below this do not count;
        slack: neither do those that are more than this below the last one that is wanted.

    Returns:
        Those that pass, and whether no later one can count.
    """
    passed: list[VectorMatch] = []
    for start in range(0, len(matches), limit + _SPARE):
        some = matches[start : start + limit + _SPARE]
        keys = frozenset(test([match.key for match in some]))
        for match in some:
            if match.product < least:
                return passed, True
            if match.key in keys:
                passed.append(match)
                if len(passed) == limit:
                    least = max(least, match.product - slack)
    return passed, False


class _Test:
    """Tells which keys are chosen and pass; calls the test once for each."""

    def __init__(self, chosen: Collection[str] | None, keep: KeyFilter | None) -> None:
        self._chosen = chosen
        self._keep = keep
        self._known: dict[str, bool] = {}

    def __call__(self, keys: list[str]) -> list[str]:
        chosen = self._chosen
        wanted = keys if chosen is None else [key for key in keys if key in chosen]
        if self._keep is None:
            return wanted
        new = [key for key in wanted if key not in self._known]
        self._known |= dict.fromkeys(new, False)
        self._known |= dict.fromkeys(self._keep(new) if new else (), True)
        return [key for key in wanted if self._known[key]]


def _try_update_index(blocks: Blocks, engine: IndexesVectors, index: VectorIndex, root: Id) -> bool:
    """Whether an index was updated to a root; if that fails, the search does without it."""
    with suppress(ReadOnlyError, EngineError, NotFoundError):
        return update_index(blocks, engine, index.ref, index.root, root)
    return False


def _begins_keys(prefix: str) -> bool:
    """Whether a key can start with this; an engine need not support other prefixes."""
    with suppress(ValidationError):
        return not prefix or bool(check_key(prefix))
    return False


def _links(blocks: Blocks, root: Id) -> frozenset[Id]:
    return frozenset(() if root == tree.EMPTY_ROOT else blocks.node(root).links)


def _chosen(within: Selection) -> set[str]:
    return set(compress(within.keys, within.chosen.tolist()))

"""CrewAI's records in a snapshot, by id and by scope, and their dimensions."""

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any

from mnemosyne_vcs.adapters.crewai.keys import ROOT, mended, prefix_of, record_id_of
from mnemosyne_vcs.adapters.crewai.translate import facts_of, is_memory, metadata_test
from mnemosyne_vcs.model import Record, SearchHit
from mnemosyne_vcs.repository import Repository
from mnemosyne_vcs.snapshot import Snapshot
from mnemosyne_vcs.views.identity import IdentityView, IdentityViewBuilder
from mnemosyne_vcs.views.keys import span
from mnemosyne_vcs.views.scopes import ScopesView, ScopesViewBuilder

__all__ = ["Contents"]


class Contents:
    """The memory records of a snapshot, without records of other code.

    Args:
        repository: the repository.
        snapshot: the snapshot.
    """

    def __init__(self, repository: Repository, snapshot: Snapshot) -> None:
        self.repository = repository
        self.snapshot = snapshot

    @cached_property
    def scopes(self) -> ScopesView:
        """Their scopes, categories and times."""
        return self.snapshot.view(ScopesViewBuilder, facts_of)

    @cached_property
    def _ids(self) -> IdentityView:
        return self.snapshot.view(IdentityViewBuilder, record_id_of)

    def any_keys(self, record_id: str) -> list[str]:
        """The keys of a record id, with CrewAI's records or others."""
        return [key for key in self._ids.keys_of(record_id) if key.startswith(ROOT)]

    def records(self, record_id: str) -> list[Record]:
        """The records with an id, the one that was written last first.

        There is more than one only if other code than a backend has put a second one there.
        """
        found = [self.snapshot[key] for key in self.any_keys(record_id)]
        found = [record for record in found if is_memory(record)]
        return found if len(found) < 2 else sorted(found, key=self._written, reverse=True)

    def under(self, scope: str | None) -> list[str]:
        """The keys of all records at or below a scope."""
        start, stop = span(self.scopes.keys, prefix_of(scope))
        return self.scopes.keys[start:stop]

    def with_ids(self, record_ids: Iterable[str], scope: str | None) -> list[str]:
        """The keys at or below a scope that have one of some ids."""
        prefix = prefix_of(scope)
        found = [key for each in dict.fromkeys(record_ids) for key in self.any_keys(each)]
        records = self.snapshot.read_many(key for key in found if key.startswith(prefix))
        return [record.key for record in records if is_memory(record)]

    def search(
        self,
        query: list[float],
        scope: str | None,
        categories: list[str] | None,
        metadata: dict[str, Any] | None,
        limit: int,
        min_score: float,
    ) -> list[SearchHit]:
        """The records most similar to a query; raises as `Snapshot.search` does."""
        within = self.scopes.with_any([*map(mended, categories)]) if categories else None
        where = metadata_test(metadata) if metadata else None

        def found(keep: Any) -> list[SearchHit]:
            return self.snapshot.search(
                query,
                prefix=prefix_of(scope),
                within=within,
                where=keep,
                limit=limit,
                min_score=min_score,
                with_vectors=True,
            )

        hits = found(where)
        if where is None and not all(is_memory(hit.record) for hit in hits):
            return found(is_memory)
        return hits

    def other_dimension(self, dimension: int, replaced: Collection[str]) -> int | None:
        """The dimension of the branch, if it differs from the wanted one; else None.

        Also None if some records have the wanted dimension, or if all others are about to be
        replaced.

        Args:
            dimension: the wanted dimension.
            replaced: the ids of the records that are to be replaced.
        """
        other: int | None = None
        for size, part in self.snapshot.vectors().by_dimension.items():
            start, stop = span(part.keys, ROOT)
            keys = part.keys[start:stop]
            if size != dimension:
                keys = [key for key in keys if record_id_of(key) not in replaced]
            if any(is_memory(self.snapshot[key]) for key in keys):
                if size == dimension:
                    return None
                other = other or size
        return other

    def _written(self, record: Record) -> tuple[int, int, str]:
        commit = self.repository.blame(record.key, self.snapshot.commit.id).commit
        return commit.timestamp_ms, commit.generation, record.key

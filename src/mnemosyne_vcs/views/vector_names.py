"""The names of the vectors that the records of a root have."""

from mnemosyne_vcs.model import Record
from mnemosyne_vcs.views.scopes import ScopeRow

__all__ = ["vector_names_of"]


def vector_names_of(record: Record) -> ScopeRow | None:
    """The names of a record's vectors, as the categories of a row for a view of scopes."""
    names = tuple(record.vectors)
    return ScopeRow("", names, None) if names else None

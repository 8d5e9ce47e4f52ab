"""CrewAI's memory records as record content, and back."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from mnemosyne_vcs.adapters.crewai.keys import ROOT, mended, record_id_of, scope_of, scope_path
from mnemosyne_vcs.model import JSON, Record
from mnemosyne_vcs.reembed import text_of
from mnemosyne_vcs.views.scopes import ScopeRow

if TYPE_CHECKING:
    from crewai.memory.types import MemoryRecord


__all__ = [
    "common_dimension",
    "content_of",
    "dimension_mismatch",
    "embedding_of",
    "facts_of",
    "is_memory",
    "metadata_test",
    "microseconds",
    "moment_of",
    "naive_utc",
    "record_of",
    "text_to_embed",
]

_EPOCH = datetime(1970, 1, 1)
_SHAPE: dict[str, type | tuple[type, ...]] = {
    "content": str,
    "scope": str,
    "categories": list,
    "metadata": dict,
    "importance": (float, int),
    "created_at": str,
    "last_accessed": str,
    "source": (str, type(None)),
    "private": bool,
}


def content_of(record: "MemoryRecord") -> JSON:
    """The fields of a memory record except id and embedding, as JSON; not yet checked.

    Lone surrogates, which models sometimes write and which cannot be stored, become U+FFFD.
    """
    content = {
        "content": record.content,
        "scope": record.scope,
        "categories": record.categories,
        "metadata": record.metadata,
        "importance": record.importance,
        "created_at": naive_utc(record.created_at).isoformat(),
        "last_accessed": naive_utc(record.last_accessed).isoformat(),
        "source": record.source,
        "private": record.private,
    }
    return cast("JSON", _as_json(content))


def embedding_of(record: "MemoryRecord") -> "list[float] | None":
    """The embedding of a memory record, None if it has none or an empty one."""
    values = record.embedding
    return values if values is not None and len(values) else None


def common_dimension(records: "Iterable[MemoryRecord]") -> int | None:
    """The dimension of the embeddings of all records that have one, None if none has.

    Raises:
        EmbeddingDimensionMismatchError: they differ.
    """
    lengths = [len(values) for values in map(embedding_of, records) if values is not None]
    other = next((length for length in lengths if length != lengths[0]), None)
    if other is not None:
        raise dimension_mismatch(lengths[0], other)
    return lengths[0] if lengths else None


def record_of(record: Record) -> "MemoryRecord":
    """The memory record that a record holds, its embedding included; `is_memory` must hold."""
    from crewai.memory.types import MemoryRecord

    fields = _fields(record)
    assert fields is not None
    vector = record.embedding
    embedding = None if vector is None else cast("list[float]", vector.tolist())
    return MemoryRecord.model_construct(id=record_id_of(record.key), embedding=embedding, **fields)


def is_memory(record: Record) -> bool:
    """Whether this adapter could have written a record, by its key and form.

    Other code, such as `mnem put`, can put anything under a key that begins with `/`. CrewAI does
    not see such records.
    """
    return _fields(record) is not None


def text_to_embed(record: Record) -> str:
    """The text to embed: as CrewAI does for a memory record, as a repository does for others."""
    fields = _fields(record)
    return text_of(record) if fields is None else fields["content"]


def facts_of(record: Record) -> ScopeRow | None:
    """The row of a record for scope listings and statistics; None if it is not CrewAI's."""
    fields = _fields(record)
    if fields is None:
        return None
    created = microseconds(fields["created_at"])
    return ScopeRow(scope_path(fields["scope"]), tuple(fields["categories"]), created)


def _fields(record: Record) -> dict[str, Any] | None:
    """The fields of a memory record; None if the record is something else."""
    if not record.key.startswith(ROOT) or not isinstance(record.content, dict):
        return None
    stored = cast("dict[str, Any]", record.content)
    fields: dict[str, Any] = {name: stored.get(name) for name in _SHAPE}
    if not all(isinstance(fields[name], types) for name, types in _SHAPE.items()):
        return None
    if not all(isinstance(each, str) for each in fields["categories"]):
        return None
    try:
        for name in ("created_at", "last_accessed"):
            fields[name] = naive_utc(datetime.fromisoformat(fields[name]))
    except (ValueError, OverflowError):
        return None
    fields["scope"] = scope_of(record.key, fields["scope"])
    return None if fields["scope"] is None else fields


def metadata_test(wanted: Mapping[str, Any]) -> Callable[[Record], bool]:
    """Whether the metadata of a record has all the given values; a missing one equals None."""
    sought = cast("dict[str, Any]", _as_json(dict(wanted)))

    def matches(record: Record) -> bool:
        fields = _fields(record)
        return fields is not None and all(
            fields["metadata"].get(name) == value for name, value in sought.items()
        )

    return matches


def naive_utc(moment: datetime) -> datetime:
    """A time as CrewAI keeps it: naive, in UTC."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def microseconds(moment: datetime) -> int:
    """Microseconds from 1970 to a naive UTC moment."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def moment_of(since_1970: int) -> datetime:
    """The naive UTC moment that many microseconds after 1970."""
    return _EPOCH + timedelta(microseconds=since_1970)


def dimension_mismatch(stored: int, new: int) -> ValueError:
    """CrewAI's own error for an embedding of the wrong dimension."""
    from crewai.memory.storage.backend import EmbeddingDimensionMismatchError

    return EmbeddingDimensionMismatchError(stored, new)


def _as_json(value: object) -> object:
    """A value as JSON: tuples become lists, and texts are made storable."""
    match value:
        case str():
            return mended(value)
        case dict():
            items = cast("dict[object, object]", value).items()
            return {_as_json(name): _as_json(item) for name, item in items}
        case list() | tuple():
            return [_as_json(item) for item in cast("list[object]", value)]
        case _:
            return value

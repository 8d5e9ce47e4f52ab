"""CrewAI's memory records as record content, and back."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from mnemosyne.adapters.crewai.keys import record_id_of, scope_path
from mnemosyne.model import JSON, Record
from mnemosyne.views.scopes import Facts

if TYPE_CHECKING:
    from crewai.memory.types import MemoryRecord


__all__ = [
    "common_dimension",
    "content_of",
    "dimension_mismatch",
    "embedding_of",
    "facts_of",
    "metadata_test",
    "microseconds",
    "moment_of",
    "naive_utc",
    "record_of",
]

_EPOCH = datetime(1970, 1, 1)


def content_of(record: "MemoryRecord") -> JSON:
    """The fields of a memory record but its id and embedding, as JSON; not yet checked."""
    content = {
        "content": record.content,
        "scope": record.scope,
        "categories": record.categories,
        "metadata": _listed(record.metadata),
        "importance": record.importance,
        "created_at": naive_utc(record.created_at).isoformat(),
        "last_accessed": naive_utc(record.last_accessed).isoformat(),
        "source": record.source,
        "private": record.private,
    }
    return cast("JSON", content)


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
    """The memory record that a record holds, its embedding included."""
    from crewai.memory.types import MemoryRecord

    fields = dict(cast("dict[str, Any]", record.content))
    for name in ("created_at", "last_accessed"):
        fields[name] = datetime.fromisoformat(fields[name])
    vector = record.embedding
    embedding = None if vector is None else cast("list[float]", vector.tolist())
    return MemoryRecord.model_construct(id=record_id_of(record.key), embedding=embedding, **fields)


def facts_of(record: Record) -> Facts:
    """What scope listings and statistics need of a record."""
    fields = cast("dict[str, Any]", record.content)
    if not isinstance(record.content, dict) or "created_at" not in fields:
        return Facts("", (), None)  # not one of CrewAI's, but on the same branch
    return Facts(
        scope_path(fields["scope"]),
        tuple(fields["categories"]),
        microseconds(datetime.fromisoformat(fields["created_at"])),
    )


def metadata_test(wanted: Mapping[str, Any]) -> Callable[[Record], bool]:
    """Whether the metadata of a record has all the given values; a missing one equals None."""

    def matches(record: Record) -> bool:
        metadata = cast("dict[str, Any]", record.content)["metadata"]
        return all(metadata.get(name) == value for name, value in wanted.items())

    return matches


def naive_utc(moment: datetime) -> datetime:
    """A moment as CrewAI keeps it: naive, in UTC."""
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


def _listed(value: object) -> object:
    """JSON's view of a value: tuples are lists."""
    match value:
        case dict():
            return {k: _listed(item) for k, item in cast("dict[object, object]", value).items()}
        case list() | tuple():
            return [_listed(item) for item in cast("list[object]", value)]
        case _:
            return value

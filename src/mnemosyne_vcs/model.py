"""The frozen values that the public methods take and return."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from functools import cached_property
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, Union, cast

from mnemosyne_vcs.frozen import freeze
from mnemosyne_vcs.ids import Id, parse_id, short_id
from mnemosyne_vcs.notebook import html_table
from mnemosyne_vcs.visible import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]

__all__ = [
    "EPOCH",
    "JSON",
    "UNKNOWN",
    "Blame",
    "Change",
    "Commit",
    "Conflict",
    "Provenance",
    "Record",
    "ReflogEntry",
    "Revision",
    "SearchHit",
    "SearchMode",
    "TextMatch",
    "Vectors",
    "moment_of",
    "moment_text",
    "named",
]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The moment that times are counted from."""

JSON: TypeAlias = Union[bool, int, float, str, list["JSON"], dict[str, "JSON"], None]  # noqa: UP007
"""Any JSON value."""

_REPR = Repr()
_REPR.maxlevel, _REPR.maxdict, _REPR.maxlist, _REPR.maxtuple = 4, 12, 12, 12
_REPR.maxstring = _REPR.maxother = 120

SearchMode: TypeAlias = Literal["vectors", "words", "both"]
"""How a search ranks: by cosine similarity, by BM25, or by the ranks in both."""

ChangeKind = Literal["added", "changed", "removed", "moved"]
ConflictKind = Literal["edit/edit", "edit/delete", "delete/edit", "add/add", "move/move", "same-id"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a record. Every field is optional; an empty one is unknown.

    Attributes:
        source: the document, message, person or system that was observed.
        agent: the agent (role or name) that wrote the record.
        task: the task that the agent worked on.
        step: the step of the run, as a number or a name.
        tool_call: id of the tool call that produced the observation.
        observation: the observation itself, or an id of it.
        run: id of the run (a kickoff, a thread, a session).
        derived_from: `(key, commit id)` of the records that this one was derived from.
        trace_id: trace id of the tracing system in use, such as OpenTelemetry's.
        span_id: span id of the tracing system in use.
        note: free text.
    """

    source: str | None = None
    agent: str | None = None
    task: str | None = None
    step: int | str | None = None
    tool_call: str | None = None
    observation: str | None = None
    run: str | None = None
    derived_from: tuple[tuple[str, str], ...] = ()
    trace_id: str | None = None
    span_id: str | None = None
    note: str | None = None

    def __repr__(self) -> str:
        return f"Provenance({', '.join(f'{k}={v!r}' for k, v in self.known().items())})"

    def known(self) -> dict[str, Any]:
        """The fields that are known, by name."""
        known: dict[str, Any] = {}
        if self is UNKNOWN:
            return known
        for name in _PROVENANCE_FIELDS:
            value = getattr(self, name)
            if value is not None and value != ():
                known[name] = value
        return known

    def as_json(self) -> dict[str, Any]:
        """The fields that are known, by name, as records and exports spell them in JSON."""
        known = self.known()
        if self.derived_from:
            known["derived_from"] = [{"key": k, "commit": c} for k, c in self.derived_from]
        return known


UNKNOWN = Provenance()
"""The provenance of a record with no known field."""

_PROVENANCE_FIELDS = tuple(each.name for each in fields(Provenance))


class Vectors(Mapping[str, "Vector"]):
    """The vectors of one record by name, each loaded when it is asked for.

    Args:
        ids: the id of the block that holds each vector.
        load: reads one block into a float32 array of shape `(dimension,)`.
    """

    __slots__ = ("_load", "ids")

    def __init__(self, ids: Mapping[str, bytes], load: "Callable[[bytes], Vector]") -> None:
        self.ids = ids
        self._load = load

    def __getitem__(self, name: str) -> "Vector":
        return self._load(self.ids[name])

    def __contains__(self, name: object) -> bool:
        return name in self.ids

    def get(self, name: str, default: Any = None) -> Any:
        """The vector of a name, else the default; raises if there is one that cannot be read."""
        return self[name] if name in self.ids else default

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        if isinstance(other, Vectors) and self.ids == other.ids:
            return True
        theirs = cast("Mapping[str, Vector]", other)
        return self.keys() == theirs.keys() and all(
            self[name].tobytes() == theirs[name].tobytes() for name in self
        )

    def __hash__(self) -> int:
        return hash(frozenset(self.ids))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> "tuple[Callable[..., Vectors], tuple[Any, ...]]":
        floats = {self.ids[name]: vector.tobytes() for name, vector in self.items()}
        return _vectors_by_value, (dict(self.ids), floats)

    def __repr__(self) -> str:
        return f"Vectors({', '.join(map(repr, self.ids))})"


def _vectors_by_value(ids: Mapping[str, bytes], floats: Mapping[bytes, bytes]) -> Vectors:
    """Vectors that hold their numbers, as unpickled."""

    def load(block: bytes) -> "Vector":
        import numpy as np

        return np.frombuffer(floats[block], dtype="<f4")

    return Vectors(ids, load)


@dataclass(frozen=True)
class Record:
    """One version of the value under one key.

    Records are equal if all their attributes are, `content` as Python compares it; the hash is
    that of key and transaction id. A pickled record holds its vectors and needs no repository.

    Attributes:
        key: its `/`-separated path.
        content: any JSON value.
        vectors: float32 vectors by name; `embedding` is the one named `""`.
        embedder: id of the model that made the vectors, if known.
        provenance: where the record came from.
        event_time: the time of the event that it describes, in UTC milliseconds, if known.
        transaction_id: id of the transaction that wrote it (32 hex digits).
        moved_from: the key that it was moved from by that transaction, if it was.
    """

    key: str
    content: JSON
    vectors: Vectors
    embedder: str | None
    provenance: Provenance
    event_time: int | None
    transaction_id: str
    moved_from: str | None = None

    def __hash__(self) -> int:
        return hash((self.key, self.transaction_id))

    def __repr__(self) -> str:
        shown = [
            f"{name}={_REPR.repr(value)}"
            for name, value in self._attributes()
            if name == "content" or value not in (None, UNKNOWN, {})
        ]
        return f"Record({', '.join(shown)})"

    def _repr_html_(self) -> str:
        return html_table(
            [
                (name, ", ".join(map(repr, value)) if name == "vectors" else value)
                for name, value in (*self._attributes(), *self.provenance.known().items())
                if value is not None and name != "provenance"
            ]
        )

    def _attributes(self) -> list[tuple[str, Any]]:
        return [(each.name, getattr(self, each.name)) for each in fields(self)]

    @property
    def embedding(self) -> "Vector | None":
        """The vector named `""`: float32, shape `(dimension,)`, or None."""
        return self.vectors.get("")

    def same_value(self, other: "Record") -> bool:
        """Whether the other has the same value, apart from key and transaction."""
        return (
            self.content == other.content  # quick, and enough for most
            and self.comparable == other.comparable
            and self.vectors == other.vectors
        )

    @cached_property
    def comparable(self) -> tuple[object, ...]:
        """Content and attributes in a form in which 1, 1.0 and true differ."""
        return (_typed(self.content), self.embedder, self.provenance, self.event_time)


def _typed(value: object) -> object:
    match value:
        case dict():
            return {k: _typed(item) for k, item in cast("dict[str, object]", value).items()}
        case list():
            return [_typed(item) for item in cast("list[object]", value)]
        case _:
            return (type(value), value)


@dataclass(frozen=True)
class Commit:
    """One state of the memory, with its origin.

    Attributes:
        id: the commit's id (a CIDv1 in base32).
        parents: ids of the commits that it follows; a merge has two, the root commit none.
        tree: id of the tree that holds the records.
        transaction_id: id of the transaction that made it (32 hex digits).
        author: its author.
        message: why, in the author's words.
        timestamp_ms: UTC milliseconds since 1970, never before its parents'.
        generation: the length of the longest path back to the first commit.
        trailers: further facts by name, such as `Run-Id`.
    """

    id: str
    parents: tuple[str, ...]
    tree: str
    transaction_id: str
    author: str
    message: str
    timestamp_ms: int
    generation: int
    trailers: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        freeze(self, "trailers")

    def __str__(self) -> str:
        """The commit's id, which can be used as a revision."""
        return self.id

    def __repr__(self) -> str:
        time, title = moment_text(self.timestamp_ms), self.message.partition("\n")[0]
        return f"<Commit {self.short_id} {time} by {printable(f'{self.author}: {title}')}>"

    def _repr_html_(self) -> str:
        return html_table(
            [
                ("id", self.id),
                ("parents", ", ".join(map(short_id, self.parents))),
                ("author", self.author),
                ("time", moment_text(self.timestamp_ms)),
                ("message", self.message),
                *self.trailers.items(),
            ]
        )

    @property
    def short_id(self) -> str:
        """The ten characters of `id` that `mnem` shows; also a revision."""
        return short_id(self.id)

    @cached_property
    def cid(self) -> Id:
        """`id` as bytes."""
        return parse_id(self.id)

    @cached_property
    def parent_cids(self) -> tuple[Id, ...]:
        """`parents` as bytes."""
        return tuple(map(parse_id, self.parents))

    @cached_property
    def tree_cid(self) -> Id:
        """`tree` as bytes."""
        return parse_id(self.tree)

    @property
    def time(self) -> datetime | int:
        """`timestamp_ms` as an aware UTC datetime; the number, if that is after the year 9999."""
        return moment_of(self.timestamp_ms)


Revision: TypeAlias = str | Commit
"""A name of a commit: text such as `main~3` (see `mnemosyne_vcs.revision`), or the commit."""


def named(revision: Revision) -> str:
    """A revision as a text."""
    return revision.id if isinstance(revision, Commit) else revision


def moment_of(milliseconds: int) -> datetime | int:
    """UTC milliseconds as an aware datetime; the number, if no datetime can be that moment."""
    try:
        return EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return milliseconds


def moment_text(milliseconds: int) -> str:
    """A time as a revision takes it, such as `2026-11-30 09:44:12Z`.

    A time outside the years 1 to 9999 is the number of milliseconds, such as `1790000000 ms`.
    """
    found = moment_of(milliseconds)
    if isinstance(found, int):
        return f"{found} ms"
    return f"{found.replace(tzinfo=None).isoformat(' ', 'seconds')}Z"


@dataclass(frozen=True, slots=True)
class Change:
    """How one key differs between two states.

    Attributes:
        key: the key; for a move, the new one.
        kind: `added`, `changed`, `removed` or `moved`.
        before: the record in the first state, None if it was not there.
        after: the record in the second state, None if it is not there.
    """

    key: str
    kind: ChangeKind
    before: Record | None
    after: Record | None

    def _repr_html_(self) -> str:
        sides = [None if each is None else each.content for each in (self.before, self.after)]
        return html_table([(self.key, self.kind, *sides)], ["key", "kind", "before", "after"])


@dataclass(frozen=True, slots=True)
class Conflict:
    """One key that two sides changed in ways that do not fit together.

    Attributes:
        key: the key; for `same-id`, the first of the two keys in order.
        kind: what each side did to it: ours first, theirs second.
        base: the record that both sides started from, if there was one.
        ours: the record on our side, None if it is not there.
        theirs: the record on their side, None if it is not there.
        fields: the fields of the content that clash; empty if the whole record does.
    """

    key: str
    kind: ConflictKind
    base: Record | None
    ours: Record | None
    theirs: Record | None
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blame:
    """The commit that set the value of a key.

    Attributes:
        key: the key.
        record: the record that was written; None where it was deleted.
        commit: the commit that wrote it.
    """

    key: str
    record: Record | None
    commit: Commit


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One search result.

    Attributes:
        record: the record found.
        score: by vectors, the cosine similarity with the query, from -1 to 1; by words, BM25,
            more than 0; by both, the sum of `1 / (60 + rank)`.
    """

    record: Record
    score: float


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A line of a record that has a text in it.

    Attributes:
        record: the record.
        path: where in its content, as in `where`: `plan.tier`, list items by number, empty for
            the content itself; None if it is in the key.
        line_number: the line of the text there, from 1.
        line: that line, or more if the text goes over several.
        spans: where the text is in the line: `(start, stop)` of each.
    """

    record: Record
    path: str | None
    line_number: int
    line: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ReflogEntry:
    """One move of a branch or tag.

    Attributes:
        name: the ref that moved.
        old: id of the commit that it pointed at, None if it was new.
        new: id of the commit that it points at now, None if it was deleted.
        author: who moved it.
        timestamp_ms: UTC milliseconds since 1970.
        message: what moved it, such as the commit's message.
    """

    name: str
    old: str | None
    new: str | None
    author: str
    timestamp_ms: int
    message: str

    @property
    def time(self) -> datetime | int:
        """`timestamp_ms` as an aware UTC datetime; the number, if that is after the year 9999."""
        return moment_of(self.timestamp_ms)

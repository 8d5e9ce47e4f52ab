"""Resolving the conflicts of a merge: per key, and by `on_conflict` for the rest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import Literal, TypeAlias, cast, get_args

from mnemosyne_vcs.embedding import VectorLike
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.merge.trees import Clash, Merged
from mnemosyne_vcs.model import JSON, Conflict, Provenance
from mnemosyne_vcs.transaction.changes import Held

__all__ = [
    "OnConflict",
    "Replacement",
    "Resolution",
    "Settled",
    "Side",
    "check",
    "listed",
    "settle",
]

Side: TypeAlias = Literal["ours", "theirs", "base", "delete"]
"""Our version, theirs, the one that both started from, or no record."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A record that resolves a conflict in place of both sides'; as `Transaction.put` takes it.

    Attributes:
        content: any JSON value.
        embedding: the vector named `""`.
        vectors: further vectors by name.
        embedder: id of the model that made the vectors.
        provenance: the origin of the record.
        event_time: the time of the event that it describes.
    """

    content: JSON
    _: KW_ONLY
    embedding: "VectorLike | None" = None
    vectors: "Mapping[str, VectorLike] | None" = None
    embedder: str | None = None
    provenance: Provenance | None = None
    event_time: datetime | int | None = None


Resolution: TypeAlias = Side | Replacement
"""One way to resolve one conflict."""

OnConflict: TypeAlias = Side | Callable[[Conflict], Resolution | None]
"""How to resolve every conflict: one side, or a function of each that returns None to leave it."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A merge with its resolutions applied.

    Attributes:
        changes: the changes on our side, by key.
        values: the replacement records to write, by key.
        conflicts: the unresolved conflicts, in order of key.
        resolved: how the others were resolved, by key.
    """

    changes: dict[str, Held]
    values: dict[str, Replacement]
    conflicts: list[Conflict]
    resolved: dict[str, str]


def check(resolutions: Mapping[str, Resolution], on_conflict: OnConflict | None) -> None:
    """Check the form of resolutions, without the conflicts.

    Raises:
        ValidationError: one is malformed; the message shows it.
    """
    for key, resolution in resolutions.items():
        _check(resolution, f"the resolution of {key!r}")
    if on_conflict is not None and not callable(on_conflict):
        _check(on_conflict, "on_conflict")


def settle(
    merged: Merged, resolutions: Mapping[str, Resolution], on_conflict: OnConflict | None
) -> Settled:
    """Resolve the conflicts of a merge.

    Args:
        merged: the merge.
        resolutions: how to resolve the conflict of each key.
        on_conflict: how to resolve the others; None to leave them.

    Raises:
        ValidationError: a resolution names a key without a conflict, takes a base that does not
            exist, or is malformed.
    """
    unknown_keys = resolutions.keys() - {conflict.key for conflict in merged.conflicts}
    if unknown_keys:
        keys = ", ".join(map(repr, sorted(unknown_keys)[:5]))
        raise ValidationError(f"there is a resolution for {keys}, where there is no conflict")
    settled = Settled(dict(merged.changes), {}, [], {})
    for clash in sorted(merged.clashes, key=lambda clash: clash.conflict.kind == "same-id"):
        key = clash.conflict.key
        resolution = resolutions.get(key) or _by(on_conflict, clash.conflict)
        if resolution is None:
            settled.conflicts.append(clash.conflict)
        elif isinstance(resolution, Replacement):
            settled.changes.update(_changes(clash, "delete"))
            settled.values[key] = resolution
            settled.resolved[key] = "value"
        else:
            settled.changes.update(_changes(clash, resolution))
            settled.resolved[key] = resolution
    settled.conflicts.sort(key=lambda conflict: conflict.key)
    return settled


def listed(conflicts: Sequence[Conflict]) -> str:
    """Conflicts for a message: the first few, with their kinds."""
    shown = [f"{_where(conflict)} ({conflict.kind})" for conflict in conflicts[:5]]
    more = f" and {len(conflicts) - 5} more" if len(conflicts) > 5 else ""
    return ", ".join(shown) + more


def _where(conflict: Conflict) -> str:
    if conflict.kind == "same-id" and conflict.ours and conflict.theirs:
        return f"{conflict.ours.key!r} and {conflict.theirs.key!r}"
    return repr(conflict.key)


def _by(on_conflict: OnConflict | None, conflict: Conflict) -> Resolution | None:
    if not callable(on_conflict):
        return on_conflict
    resolution = on_conflict(conflict)
    if resolution is not None:
        _check(resolution, f"the resolution of {conflict.key!r}")
    return resolution


def _changes(clash: Clash, side: Side) -> Mapping[str, Held]:
    ways: dict[str, Mapping[str, Held] | None] = {
        "ours": clash.ours,
        "theirs": clash.theirs,
        "base": clash.base,
        "delete": clash.delete,
    }
    changes = ways[side]
    if changes is None:
        raise ValidationError(
            f"{clash.conflict.key!r} cannot go back to the base: there is more than one, "
            "and they differ; take ours, theirs, delete or a value"
        )
    return changes


def _check(resolution: object, what: str) -> None:
    if not isinstance(resolution, Replacement) and resolution not in get_args(Side):
        known = ", ".join(cast("tuple[str, ...]", get_args(Side)))
        raise ValidationError(f"{what} is {resolution!r}; known are {known} and a Replacement")

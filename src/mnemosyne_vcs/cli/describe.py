"""Values as text for people."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from mnemosyne_vcs.cli.output import Output, Part, Styled
from mnemosyne_vcs.history.fields import FieldChange, field_changes
from mnemosyne_vcs.ids import short_id
from mnemosyne_vcs.merge.operation import RESOLVED, Plan
from mnemosyne_vcs.model import JSON, Change, Commit, Record, moment_text
from mnemosyne_vcs.present.lookup import RUN_TRAILER, SAVE_TRAILER

__all__ = [
    "CHANGE_KINDS",
    "age",
    "byline",
    "byte_size",
    "change_counts",
    "changes",
    "counted",
    "origin",
    "plain",
    "preview",
    "resolutions",
    "settled",
    "shortened_preview",
    "title",
    "trailers",
]

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I)
_COMMIT_ID = re.compile(r"\bbafyrei[a-z2-7]{52}\b")
_KIND_STYLES = {"added": "good", "removed": "bad", "changed": "id", "moved": "id"}
CHANGE_KINDS = ("added", "changed", "moved", "removed")
"""The kinds of a change, in the order in which they are counted."""
_TRAILER_NAMES = {RUN_TRAILER: "run", SAVE_TRAILER: "save", "Crew": "crew"}
_FIELD_LENGTH = 200


def age(milliseconds: int, now: int) -> str:
    """How long ago a time was, in its largest unit."""
    seconds = (now - milliseconds) // 1000
    if seconds < -_UNITS[-2][1]:
        return "in the future"
    for unit, length in _UNITS:
        if seconds >= length:
            return f"{counted(seconds // length, unit)} ago"
    return "just now"


def counted(number: int, thing: str) -> str:
    """A number of things: `1 commit`, `2,000 commits`, `2 branches`."""
    if number == 1:
        return f"1 {thing}"
    return f"{number:,} {thing}{'es' if thing.endswith('h') else 's'}"


def byte_size(number: int) -> str:
    """A number of bytes in its largest unit."""
    size = float(number)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def preview(record: Record | None) -> str:
    """A record's content on one line: its text if it has one, else its JSON."""
    if record is None:
        return "(no record)"
    content = record.content
    text = content.get("content") if isinstance(content, dict) else content
    return " ".join(text.split()) if isinstance(text, str) else _compact(content)


def shortened_preview(record: Record) -> str:
    """A record's content on one line of bounded length."""
    return _shortened(preview(record), _FIELD_LENGTH)


def byline(commit: Commit) -> list[Part]:
    """Id, time and author of a commit."""
    return [
        Styled(commit.short_id, "id"),
        "  ",
        moment_text(commit.timestamp_ms),
        "  ",
        commit.author,
    ]


def plain(parts: Iterable[Part]) -> str:
    """Parts of a line as text."""
    return "".join(part.text if isinstance(part, Styled) else part for part in parts)


def title(commit: Commit) -> str:
    """The first line of a commit's message."""
    return commit.message.partition("\n")[0]


def resolutions(commit: Commit) -> dict[str, str]:
    """How a merge resolved its conflicts, by key; empty if it does not say."""
    try:
        resolved: object = json.loads(commit.trailers.get(RESOLVED, "{}"))
    except ValueError:  # a trailer of that name that something else wrote
        return {}
    return cast("dict[str, str]", resolved) if isinstance(resolved, dict) else {}


def trailers(commit: Commit) -> str:
    """A commit's trailers on one line, with short ids."""
    values = dict(commit.trailers)
    if resolved := resolutions(commit):
        values[RESOLVED] = counted(len(resolved), "conflict")
    known = {name: commit.trailers[name] for name in _TRAILER_NAMES if name in commit.trailers}
    return "  ".join(
        f"{_TRAILER_NAMES.get(name, name.lower())} {_short_ids(value)}"
        for name, value in (known | values).items()
    )


def origin(record: Record) -> list[tuple[str, Part]]:
    """The known fields of a record's provenance, by name."""
    known = record.provenance.known()
    sources = known.pop("derived_from", ())
    names = {name: name.replace("_", " ") for name in known}
    pairs: list[tuple[str, Part]] = [(names[name], str(value)) for name, value in known.items()]
    return pairs + [("derived from", f"{key} at {short_id(commit)}") for key, commit in sources]


def change_counts(counts: Mapping[str, int]) -> str:
    """The number of records that changed in each way: `3 added, 1 removed`; empty if none did."""
    kinds = (kind for kind in CHANGE_KINDS if counts.get(kind))
    return ", ".join(f"{counts[kind]:,} {kind}" for kind in kinds)


def changes(output: Output, found: list[Change]) -> None:
    """Print changes: the key of each, and its fields before and after."""
    width = max((len(change.kind) for change in found), default=0)
    limit = _FIELD_LENGTH if output.terminal else sys.maxsize
    for change in found:
        kind = Styled(change.kind.ljust(width), _KIND_STYLES[change.kind])
        came_from = (
            f"  from {change.before.key}" if change.before and change.kind == "moved" else ""
        )
        output.line(kind, "  ", Styled(change.key, "key"), came_from)
        for parts in _details(change, limit):
            output.line(" " * (width + 4), *parts)


def planned(output: Output, plan: Plan, nothing: str) -> None:
    """Print what a plan would change on its branch.

    Args:
        output: where to.
        plan: the plan.
        nothing: what to say if there is nothing to do.
    """
    if plan.changes:
        output.line(Styled(f"What would change on {plan.branch}", "title"))
        changes(output, list(plan.changes))
    elif plan.kind == "up-to-date":
        output.line(nothing)
    else:
        output.line(f"No record on {plan.branch} would change.")


def settled(output: Output, resolved: Mapping[str, str]) -> None:
    """Print how the conflicts of a merge were resolved.

    Args:
        output: where to print.
        resolved: `ours`, `theirs`, `base`, `delete` or `value`, by key.
    """
    for key, how in resolved.items():
        took = "a new value" if how == "value" else how
        output.line("settled  ", Styled(key, "key"), ": ", took)


def _details(change: Change, limit: int) -> Iterator[list[Part]]:
    if change.before is None or change.after is None:
        style = _KIND_STYLES[change.kind]
        yield [Styled(_shortened(preview(change.after or change.before), limit), style)]
        return
    yield from (_field_line(field, limit) for field in field_changes(change))


def _field_line(change: FieldChange, limit: int) -> list[Part]:
    if change.field.startswith(("(embedding)", "(vector ")):
        return [f"{change.field} ", Styled(change.kind, _KIND_STYLES[change.kind])]
    before = Styled(_shortened(_compact(change.before), limit), "bad")
    after = Styled(_shortened(_compact(change.after), limit), "good")
    name = f"{change.field}: " if change.field else ""
    match change.kind:
        case "added":
            return [name, after, " (added)"]
        case "removed":
            return [name, before, " (removed)"]
        case _:
            return [name, before, " → ", after]


def _compact(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _short_ids(value: str) -> str:
    return _COMMIT_ID.sub(lambda found: short_id(found[0]), _UUID.sub(lambda u: u[0][:8], value))

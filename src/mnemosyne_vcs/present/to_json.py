"""Values as `--json` prints them. Fields are only ever added."""

from typing import Any

from mnemosyne_vcs.history.activity import Activity
from mnemosyne_vcs.history.fields import field_changes
from mnemosyne_vcs.model import Blame, Change, Commit, Conflict, Record, ReflogEntry

__all__ = [
    "activity_json",
    "blame_json",
    "change_json",
    "commit_json",
    "conflict_json",
    "record_json",
    "reflog_json",
]


def commit_json(commit: Commit) -> dict[str, Any]:
    """A commit; times are UTC milliseconds."""
    return {
        "id": commit.id,
        "parents": list(commit.parents),
        "root": commit.tree,
        "transaction": commit.transaction_id,
        "author": commit.author,
        "message": commit.message,
        "time": commit.timestamp_ms,
        "generation": commit.generation,
        "trailers": dict(commit.trailers),
    }


def activity_json(activity: Activity) -> dict[str, Any]:
    """An agent, a run or a source, with the number of its commits and the first and last."""
    return {
        "name": activity.name,
        "commits": activity.commits,
        "first": commit_json(activity.first),
        "last": commit_json(activity.last),
    }


def record_json(record: Record | None) -> dict[str, Any] | None:
    """A record, its vectors by name only; None for no record."""
    if record is None:
        return None
    return {
        "key": record.key,
        "content": record.content,
        "vectors": sorted(record.vectors),
        "embedder": record.embedder,
        "provenance": record.provenance.as_json(),
        "event_time": record.event_time,
        "transaction": record.transaction_id,
        "moved_from": record.moved_from,
    }


def blame_json(blame: Blame) -> dict[str, Any]:
    """A value of a key, with the commit that wrote it."""
    return {
        "key": blame.key,
        "record": record_json(blame.record),
        "commit": commit_json(blame.commit),
    }


def change_json(change: Change) -> dict[str, Any]:
    """How one key differs; `fields` lists the parts of the content that do."""
    return {
        "key": change.key,
        "kind": change.kind,
        "fields": [field._asdict() for field in field_changes(change)],
        "before": record_json(change.before),
        "after": record_json(change.after),
    }


def conflict_json(conflict: Conflict) -> dict[str, Any]:
    """One key that clashes."""
    return {
        "key": conflict.key,
        "kind": conflict.kind,
        "fields": list(conflict.fields),
        "base": record_json(conflict.base),
        "ours": record_json(conflict.ours),
        "theirs": record_json(conflict.theirs),
    }


def reflog_json(name: str, move: ReflogEntry) -> dict[str, Any]:
    """One move of a branch, under its name; the time is UTC milliseconds."""
    return {
        "name": name,
        "old": move.old,
        "new": move.new,
        "who": move.author,
        "when": move.timestamp_ms,
        "why": move.message,
    }

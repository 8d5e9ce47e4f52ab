"""Revisions: the names of commits.

```
main            a branch, else a tag
origin/main     a branch of a remote, as of the last fetch or push
bafyrei…        a commit id, or a unique prefix of one; the leading bafyrei may be left out
main~3          three commits back along first parents
main^2          the second parent
main@{2026-11-01T09:00Z}    what the branch pointed at then
main@{yesterday}            the same; also @{3 hours ago}, @{now}
main@{1}        what the branch pointed at before its last move
```

Suffixes can be combined: `main@{yesterday}~2`.
"""

import re
from base64 import b32decode
from datetime import datetime
from itertools import chain, islice
from sys import maxsize

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import InvalidRevisionError, NotFoundError
from mnemosyne_vcs.format.objects import is_commit_id, is_vector, object_kind
from mnemosyne_vcs.format.validation import milliseconds_of
from mnemosyne_vcs.graph import ancestors, first_parents
from mnemosyne_vcs.ids import ID_START, parse_id, text_id
from mnemosyne_vcs.model import Commit, ReflogEntry, Revision
from mnemosyne_vcs.refs import BRANCH, REMOTE, TAG, branch_ref

__all__ = ["find_commit", "parse_time", "resolve"]

_REVISION = re.compile(r"(?P<name>[^~^@{}]+)(?P<steps>(?:~\d*|\^\d*|@\{[^{}]*\})*)", re.ASCII)
_STEP = re.compile(r"~(?P<back>\d*)|\^(?P<parent>\d*)|@\{(?P<then>[^{}]*)\}", re.ASCII)
_AGO = re.compile(r"(\d+) (second|minute|hour|day|week)s? ago", re.ASCII)
_MILLISECONDS = {
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_MIN_PREFIX = 4
_ID_PART = re.compile(f"[a-zA-Z2-7]{{{_MIN_PREFIX},}}")


def resolve(blocks: Blocks, revision: Revision, now: int) -> Commit:
    """The commit that a revision names.

    Args:
        blocks: the repository's objects.
        revision: see the top of this module; or a commit, which must be in this repository.
        now: UTC milliseconds, for relative times.

    Raises:
        InvalidRevisionError: it is not a revision, or a prefix that several commits share.
        NotFoundError: it names nothing that exists.
    """
    if isinstance(revision, Commit):
        return _by_id(blocks, revision.id)
    _check_text(revision)
    parsed = _REVISION.fullmatch(revision)
    if parsed is None:
        raise InvalidRevisionError(
            f"{revision!r} is not a valid revision; write a branch, tag or id, then ~N, ^N or "
            "@{time}"
        )
    name, steps = parsed["name"], list(_STEP.finditer(parsed["steps"]))
    if any(step["then"] is not None for step in steps[1:]):
        raise InvalidRevisionError(f"{revision!r}: @{{…}} must follow the name of a branch")
    if steps and steps[0]["then"] is not None:
        commit = _in_reflog(blocks, name, steps.pop(0)["then"], now)
    else:
        commit = _named(blocks, name)
    for step in steps:
        commit = _stepped(blocks, commit, step, revision)
    return commit


def find_commit(blocks: Blocks, text: str) -> Commit:
    """The commit with an id, or with a prefix of an id that no other commit has.

    Raises:
        InvalidRevisionError: the text is not a prefix of an id, or several commits have it.
        NotFoundError: no commit id starts with it.
    """
    _check_text(text)
    if is_commit_id(text):
        return _by_id(blocks, text)
    if not _ID_PART.fullmatch(text):
        raise InvalidRevisionError(
            f"{text!r:.80} is not the start of a commit id; "
            f"write at least {_MIN_PREFIX} of its characters"
        )
    found = _the_one_that_starts(blocks, text)
    if found is None:
        raise NotFoundError(f"there is no commit {text!r} in {blocks.engine.url}")
    return found


def _check_text(revision: object) -> None:
    if not isinstance(revision, str):
        raise InvalidRevisionError(
            f"a revision is a string or a Commit, not {type(revision).__name__}: {revision!r:.80}"
        )
    try:
        revision.encode()
    except UnicodeEncodeError:
        raise InvalidRevisionError(f"revision {revision!r:.80} holds a lone surrogate") from None


def _stepped(blocks: Blocks, commit: Commit, step: re.Match[str], revision: str) -> Commit:
    if step["back"] is not None:
        return _back(blocks, commit, _number(step["back"] or "1"), revision)
    parent = _number(step["parent"] or "1")
    if parent > len(commit.parents):
        raise NotFoundError(
            f"{revision!r}: commit {commit.short_id} has {len(commit.parents)} parents"
        )
    return blocks.commit(commit.parent_cids[parent - 1]) if parent else commit


def _back(blocks: Blocks, commit: Commit, steps: int, revision: str) -> Commit:
    """The commit some steps back along first parents, at most as many as its generation."""
    line = first_parents(blocks.walk(), commit.cid)
    found = next(islice(line, steps, None), None) if steps <= commit.generation else None
    if found is None:
        raise NotFoundError(
            f"{revision!r}: commit {commit.short_id} has no first parent that many steps back"
        )
    return found


def _number(digits: str) -> int:
    """A number as written; one with too many digits counts as the largest."""
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) < len(str(maxsize)) else maxsize


def _named(blocks: Blocks, name: str) -> Commit:
    if is_commit_id(name):
        return _by_id(blocks, name)
    for kind in (BRANCH, TAG, REMOTE):
        if head := blocks.engine.ref(kind + name):
            return blocks.commit(head)
    found = _the_one_that_starts(blocks, name)
    if found is None and name == "HEAD":
        raise NotFoundError(
            "there is no HEAD, since no branch is checked out: name one, such as `main`"
        )
    if found is None:
        raise NotFoundError(
            f"there is no branch, tag or commit {name!r} in {blocks.engine.url}; "
            "`branches()`, `tags()` and `log()` list what there is"
        )
    return found


def _the_one_that_starts(blocks: Blocks, text: str) -> Commit | None:
    matches = _by_prefix(blocks, text.lower())
    if len(matches) > 1:
        shown = ", ".join(commit.short_id for commit in matches)
        raise InvalidRevisionError(f"{text!r} is the start of several commit ids: {shown}")
    return matches[0] if matches else None


def _by_id(blocks: Blocks, commit_id: str) -> Commit:
    found = blocks.find_commit(parse_id(commit_id))
    if found is None:
        raise NotFoundError(f"there is no commit {commit_id} in {blocks.engine.url}")
    return found


def _by_prefix(blocks: Blocks, text: str) -> list[Commit]:
    """At most two commits whose id, with or without the common prefix, starts with the text."""
    if not re.fullmatch("[a-z2-7]+", text):
        return []
    starts = [text] if text.startswith(ID_START) else []
    if len(text) >= _MIN_PREFIX:
        starts.append(ID_START + text)
    found = chain.from_iterable(_commits_from(blocks, start) for start in starts)
    return list(islice({commit.id: commit for commit in found}.values(), 2))


def _commits_from(blocks: Blocks, start: str) -> list[Commit]:
    engine = blocks.engine
    listing = blocks.can.enumerate
    if listing is None:
        found = ancestors(blocks.commit, engine.refs().values())
        return [each for each in found if each.id.startswith(start)]
    candidates = (block for block in listing.ids(_whole_bytes(start)) if not is_vector(block))
    return [
        blocks.commit(block)
        for block in candidates
        if text_id(block).startswith(start)
        and object_kind(block, blocks.read_one(block)) == "commit"
    ]


def _whole_bytes(start: str) -> bytes:
    """The bytes with which every id starts whose text starts with this."""
    digits = start[1:].upper()
    return b32decode(digits.ljust(-(-len(digits) // 8) * 8, "A"))[: len(digits) * 5 // 8]


def _in_reflog(blocks: Blocks, branch: str, then: str, now: int) -> Commit:
    engine, reflog = blocks.engine, blocks.can.reflog
    if reflog is None:
        raise InvalidRevisionError(f"{engine.url} keeps no reflog, which {branch}@{{{then}}} needs")
    moves = list(reflog.reflog(branch_ref(branch))) or list(reflog.reflog(REMOTE + branch))
    if not moves:
        raise NotFoundError(f"there is no branch {branch!r} in {engine.url}")
    if _is_number(then):
        named = _nth(moves, _number(then))
    else:
        named = _as_of(moves, parse_time(then, now), now)
    if named is None:
        raise NotFoundError(f"branch {branch!r} did not exist at {then!r}")
    found = blocks.find_commit(parse_id(named))
    if found is None:
        raise NotFoundError(f"{branch}@{{{then}}} was {named}, which has been collected as garbage")
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _nth(moves: list[ReflogEntry], back: int) -> str | None:
    return moves[back].new if back < len(moves) else None


def _as_of(moves: list[ReflogEntry], when: int, now: int) -> str | None:
    """The target of the last move up to a time; a move dated in the future counts as made now."""
    return next((move.new for move in moves if min(move.timestamp_ms, now) <= when), None)


def parse_time(text: str, now: int) -> int:
    """The UTC milliseconds that a text such as `yesterday` or `2026-11-01T09:00Z` means.

    Args:
        text: a time in ISO 8601 (UTC if it has no zone), `now`, `yesterday` or `3 hours ago`.
        now: the present time in UTC milliseconds.

    Raises:
        InvalidRevisionError: the text is not a valid time.
    """
    words = text.strip().lower()
    if words in ("now", "yesterday"):
        return now - (_MILLISECONDS["day"] if words == "yesterday" else 0)
    if ago := _AGO.fullmatch(words):
        return now - _number(ago[1]) * _MILLISECONDS[ago[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidRevisionError(
            f"{text!r} is not a valid time; write 2026-11-01T09:00Z, yesterday or '3 hours ago'"
        ) from None
    return milliseconds_of(moment)

"""Finding keys, revisions and ids of runs by the short forms that people type."""

from collections.abc import Iterable

from mnemosyne_vcs.errors import InvalidRevisionError, NotFoundError, ValidationError
from mnemosyne_vcs.history.facts import RUN_TRAILER
from mnemosyne_vcs.model import Blame, Commit
from mnemosyne_vcs.repository import Repository
from mnemosyne_vcs.snapshot import Snapshot

__all__ = [
    "RUN_TRAILER",
    "SAVE_TRAILER",
    "find_key",
    "find_run",
    "find_trailer",
    "history_of",
    "locate",
]

SHOWN = 10
SAVE_TRAILER = "Save-Id"
"""The trailer by which adapters name the memory operation of a commit."""


def find_key(snapshot: Snapshot, text: str) -> str:
    """The key that a text means: a whole key, else a last part, else the start of one.

    Args:
        snapshot: where the key must be.
        text: what was typed.

    Raises:
        NotFoundError: no key matches.
        ValidationError: several match; the message lists them.
    """
    if text in snapshot:
        return text
    starting = [key for key in snapshot.scan_keys() if text and _last(key).startswith(text)]
    fitting = [key for key in starting if _last(key) == text] or starting
    if not fitting:
        raise NotFoundError(f"there is no record {text!r} at commit {snapshot.commit.id}")
    return _the_only(text, fitting, "keys")


def history_of(repository: Repository, text: str, at: str) -> tuple[str, list[Blame]]:
    """The key that a text means, whether or not its record is still there, and its history.

    Args:
        repository: the store.
        text: a key, or its last part or the start of that if the record is there.
        at: the revision to look back from.

    Returns:
        The key, and its values, newest first.

    Raises:
        NotFoundError: no record is or was there.
        ValidationError: several keys match.
    """
    snapshot = repository.at(at)
    key = _key_of_history(repository, snapshot, text)
    return key, list(repository.history(key, snapshot.commit))


def _key_of_history(repository: Repository, snapshot: Snapshot, text: str) -> str:
    """The key that a text means: a whole key, even if its record is gone, before the start of one
    that is there."""
    keys = list(snapshot.scan_keys())
    starting = [key for key in keys if text and _last(key).startswith(text)]
    exact = [key for key in starting if _last(key) == text]
    if text in snapshot or _has_been(repository, text, snapshot):
        return text
    if exact:
        return _the_only(text, exact, "keys")
    siblings = dict.fromkeys(key.removesuffix(_last(key)) + text for key in keys if text)
    gone = [key for key in siblings if _has_been(repository, key, snapshot)]
    if not gone and len(starting) != 1:
        gone = _last_gone(repository, snapshot, text)
    fitting = gone or starting
    if not fitting:
        raise NotFoundError(f"no commit up to {snapshot.commit.id} had a record {text!r}")
    return _the_only(text, fitting, "keys")


def _has_been(repository: Repository, key: str, snapshot: Snapshot) -> bool:
    try:
        repository.history(key, snapshot.commit)
    except NotFoundError:
        return False
    return True


def _last_gone(repository: Repository, snapshot: Snapshot, text: str) -> list[str]:
    """The keys with this last part that were removed by the newest commit that removed any."""
    for commit in repository.log(snapshot.commit):
        changes = repository.diff(commit.parents[0], commit)
        found = [each.key for each in changes if each.after is None and _last(each.key) == text]
        if found:
            return found
    return []


def find_trailer(commits: Iterable[Commit], name: str, start: str) -> str:
    """The value of a trailer that starts with a text.

    Args:
        commits: where to look.
        name: the trailer.
        start: the whole value, or the start of only one.

    Raises:
        NotFoundError: no commit has such a trailer.
        ValidationError: several values start with it; the message lists them.
    """
    values = {commit.trailers.get(name, "") for commit in commits}
    fitting = sorted(value for value in values if value and value.startswith(start))
    if start in fitting:
        return start
    if not fitting:
        raise NotFoundError(f"no commit has a {name} that starts with {start!r}")
    return _the_only(start, fitting, f"values of {name}")


def find_run(commits: Iterable[Commit], start: str) -> str:
    """The id of a run that starts with a text; the text itself if no commit has the trailer.

    Args:
        commits: where to look.
        start: the whole id, or the start of only one.

    Raises:
        ValidationError: several ids start with it; the message lists them.
    """
    try:
        return find_trailer(commits, RUN_TRAILER, start)
    except NotFoundError:  # the run may be named only in the provenance of records
        return start


def locate(repository: Repository, text: str, branch: str) -> tuple[Snapshot, str | None]:
    """The snapshot, and the key in it if the text names one, for `show`.

    Args:
        repository: the store.
        text: `REVISION`, `REVISION:KEY`, `:KEY`, or `KEY` if it is not a revision.
        branch: the branch whose head is used if no revision is given.

    Raises:
        NotFoundError: it names nothing that exists.
        InvalidRevisionError: it is the start of several commit ids.
        ValidationError: several keys match.
    """
    revision, colon, key = _divided(text)
    if colon and not revision:
        return _with_key(repository, branch, key)
    try:
        return _with_key(repository, revision, key) if colon else (repository.at(text), None)
    except (NotFoundError, InvalidRevisionError) as error:
        try:
            return _with_key(repository, branch, text)
        except NotFoundError:
            if colon or isinstance(error, InvalidRevisionError):
                raise error from None
            message = f"there is no commit, branch, tag or key {text!r} in {repository.url}"
            raise NotFoundError(message) from None


def _with_key(repository: Repository, revision: str, key: str) -> tuple[Snapshot, str]:
    snapshot = repository.at(revision)
    return snapshot, find_key(snapshot, key)


def _divided(text: str) -> tuple[str, str, str]:
    """The text around the first colon outside of braces."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == ":" and depth == 0:
            return text[:position], ":", text[position + 1 :]
    return text, "", ""


def _last(key: str) -> str:
    return key[key.rfind("/") + 1 :]


def _the_only(text: str, fitting: list[str], what: str) -> str:
    if len(fitting) > 1:
        more = f" and {len(fitting) - SHOWN} more" if len(fitting) > SHOWN else ""
        raise ValidationError(
            f"{text!r} matches several {what}: {', '.join(fitting[:SHOWN])}{more}"
        )
    return fitting[0]

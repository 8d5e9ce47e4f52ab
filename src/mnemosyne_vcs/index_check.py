"""Comparing an engine's history index with the objects that it is derived from."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.protocol import IndexEntry
from mnemosyne_vcs.errors import CorruptObjectError, NotFoundError
from mnemosyne_vcs.history.facts import commit_facts
from mnemosyne_vcs.history.index import find_commit, index_entry
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Commit

__all__ = ["wrong_entries"]

_SHOWN = 3
_Listed = Mapping[Id, IndexEntry]


def wrong_entries(blocks: Blocks, commits: Iterable[Commit]) -> dict[Id, str]:
    """The errors in the history index, by commit; empty if the engine cannot list it.

    An index may lack commits: they are added when they are needed. But it must hold every ancestor
    of those that it holds. Others may write and collect garbage meanwhile.

    Args:
        blocks: the objects.
        commits: the commits that refs reach.
    """
    listing = blocks.can.list_history
    if blocks.can.history is None or listing is None:
        return {}
    listed = {entry.commit: entry for entry in listing.index_entries()}
    reached = {commit.cid: commit for commit in commits}
    doubtful = [*_lacking(reached, listed), *_untrue(blocks, listed)]
    if not doubtful:
        return {}
    listed = {entry.commit: entry for entry in listing.index_entries()}
    there = blocks.can.exists([block for block in doubtful if block not in listed])
    wrong = {block: "lacks this commit" for block in doubtful if block in there}
    again = {block: listed[block] for block in doubtful if block in listed}
    return wrong | _untrue(blocks, again)


def _lacking(reached: Mapping[Id, Commit], listed: _Listed) -> list[Id]:
    """The commits that the index lacks but must hold."""
    needed: set[Id] = set()
    for block, commit in sorted(reached.items(), key=lambda each: -each[1].generation):
        if block in needed or block in listed:
            needed.update(commit.parent_cids)
    return [block for block in needed if block in reached and block not in listed]


def _untrue(blocks: Blocks, listed: _Listed) -> dict[Id, str]:
    """The errors in entries, by commit."""
    found = ((block, _fault(blocks, entry)) for block, entry in listed.items())
    return {block: fault for block, fault in found if fault is not None}


def _fault(blocks: Blocks, entry: IndexEntry) -> str | None:
    if not entry.commit:
        return f"holds keys of no commit, such as {_shown(entry.keys)}"
    commit = find_commit(blocks, entry.commit)
    if commit is None:
        return "names this, which is not a commit in the store"
    try:
        true = index_entry(blocks, commit)
        if entry.facts is not None:
            true = replace(true, facts=commit_facts(blocks, commit))
        return _difference(entry, true)
    except (NotFoundError, CorruptObjectError):
        return None  # damage is reported on its own, and a collected commit needs no entry


def _difference(entry: IndexEntry, true: IndexEntry) -> str | None:
    if entry.transaction != true.transaction:
        return f"gives this the transaction {entry.transaction!r}, not {true.transaction!r}"
    if extra := set(entry.keys).difference(true.keys):
        return f"says that this changed {_shown(extra)}"
    if lost := set(true.keys).difference(entry.keys):
        return f"does not say that this changed {_shown(lost)}"
    told, known = set(entry.facts or ()), set(true.facts or ())
    if extra := told - known:
        return f"says that this has {_shown(map(' '.join, extra))}"
    if lost := known - told:
        return f"does not say that this has {_shown(map(' '.join, lost))}"
    return None


def _shown(keys: Iterable[str]) -> str:
    each = sorted(keys)
    more = f" and {len(each) - _SHOWN:,} more" if len(each) > _SHOWN else ""
    return ", ".join(map(repr, each[:_SHOWN])) + more

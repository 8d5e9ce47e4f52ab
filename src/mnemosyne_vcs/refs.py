"""Branches and tags: their names in the engine, and the first commit of every repository."""

import time
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import replace

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Engine, IndexEntry, RefUpdate
from mnemosyne_vcs.errors import (
    BusyError,
    CorruptObjectError,
    EngineError,
    NotFoundError,
    RefConflictError,
    ValidationError,
)
from mnemosyne_vcs.format.objects import encode_commit, is_commit_id, object_id
from mnemosyne_vcs.format.validation import check_name
from mnemosyne_vcs.graph import is_ancestor
from mnemosyne_vcs.ids import Id, text_id
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.tree import EMPTY_BLOCK, EMPTY_ROOT

__all__ = [
    "BRANCH",
    "DEFAULT_BRANCH",
    "REMOTE",
    "ROOT_COMMIT",
    "TAG",
    "branch_head",
    "branch_ref",
    "check_new_name",
    "initialise",
    "moved",
    "ref_heads",
    "ref_names",
    "remote_ref",
    "tag_ref",
    "what_is_lacking",
    "write_ref",
]

BRANCH, TAG, REMOTE = "branch/", "tag/", "remote/"
DEFAULT_BRANCH = "main"


def _root_commit() -> tuple[Commit, bytes]:
    unnamed = Commit(
        id="",
        parents=(),
        tree=text_id(EMPTY_ROOT),
        transaction_id="0" * 32,
        author="",
        message="the empty memory",
        timestamp_ms=0,
        generation=0,
    )
    block = encode_commit(unnamed)
    return replace(unnamed, id=text_id(object_id(block))), block


ROOT_COMMIT, _ROOT_BLOCK = _root_commit()
"""The empty memory, the first commit of every repository."""


def branch_ref(name: str) -> str:
    """The ref of a branch.

    Raises:
        ValidationError: the name is not a valid branch name.
    """
    return BRANCH + check_name(name, "branch")


def tag_ref(name: str) -> str:
    """The ref of a tag.

    Raises:
        ValidationError: the name is not a valid tag name.
    """
    return TAG + check_name(name, "tag")


def check_new_name(name: str, what: str) -> None:
    """Refuse a name for a new branch or tag that could also be a commit id.

    Args:
        name: its name.
        what: the word for it in the message.

    Raises:
        ValidationError: the name has the form of a commit id.
    """
    if is_commit_id(name):
        raise ValidationError(
            f"{name!r} is not a valid name for a new {what}: it has the form of a commit id; "
            "choose another name"
        )


def remote_ref(remote: str, branch: str = "") -> str:
    """The ref of a branch of a remote; without a branch, the prefix of all.

    Raises:
        ValidationError: the name is not a valid remote name.
    """
    if "/" in check_name(remote, "remote"):
        raise ValidationError(f"{remote!r} is not a valid remote name: it contains '/'")
    return f"{REMOTE}{remote}/{branch}"


def branch_head(blocks: Blocks, name: str) -> Commit:
    """The commit that a branch points at now.

    Raises:
        NotFoundError: the branch does not exist.
    """
    head = blocks.engine.ref(branch_ref(name))
    if head is None:
        raise NotFoundError(
            f"there is no branch {name!r} in {blocks.engine.url}; create_branch({name!r}) "
            "creates it"
        )
    return blocks.commit(head)


def moved(branch: str, expect: Commit, head: Commit) -> RefConflictError:
    """The error for a branch that is not where the caller expects it."""
    return RefConflictError(
        f"branch {branch!r} points at {head.id}, not at {expect.id} as expected; look at the "
        "changes, and try again"
    )


def ref_heads(blocks: Blocks, kind: str) -> dict[str, Id]:
    """Commits by name, of all refs of a kind such as `BRANCH` or `TAG`, in order of name."""
    return {name.removeprefix(kind): head for name, head in blocks.engine.refs(kind).items()}


def ref_names(blocks: Blocks, kind: str) -> dict[str, str]:
    """As `ref_heads`, with ids as text."""
    return {name: text_id(head) for name, head in ref_heads(blocks, kind).items()}


def write_ref(
    blocks: Blocks, objects: Mapping[Id, bytes], update: RefUpdate, upon: Collection[Id] = ()
) -> None:
    """Write objects and move a ref, and find out the outcome if the answer is lost.

    The ref may depend on commits that perhaps no other ref reaches. Such a commit may be collected
    as garbage until the ref has moved, so this checks under the write lock, if the engine has one,
    that it is there.

    Args:
        blocks: the objects.
        objects: what to write.
        update: the move.
        upon: ids of the commits that must be there.

    Raises:
        NotFoundError: one of them is not in the store any more; nothing was written.
        MnemosyneError: as `Engine.write` raises.
    """
    try:
        with blocks.can.exclusive() if upon else nullcontext():
            if upon:
                blocks.read(upon)
            blocks.engine.write(objects, update)
    except BusyError:
        raise
    except EngineError:
        if not _has_moved(blocks, update):
            raise


def _has_moved(blocks: Blocks, update: RefUpdate) -> bool:
    """Whether a write whose answer was lost has moved its ref."""
    head, new = blocks.engine.ref(update.name), update.new
    if head is None or new is None:
        return head is new
    return bool(blocks.can.exists([new])) and is_ancestor(blocks.commit, new, head)


def what_is_lacking(engine: Engine) -> str | None:
    """Why a store is not a usable repository, and what to do; None if it has a branch."""
    if engine.refs(BRANCH):
        return None
    if not _holds_objects(engine):
        lacking = (
            f"{engine.url} is empty: it has no commit and no branch; `mnem init` or "
            "create=True creates them, and an interrupted clone continues if it is run again"
        )
    elif engine.refs() or _has_moves(engine):
        lacking = (
            f"{engine.url} has no branch: all were deleted; create one with create_branch at a "
            "tag, or at a commit that the reflog names"
        )
    else:
        lacking = (
            f"{engine.url} is incomplete: it holds objects but no branch, as after an interrupted "
            "clone; run the same clone again to continue it"
        )
    return None if engine.refs(BRANCH) else lacking  # it may have been created meanwhile


def _holds_objects(engine: Engine) -> bool:
    can = Capabilities.of(engine)
    if can.enumerate is not None:
        return any(can.enumerate.ids())
    return bool(can.exists([ROOT_COMMIT.cid]))


def _has_moves(engine: Engine) -> bool:
    reflog = Capabilities.of(engine).reflog
    return reflog is not None and any(reflog.reflog(None))


def initialise(engine: Engine, *, when: int | None = None) -> None:
    """Give an empty store its first commit and the branch `main`, so that it is a repository.

    A store that has refs is left as it is. `mnemosyne_vcs.open` with `create=True` does this.

    Args:
        engine: the store.
        when: UTC milliseconds, for the reflog; now if not given.

    Raises:
        CorruptObjectError: the store holds objects but no ref, so it is not empty.
        ReadOnlyError: the store was opened for reading.
        EngineError: the store failed.
    """
    if engine.refs():
        return
    if _holds_objects(engine):
        lacking = what_is_lacking(engine)
        if lacking is None or engine.refs():  # another process has just done it
            return
        raise CorruptObjectError(lacking)
    root: Id = ROOT_COMMIT.cid
    objects = {EMPTY_ROOT: EMPTY_BLOCK, root: _ROOT_BLOCK}
    update = RefUpdate(
        branch_ref(DEFAULT_BRANCH),
        None,
        root,
        when=time.time_ns() // 1_000_000 if when is None else when,
        why="create",
        index=IndexEntry(root, ROOT_COMMIT.transaction_id, (), [("author", ROOT_COMMIT.author)]),
    )
    try:
        engine.write(objects, update)
    except RefConflictError:
        if engine.ref(update.name) is None:
            raise

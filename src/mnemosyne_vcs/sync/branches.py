"""Bringing branches and tags of one store up to date with another: fetch, push, clone."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from mnemosyne_vcs.blocks import Blocks, while_it_lasts
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Engine, RefUpdate
from mnemosyne_vcs.errors import AlreadyExistsError, ConflictError, NotFoundError, RefConflictError
from mnemosyne_vcs.frozen import freeze
from mnemosyne_vcs.graph import is_ancestor
from mnemosyne_vcs.ids import Id, text_id
from mnemosyne_vcs.refs import BRANCH, TAG, branch_ref, initialise, remote_ref, write_ref
from mnemosyne_vcs.sync.transfer import Progress, Sent, transfer

__all__ = ["RefWriter", "TransferReport", "branch_heads", "clone", "fetch", "push"]


@dataclass(frozen=True, slots=True)
class TransferReport:
    """What was copied from one store to another.

    Attributes:
        url: the other store.
        remote: its name here, if it is a remote.
        branches: the id of the commit that each of its branches now names, by name.
        tags: the id of the commit that each new tag names, by name.
        commits: how many commits were sent.
        objects: how many objects were sent, commits included.
        bytes: their size.
        pruned: the remote branches that were removed here because the store does not have them.
    """

    url: str
    remote: str | None
    branches: Mapping[str, str]
    tags: Mapping[str, str]
    commits: int
    objects: int
    bytes: int
    pruned: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, "branches", "tags")

    def called(self, branch: str) -> str:
        """The name here of a branch of the other store, such as `origin/main`."""
        return f"{self.remote}/{branch}" if self.remote else f"{branch} of {self.url}"


@dataclass(frozen=True, slots=True)
class RefWriter:
    """Author and time of the moves of refs, for the reflog.

    Attributes:
        who: the author of the moves.
        when: UTC milliseconds by the clock of this machine.
    """

    who: str
    when: int

    def move(self, target: Blocks, name: str, new: Id | None, old: Id | None, why: str) -> None:
        """Move a ref of the target to a commit that it has, or delete the ref."""
        if new != old:
            write_ref(target, {}, RefUpdate(name, old, new, self.who, self.when, why))


def fetch(
    here: Blocks,
    there: Blocks,
    mover: RefWriter,
    *,
    remote: str | None,
    branches: Collection[str] | None,
    prune: bool,
    progress: Progress | None,
) -> TransferReport:
    """Copy history here; see `Repository.fetch`."""
    return while_it_lasts(
        lambda: _fetch(
            here, there, mover, remote=remote, branches=branches, prune=prune, progress=progress
        )
    )


def _fetch(
    here: Blocks,
    there: Blocks,
    mover: RefWriter,
    *,
    remote: str | None,
    branches: Collection[str] | None,
    prune: bool,
    progress: Progress | None,
) -> TransferReport:
    heads = branch_heads(there.engine, branches)
    tags: dict[str, Id] = {}
    gone = _gone(here.engine, remote, heads) if prune and remote and branches is None else {}

    def land() -> None:
        tags.update(_new_tags(there.engine, here.engine))
        why = f"fetch {there.engine.url}"
        for name, head in heads.items() if remote else ():
            ref = remote_ref(remote or "", name)
            mover.move(here, ref, head, here.engine.ref(ref), why)
        for ref, head in tags.items():
            mover.move(here, ref, head, None, why)
        for name, head in gone.items():
            mover.move(here, remote_ref(remote or "", name), None, head, why)

    wanted = {*heads.values(), *(() if branches else there.engine.refs(TAG).values())}
    sent = transfer(there, here.engine, wanted, land, progress)
    return replace(_report(there.engine.url, remote, heads, tags, sent), pruned=tuple(gone))


def push(
    here: Blocks,
    there: Blocks,
    mover: RefWriter,
    *,
    remote: str | None,
    branch: str,
    progress: Progress | None = None,
) -> TransferReport:
    """Copy a branch to another store; see `Repository.push`."""
    ref = branch_ref(branch)
    new, old = here.engine.ref(ref), there.engine.ref(ref)
    if new is None:
        raise NotFoundError(f"there is no branch {branch!r} in {here.engine.url}")
    if old is not None and not _follows(here, new, old):
        raise _behind(branch, there.engine)
    tags: dict[str, Id] = {}
    why = f"push from {here.engine.url}"

    def land() -> None:
        if there.engine.ref(ref) != old:
            raise _behind(branch, there.engine)
        tags.update(_new_tags(here.engine, there.engine))
        mover.move(there, ref, new, old, why)
        for tag, head in tags.items():
            mover.move(there, tag, head, None, why)

    sent = transfer(here, there.engine, [new], land, progress)
    if remote and not here.engine.read_only:
        tracking = remote_ref(remote, branch)
        mover.move(here, tracking, new, here.engine.ref(tracking), f"push {there.engine.url}")
    return _report(there.engine.url, remote, {branch: new}, tags, sent)


def clone(
    there: Blocks,
    here: Blocks,
    mover: RefWriter,
    *,
    remote: str | None,
    branches: Collection[str] | None = None,
    progress: Progress | None = None,
) -> TransferReport:
    """Fill an empty store from another one; see `mnemosyne_vcs.clone`."""
    if here.engine.refs():
        raise AlreadyExistsError(
            f"{here.engine.url} already holds a repository; fetch or pull into it"
        )
    return while_it_lasts(
        lambda: _clone(there, here, mover, remote=remote, branches=branches, progress=progress)
    )


def _clone(
    there: Blocks,
    here: Blocks,
    mover: RefWriter,
    *,
    remote: str | None,
    branches: Collection[str] | None,
    progress: Progress | None,
) -> TransferReport:
    heads = branch_heads(there.engine, branches)
    tags: dict[str, Id] = {}

    def land() -> None:
        tags.update(_new_tags(there.engine, here.engine))
        why = f"clone {there.engine.url}"
        for name, head in heads.items():
            mover.move(here, branch_ref(name), head, None, why)
            if remote:
                mover.move(here, remote_ref(remote, name), head, None, why)
        for ref, head in tags.items():
            mover.move(here, ref, head, None, why)

    wanted = {*heads.values(), *(() if branches else there.engine.refs(TAG).values())}
    sent = transfer(there, here.engine, wanted, land, progress)
    initialise(here.engine, when=mover.when)
    return _report(there.engine.url, remote, heads, tags, sent)


def branch_heads(engine: Engine, names: Collection[str] | None) -> dict[str, Id]:
    """The branches of a store, or those that are chosen.

    Args:
        engine: the store.
        names: the branches that are chosen; None for all.

    Raises:
        NotFoundError: the store has no branch with one of the names.
    """
    known = {ref.removeprefix(BRANCH): head for ref, head in engine.refs(BRANCH).items()}
    if names is None:
        return known
    for name in names:
        if name not in known:
            raise NotFoundError(f"there is no branch {name!r} in {engine.url}")
    return {name: known[name] for name in names}


def _gone(engine: Engine, remote: str, heads: Mapping[str, Id]) -> dict[str, Id]:
    """The remote branches here that the remote does not have any more."""
    prefix = remote_ref(remote)
    known = {ref.removeprefix(prefix): head for ref, head in engine.refs(prefix).items()}
    return {name: head for name, head in known.items() if name not in heads}


def _new_tags(source: Engine, target: Engine) -> dict[str, Id]:
    """The tags that the target lacks and whose commits it has."""
    tags, known = source.refs(TAG), target.refs(TAG)
    there = Capabilities.of(target).exists(set(tags.values()))
    found = {ref: head for ref, head in tags.items() if head in there}
    for ref, head in found.items():
        if known.get(ref, head) != head:
            name = ref.removeprefix(TAG)
            raise ConflictError(
                f"tag {name!r} is {text_id(head)} in {source.url} and {text_id(known[ref])} in "
                f"{target.url}; delete one of them"
            )
    return {ref: head for ref, head in found.items() if ref not in known}


def _follows(here: Blocks, new: Id, old: Id) -> bool:
    return bool(here.can.exists([old])) and is_ancestor(here.walk(), old, new)


def _behind(branch: str, there: Engine) -> RefConflictError:
    return RefConflictError(
        f"branch {branch!r} of {there.url} has commits that yours does not have; pull first, "
        "then push again"
    )


def _report(
    url: str, remote: str | None, heads: Mapping[str, Id], tags: Mapping[str, Id], sent: Sent
) -> TransferReport:
    return TransferReport(
        url,
        remote,
        {name: text_id(head) for name, head in heads.items()},
        {ref.removeprefix(TAG): text_id(head) for ref, head in tags.items()},
        sent.commits,
        sent.objects,
        sent.bytes,
    )

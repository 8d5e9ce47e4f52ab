"""Making a repository from another one."""

import time
from collections.abc import Collection
from contextlib import ExitStack
from os import PathLike

from mnemosyne import sync
from mnemosyne.blocks import Blocks
from mnemosyne.engine import canonical_url, open_engine
from mnemosyne.engine.base import HasSettings
from mnemosyne.refs import remote_ref
from mnemosyne.remotes import DEFAULT_REMOTE, add_remote, remotes
from mnemosyne.repository import Durability, Repository
from mnemosyne.sync import Mover
from mnemosyne.transaction import Embed
from mnemosyne.transfer import Progress

__all__ = ["clone"]


def clone(
    source: str | PathLike[str] | Repository,
    target: str | PathLike[str],
    *,
    branches: Collection[str] | None = None,
    remote: str = DEFAULT_REMOTE,
    author: str = "unknown",
    durability: Durability = "full",
    embed: Embed | None = None,
    progress: Progress | None = None,
) -> Repository:
    """Copy a repository, with the same commit ids, to any kind of store.

    Everything is checked on the way. If this breaks off, the same call goes on from there. The
    copy remembers where it came from, so that `fetch`, `pull` and `push` need no URL.

    Args:
        source: the repository to copy: its URL or path, or one that is open.
        target: the URL or path of the store to make.
        branches: the branches to copy; all of them, and all tags, if not given.
        remote: the name that the source has in the copy.
        author: who commits to the copy, where a commit does not say.
        durability: as in `mnemosyne.open`.
        embed: as in `mnemosyne.open`.
        progress: called now and then with how many objects have been looked at.

    Returns:
        The copy, open.

    Raises:
        NotFoundError: there is no such source or branch, or an object is missing there.
        AlreadyExistsError: the target holds a repository.
        CorruptObjectError: an object of the source is damaged; the target holds no repository.
        ValidationError: a URL is of no known form, or the name is none for a remote.
        EngineError: one of the stores failed; try again.
    """
    remote_ref(remote)
    with ExitStack() as stack, ExitStack() as on_failure:
        if isinstance(source, Repository):
            there = source.blocks
        else:
            there = Blocks(open_engine(source, read_only=True))
            stack.callback(there.engine.close)
        sync.branch_heads(there.engine, branches)
        here = open_engine(target, create=True, durability=durability)
        on_failure.callback(here.close)
        sync.clone(
            there,
            here,
            Mover(author, time.time_ns() // 1_000_000),
            remote=remote,
            branches=branches,
            progress=progress,
        )
        url = there.engine.url if isinstance(source, Repository) else canonical_url(source)
        if isinstance(here, HasSettings) and url != "memory://" and remote not in remotes(here):
            add_remote(here, remote, url)
        on_failure.pop_all()
        return Repository(here, author=author, embed=embed)

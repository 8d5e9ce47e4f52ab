"""Making a repository from another one."""

import time
from collections.abc import Collection, Generator
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.embedding import Embed
from mnemosyne_vcs.engine import canonical_url, file_of, open_engine
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Engine
from mnemosyne_vcs.errors import MnemosyneError, ValidationError
from mnemosyne_vcs.format.validation import check_text
from mnemosyne_vcs.interrupts import guarded
from mnemosyne_vcs.refs import remote_ref
from mnemosyne_vcs.repository.repository import Durability, Repository
from mnemosyne_vcs.sync import branches as sync
from mnemosyne_vcs.sync.branches import RefWriter
from mnemosyne_vcs.sync.remotes import DEFAULT_REMOTE, add_remote, remotes
from mnemosyne_vcs.sync.transfer import Progress

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

    Everything is checked on the way. If this is interrupted, the same call continues from there.
    The copy remembers where it came from, so that `fetch`, `pull` and `push` need no URL. It has no
    remote if no URL opens the source: a repository in memory, or on an engine that is not built in.

    Args:
        source: the repository to copy: its URL or path, or one that is open.
        target: the URL or path of the store to make.
        branches: the branches to copy; all of them, and all tags, if not given.
        remote: the name that the source has in the copy, where it has a URL.
        author: who commits to the copy, where a commit does not say.
        durability: as in `mnemosyne_vcs.open`.
        embed: as in `mnemosyne_vcs.open`.
        progress: called from time to time with how many objects have been looked at.

    Returns:
        The copy, open.

    Raises:
        NotFoundError: the source or branch does not exist, or an object is missing there.
        AlreadyExistsError: the target holds a repository.
        CorruptObjectError: an object of the source is damaged; the target holds no repository.
        ValidationError: a URL is of no known form, or the name is not a valid remote name.
        EngineError: one of the stores failed; try again.
    """
    remote_ref(remote)
    check_text(author, "author")
    with ExitStack() as stack:
        if isinstance(source, Repository):
            there = source.blocks
        else:
            there = Blocks(open_engine(source, read_only=True))
            stack.callback(there.engine.close)
        sync.branch_heads(there.engine, branches)
        url = _lasting_url(there.engine.url if isinstance(source, Repository) else source)
        here = stack.enter_context(_target(target, durability))
        sync.clone(
            there,
            Blocks(here),
            RefWriter(author, time.time_ns() // 1_000_000),
            remote=remote,
            branches=branches,
            progress=progress,
        )
        if url is not None and Capabilities.of(here).settings and remote not in remotes(here):
            add_remote(here, remote, url)
        return Repository(here, author=author, embed=embed)


def _lasting_url(source: str | PathLike[str]) -> str | None:
    """The URL that opens a store again from anywhere; None if there is none."""
    with suppress(ValidationError):
        url = canonical_url(source)
        return None if url == "memory://" else url
    return None


@guarded
def _target(target: str | PathLike[str], durability: Durability) -> Generator[Engine]:
    """The store to fill, which is closed if that fails.

    A file that was made for it and holds nothing yet is removed then, so that no command takes it
    for a store. One that holds something stays, since the same call goes on from there.
    """
    path = file_of(target)
    made = path is not None and not Path(path).exists()
    with ExitStack() as on_failure:
        if made and path is not None:
            on_failure.callback(_remove_empty, Path(path))
        here = open_engine(target, create=True, durability=durability)
        on_failure.callback(here.close)
        if made and path is not None:
            on_failure.callback(_remove_unused, here, Path(path))
        yield here
        on_failure.pop_all()


def _remove_empty(path: Path) -> None:
    with suppress(OSError):  # what is there is not empty, or cannot be reached: it stays
        if path.stat().st_size == 0:
            path.unlink()


def _remove_unused(here: Engine, path: Path) -> None:
    can = Capabilities.of(here)
    assert can.enumerate is not None
    with suppress(MnemosyneError), can.exclusive():  # the error that led here is the one to show
        if not here.refs() and not any(can.enumerate.ids()):
            for suffix in ("", "-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)

"""Backups and statistics of a whole store."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.blocks import Blocks, while_it_lasts
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Engine, Enumerates, RefUpdate
from mnemosyne_vcs.errors import AlreadyExistsError, BusyError, EngineError, MnemosyneError
from mnemosyne_vcs.files import put_in_place, sync_file, temporary_beside
from mnemosyne_vcs.format.objects import check_id
from mnemosyne_vcs.frozen import freeze
from mnemosyne_vcs.graph import ancestors
from mnemosyne_vcs.maintenance.verify import ATTEMPTS, is_needed
from mnemosyne_vcs.refs import BRANCH, ROOT_COMMIT, TAG, ref_heads, write_ref

__all__ = ["Stats", "backup", "stats"]


@dataclass(frozen=True, slots=True)
class Stats:
    """How large a repository is.

    Attributes:
        url: the canonical URL.
        branches: how many branches there are.
        tags: how many tags there are.
        commits: how many commits the branches and tags reach, without the root commit.
        records: how many records each branch holds.
        objects: how many objects the engine holds; None if it cannot tell.
        bytes: the size of the store in bytes; None if the engine cannot tell.
    """

    url: str
    branches: int
    tags: int
    commits: int
    records: Mapping[str, int]
    objects: int | None
    bytes: int | None

    def __post_init__(self) -> None:
        freeze(self, "records")


def stats(blocks: Blocks) -> Stats:
    """The size of a repository."""
    return while_it_lasts(lambda: _stats(blocks))


def _stats(blocks: Blocks) -> Stats:
    engine = blocks.engine
    branches, tags = ref_heads(blocks, BRANCH), ref_heads(blocks, TAG)
    heads = [*branches.values(), *tags.values()]
    listing, space = blocks.can.enumerate, blocks.can.space
    return Stats(
        engine.url,
        len(branches),
        len(tags),
        sum(1 for commit in ancestors(blocks.walk(), heads) if commit.id != ROOT_COMMIT.id),
        {name: blocks.node(blocks.commit(head).tree_cid).count for name, head in branches.items()},
        None if listing is None else sum(1 for _ in listing.ids()),
        None if space is None else space.size(),
    )


def backup(blocks: Blocks, path: str, now: int) -> None:
    """Write a consistent copy of the whole store to a new file, which opens as a store.

    Args:
        blocks: the objects.
        path: the file to write.
        now: UTC milliseconds, for the reflog of a copy that begins with an empty one.

    Raises:
        AlreadyExistsError: the path exists already.
        EngineError: the copy cannot be written, or the engine cannot list what it holds.
        BusyError: branches were deleted and garbage collected all the time.
    """
    if os.path.lexists(path):
        raise _exists(path)
    engine = blocks.engine
    partial = temporary_beside(Path(path))
    try:
        if blocks.can.back_up is not None:
            blocks.can.back_up.backup(str(partial))
        elif blocks.can.enumerate is not None:
            _copy_to(partial, blocks, blocks.can.enumerate, now)
        else:
            raise EngineError(f"cannot back up {engine.url}: it cannot list its objects")
        put_in_place(partial, Path(path))
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        if isinstance(error, MnemosyneError):
            raise
        raise EngineError(f"cannot back up to {path}: {error.strerror}; check its disk") from error
    finally:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{partial}{suffix}").unlink(missing_ok=True)


def _copy_to(path: Path, blocks: Blocks, source: Enumerates, now: int) -> None:
    """Copy a store, object by object, to a new file."""
    target = open_engine(str(path), create=True)
    try:
        _copy(blocks, source, target, now)
    finally:
        target.close()
    sync_file(path)


def _copy(blocks: Blocks, source: Enumerates, target: Engine, now: int) -> None:
    """Copy what refs reach, then all other objects; again if some of them were collected."""
    engine, copied = blocks.engine, Capabilities.of(target)
    for _ in range(ATTEMPTS):
        refs = engine.refs()
        ids = list(source.ids())
        for batch in batches(ids):
            there = copied.exists(batch)
            found = engine.read([block for block in batch if block not in there])
            for block, data in found.items():
                check_id(block, data)
            target.write(found)
        if all(is_needed(blocks, head) for head in refs.values()):
            for name, head in refs.items():
                update = RefUpdate(name, None, head, when=now, why="backup")
                write_ref(Blocks(target), {}, update)
            return
    raise BusyError(
        f"{engine.url} cannot be copied while branches are being deleted and collected all the "
        "time; try again when no collection runs"
    )


def _exists(path: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"cannot back up to {path}: it exists already")

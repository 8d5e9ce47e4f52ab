"""The last commits of this process on each branch."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from mnemosyne_vcs.model import Commit

__all__ = ["HeadCache"]


GUESS_FOR = 1.0


@dataclass(frozen=True, slots=True)
class CachedHead:
    """The commit that a branch probably points at, and the basis of that guess."""

    commit: Commit
    sole_writer: bool
    checked_at: float


class HeadCache:
    """The last commits of one process, so that a write that reads nothing need not look up a head.

    If nobody else wrote to a branch between two commits of this process, the branch is guessed to
    point at the second one, for a second after it was last looked up. The guess needs no proof:
    a write moves a ref only from where it is expected.

    Args:
        clock: gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._heads: dict[str, CachedHead] = {}
        self._clock = clock

    def note(self, branch: str, base: Commit, commit: Commit) -> None:
        """Remember a commit of this process.

        Args:
            branch: its branch.
            base: what the branch pointed at before.
            commit: the commit.
        """
        cached = self._heads.get(branch)
        if cached is not None and cached.commit.id == base.id:
            self._heads[branch] = CachedHead(commit, True, cached.checked_at)
        else:
            self._heads[branch] = CachedHead(commit, False, self._clock())

    def forget(self, branch: str) -> None:
        """Make the next write to a branch read its head."""
        self._heads.pop(branch, None)

    def guess(self, branch: str) -> Commit | None:
        """The commit that a branch probably points at; None if the head must be read."""
        cached = self._heads.get(branch)
        if cached is None or not cached.sole_writer:
            return None
        now = self._clock()
        if now - cached.checked_at < GUESS_FOR:
            return cached.commit
        self._heads[branch] = replace(cached, checked_at=now)
        return None

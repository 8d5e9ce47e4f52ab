"""Where this process has left branches."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from mnemosyne_vcs.model import Commit

__all__ = ["LastHeads"]


GUESS_FOR = 1.0


@dataclass(frozen=True, slots=True)
class _Left:
    head: Commit
    alone: bool
    looked: float


class LastHeads:
    """Where one process has left branches, so that a write that reads nothing need not ask.

    A branch on which nobody else wrote between two commits of this process is guessed to be where
    the second one left it, for a second from when it was last looked at. The guess needs no proof:
    a write moves a ref only from where it is expected.

    Args:
        clock: gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._left: dict[str, _Left] = {}
        self._clock = clock

    def note(self, branch: str, base: Commit, commit: Commit) -> None:
        """Remember a commit of this process.

        Args:
            branch: the branch that it is on.
            base: what the branch pointed at before.
            commit: the commit.
        """
        left = self._left.get(branch)
        if left is not None and left.head.id == base.id:
            self._left[branch] = _Left(commit, True, left.looked)
        else:
            self._left[branch] = _Left(commit, False, self._clock())

    def forget(self, branch: str) -> None:
        """Have the next write to a branch look at it."""
        self._left.pop(branch, None)

    def guess(self, branch: str) -> Commit | None:
        """The commit that a branch probably points at; None if it is time to look."""
        left = self._left.get(branch)
        if left is None or not left.alone:
            return None
        now = self._clock()
        if now - left.looked < GUESS_FOR:
            return left.head
        self._left[branch] = replace(left, looked=now)
        return None

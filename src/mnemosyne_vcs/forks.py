"""Fresh caches and locks for a forked child, which inherits locks of threads that it lacks."""

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["Renewable", "renew_after_fork"]


class Renewable(Protocol):
    """Something that holds locks."""

    def renew(self) -> None:
        """Replace the locks and the data that they guard."""
        ...


_inherited: WeakSet[Renewable] = WeakSet()


def renew_after_fork(holder: Renewable) -> None:
    """Call `holder.renew()` in every child that this process forks while the holder lives."""
    _inherited.add(holder)


def _renew() -> None:
    for holder in list(_inherited):
        holder.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)

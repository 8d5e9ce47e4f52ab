"""How views are cached, and carried from one root of the tree to another by the diff between them.

A *view* is an immutable value computed from all records below one root. A *kind* of view knows how
to compute it. The cache asks a kind to advance the view that it has of the most similar root, in
any direction of history, so that a commit costs its changes and not the size of the memory.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.forks import renew_after_fork
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.interrupts import noted

__all__ = ["Changes", "Kind", "View", "ViewCache"]

PATIENCE = 60.0
"""Seconds to wait for a view that another thread makes, before one makes it too."""

Changes: TypeAlias = Sequence[tuple[str, Id | None, Id | None]]
"""`(key, record before, record after)` in the order of the keys; None where there is no record."""


class View(Protocol):
    """What one kind of view holds of one root. Immutable, and safe to share between threads."""

    def sizes(self) -> Mapping[int, int]:
        """The memory that the view holds on to: bytes by the identity of the object in question.

        What several views share shows under the same identity in each, and counts once.
        """
        ...


A = TypeVar("A")
V = TypeVar("V", bound=View)


class Kind(Protocol[V]):
    """One kind of view over the records of one engine. All methods may run in many threads."""

    def empty(self) -> V:
        """The view of a tree without records."""
        ...

    def advance(self, blocks: Blocks, view: V, changes: Changes) -> V:
        """The view of another root.

        The result depends on that root alone, not on the view that it was reached from.

        Args:
            blocks: where the records are read.
            view: a view of this kind.
            changes: what differs between the view's root and the other one.
        """
        ...

    def trim(self) -> None:
        """Let go of memory that views of this kind share and that no living view needs."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Cached:
    view: View
    links: frozenset[Id]


_Slot: TypeAlias = tuple[Kind[Any], Id]
K = TypeVar("K", bound=Kind[Any])


class ViewCache:
    """The views of one engine that are worth keeping.

    Readers of a view that is there never wait for a view in the making; several threads that ask
    for the same missing view wait for the one of them that makes it, for some time.

    Args:
        blocks: where trees and records are read.
        budget: how many bytes all views together may hold. The last view asked for of each kind
            is kept even if that takes more, so that one large memory is not built over and over.
        roots: of how many roots to keep the views of each kind.
    """

    def __init__(self, blocks: Blocks, *, budget: int = 1 << 30, roots: int = 16) -> None:
        self._blocks = blocks
        self._budget = budget
        self._roots = roots
        self._cached: OrderedDict[_Slot, _Cached] = OrderedDict()
        self._making: dict[_Slot, Lock] = {}
        self._kinds: dict[tuple[Any, Any], Kind[Any]] = {}
        self._lock = Lock()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin anew, as a forked child must."""
        self._cached, self._making, self._kinds, self._lock = OrderedDict(), {}, {}, Lock()

    def kind(self, make: Callable[[A], K], argument: A) -> K:
        """The kind that `make(argument)` gives, made once for this cache so that all share it.

        Args:
            make: the class of the kind.
            argument: what it is made with; hashable.
        """
        with self._lock:
            kind = self._kinds.get((make, argument))
            if kind is None:
                kind = self._kinds[make, argument] = make(argument)
            return cast("K", kind)

    def get(self, kind: Kind[V], root: Id) -> V:
        """The view of a kind of a root, made if it is not there.

        Raises:
            NotFoundError: a block of the tree or of a record is missing.
            CorruptObjectError: a block is not what its id says.
            EngineError: the engine cannot be read.
        """
        view = self._cached_view(kind, root)
        if view is not None:
            return view
        slot, held = (kind, root), list[bool]()
        making = self._making.setdefault(slot, Lock())
        try:
            noted(held, making.acquire, True, PATIENCE)
            view = self._cached_view(kind, root)
            if view is None:
                view = self._make(kind, root)
        finally:
            if True in held:
                making.release()
        return view

    def has(self, kind: Kind[Any], root: Id) -> bool:
        """Whether the view of a kind of a root is there."""
        with self._lock:
            return (kind, root) in self._cached

    def nbytes(self) -> int:
        """How many bytes the views in the cache hold."""
        with self._lock:
            views = [cached.view for cached in self._cached.values()]
        sizes: dict[int, int] = {}
        for view in views:
            sizes.update(view.sizes())
        return sum(sizes.values())

    def clear(self) -> None:
        """Forget every view, as after records were erased. Who holds one keeps it."""
        with self._lock:
            kinds = {kind for kind, _ in self._cached}
            self._cached.clear()
        for kind in kinds:
            kind.trim()

    def _cached_view(self, kind: Kind[V], root: Id) -> V | None:
        with self._lock:
            cached = self._cached.get((kind, root))
            if cached is None:
                return None
            self._cached.move_to_end((kind, root))
            return cast("V", cached.view)

    def _make(self, kind: Kind[V], root: Id) -> V:
        slot = (kind, root)
        try:
            if root == tree.EMPTY_ROOT:
                links, view = frozenset[Id](), kind.empty()
            else:
                links = frozenset(self._blocks.node(root).links)
                view = self._advance(kind, root, links)
            with self._lock:
                self._cached[slot] = _Cached(view, links)
        finally:
            self._making.pop(slot, None)
        self._evict(kind)
        return view

    def _advance(self, kind: Kind[V], root: Id, links: frozenset[Id]) -> V:
        lookup = self._blocks.node
        while (nearest := self._nearest(kind, links)) is not None:
            known, view = nearest
            try:
                changes = list(tree.diff(lookup, known, root))
            except NotFoundError:
                # The other root may have been removed from the store; what this one lacks
                # shows when it is read alone.
                with self._lock:
                    self._cached.pop((kind, known), None)
            else:
                return kind.advance(self._blocks, view, changes)
        added = [(key, None, record) for key, record in tree.entries(self._blocks.nodes, root)]
        return kind.advance(self._blocks, kind.empty(), added)

    def _nearest(self, kind: Kind[V], links: frozenset[Id]) -> tuple[Id, V] | None:
        """The cached root whose node has the most links in common, most recently used first."""
        with self._lock:
            known = [(at, c) for (of, at), c in reversed(self._cached.items()) if of is kind]
        best, most = None, -1
        for at, cached in known:
            common = len(links & cached.links)
            if common > most:
                best, most = (at, cast("V", cached.view)), common
            if most >= len(links) - 1:
                break
        return best

    def _evict(self, kind: Kind[Any]) -> None:
        with self._lock:
            slots = [slot for slot in self._cached if slot[0] is kind]
            for slot in slots[: -self._roots]:
                del self._cached[slot]
        while self.nbytes() > self._budget:
            with self._lock:
                last = {slot[0]: slot for slot in self._cached}
                stale = next((slot for slot in self._cached if slot != last[slot[0]]), None)
                if stale is None:
                    return
                del self._cached[stale]
            stale[0].trim()

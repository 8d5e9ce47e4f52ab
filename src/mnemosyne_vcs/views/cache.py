"""The cache of views, and their update from one root of the tree to another by the diff.

A *view* is an immutable value computed from all records below one root. A *builder*
computes it. The cache has the builder update the view of the most similar root that it has, in
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

__all__ = ["Changes", "View", "ViewBuilder", "ViewCache"]

PATIENCE = 60.0
"""Seconds to wait for a view that another thread builds, before building it too."""

Changes: TypeAlias = Sequence[tuple[str, Id | None, Id | None]]
"""`(key, record before, record after)` in the order of the keys; None for no record."""


class View(Protocol):
    """The view of one root, of one kind. Immutable, and safe to share between threads."""

    def sizes(self) -> Mapping[int, int]:
        """The memory that the view holds: bytes by the identity of each object.

        An object that several views share has the same identity in each, and counts once.
        """
        ...


A = TypeVar("A")
V = TypeVar("V", bound=View)


class ViewBuilder(Protocol[V]):
    """Builds one kind of view over the records of one engine. Methods may run in many threads."""

    def empty(self) -> V:
        """The view of a tree without records."""
        ...

    def update(self, blocks: Blocks, view: V, changes: Changes) -> V:
        """The view of another root.

        The result depends only on that root, not on the view that it was built from.

        Args:
            blocks: the objects.
            view: a view of this kind.
            changes: the differences between the view's root and the other one.
        """
        ...

    def trim(self) -> None:
        """Free memory that views of this kind share and that no living view needs."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Cached:
    view: View
    links: frozenset[Id]


_Slot: TypeAlias = tuple[ViewBuilder[Any], Id]
K = TypeVar("K", bound=ViewBuilder[Any])


class ViewCache:
    """The cached views of one engine.

    Readers of a cached view never wait for one that is being built. Threads that need the same
    missing view wait for the one that builds it, for a limited time.

    Args:
        blocks: the objects.
        budget: how many bytes all views together may hold. The last used view of each kind is
            kept even beyond that, so that one large view is not built again and again.
        roots: the number of roots to keep the views of, for each kind.
    """

    def __init__(self, blocks: Blocks, *, budget: int = 1 << 30, roots: int = 16) -> None:
        self._blocks = blocks
        self._budget = budget
        self._roots = roots
        self._cached: OrderedDict[_Slot, _Cached] = OrderedDict()
        self._making: dict[_Slot, Lock] = {}
        self._kinds: dict[tuple[Any, Any], ViewBuilder[Any]] = {}
        self._lock = Lock()
        renew_after_fork(self)

    def renew(self) -> None:
        """Start empty, as a forked child must."""
        self._cached, self._making, self._kinds, self._lock = OrderedDict(), {}, {}, Lock()

    def kind(self, make: Callable[[A], K], argument: A) -> K:
        """The builder that `make(argument)` returns, made once for this cache so that all share it.

        Args:
            make: the class of the builder.
            argument: its argument; hashable.
        """
        with self._lock:
            kind = self._kinds.get((make, argument))
            if kind is None:
                kind = self._kinds[make, argument] = make(argument)
            return cast("K", kind)

    def get(self, kind: ViewBuilder[V], root: Id) -> V:
        """The view of a root, built if it is not cached.

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

    def has(self, kind: ViewBuilder[Any], root: Id) -> bool:
        """Whether the view of a root is cached."""
        with self._lock:
            return (kind, root) in self._cached

    def nbytes(self) -> int:
        """The number of bytes that the cached views hold."""
        with self._lock:
            views = [cached.view for cached in self._cached.values()]
        sizes: dict[int, int] = {}
        for view in views:
            sizes.update(view.sizes())
        return sum(sizes.values())

    def clear(self) -> None:
        """Drop every view, as after records were erased. Views in use stay valid."""
        with self._lock:
            kinds = {kind for kind, _ in self._cached}
            self._cached.clear()
        for kind in kinds:
            kind.trim()

    def _cached_view(self, kind: ViewBuilder[V], root: Id) -> V | None:
        with self._lock:
            cached = self._cached.get((kind, root))
            if cached is None:
                return None
            self._cached.move_to_end((kind, root))
            return cast("V", cached.view)

    def _make(self, kind: ViewBuilder[V], root: Id) -> V:
        slot = (kind, root)
        try:
            if root == tree.EMPTY_ROOT:
                links, view = frozenset[Id](), kind.empty()
            else:
                links = frozenset(self._blocks.node(root).links)
                view = self._update(kind, root, links)
            with self._lock:
                self._cached[slot] = _Cached(view, links)
        finally:
            self._making.pop(slot, None)
        self._evict(kind)
        return view

    def _update(self, kind: ViewBuilder[V], root: Id, links: frozenset[Id]) -> V:
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
                return kind.update(self._blocks, view, changes)
        added = [(key, None, record) for key, record in tree.entries(self._blocks.nodes, root)]
        return kind.update(self._blocks, kind.empty(), added)

    def _nearest(self, kind: ViewBuilder[V], links: frozenset[Id]) -> tuple[Id, V] | None:
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

    def _evict(self, kind: ViewBuilder[Any]) -> None:
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

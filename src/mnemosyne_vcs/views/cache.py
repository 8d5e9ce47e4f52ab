"""The cache of views, and their update from one root of the tree to another by the diff.

A *view* is an immutable value computed from all records below one root. A *builder*
computes it. The cache has the builder update the view of the most similar root that it has, in
any direction of history, so that a commit costs its changes and not the size of the memory.

Views of kinds that can be written as arrays are also kept in files, if there is a place for them.
The first view of a process then begins with such a file.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.forks import renew_after_fork
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.interrupts import noted

if TYPE_CHECKING:
    from mnemosyne_vcs.views.files import Arrays, ViewFiles

__all__ = ["Changes", "StoresViews", "View", "ViewBuilder", "ViewCache", "labelled"]

_FEWEST_TO_STORE = 1024
_SHARE_TO_STORE = 8
"""A view is written to a file when this part of it, or more, was read since the last one."""

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


@runtime_checkable
class StoresViews(Protocol):
    """A builder whose views can be written as arrays and made of them again."""

    def label(self, blocks: Blocks) -> str | None:
        """What names this kind of views, the form of its arrays included; None for no files."""
        ...

    def pack(self, view: Any) -> "Arrays":
        """A view as arrays."""
        ...

    def unpack(self, blocks: Blocks, arrays: "Arrays") -> Any:
        """The view that `pack` was given."""
        ...


def labelled(kind: str, function: Callable[..., Any]) -> str | None:
    """The label of views that depend on a function, by its name.

    Returns:
        None if that does not say what it does: for a function within another one or of `__main__`,
        and for methods and other callables.
    """
    if not isinstance(function, FunctionType) or "<" in function.__qualname__:
        return None
    if function.__module__ == "__main__":
        return None
    return f"{kind}: {function.__module__}.{function.__qualname__}"


@dataclass(frozen=True, slots=True, eq=False)
class _Cached:
    """A view, the links of its root, its records, and the changes since one was written."""

    view: View
    links: frozenset[Id]
    records: int = 0
    unwritten: int = 0


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
        directory: where views are kept as files, if anywhere.
    """

    def __init__(
        self,
        blocks: Blocks,
        *,
        budget: int = 1 << 30,
        roots: int = 16,
        directory: Path | None = None,
    ) -> None:
        self._blocks = blocks
        self._budget = budget
        self._roots = roots
        self._directory = directory
        self._cached: OrderedDict[_Slot, _Cached] = OrderedDict()
        self._making: dict[_Slot, Lock] = {}
        self._kinds: dict[tuple[Any, Any], ViewBuilder[Any]] = {}
        self._read: set[ViewBuilder[Any]] = set()
        self._lock = Lock()
        renew_after_fork(self)

    def renew(self) -> None:
        """Start empty, as a forked child must."""
        self._cached, self._making, self._kinds, self._lock = OrderedDict(), {}, {}, Lock()
        self._read = set()

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
            self._read.clear()
        for kind in kinds:
            kind.trim()

    def forget_collected(self) -> None:
        """Delete the files of roots that are no longer in the store."""
        if self._files is not None:
            self._files.keep(self._blocks.can.exists)

    @cached_property
    def _files(self) -> "ViewFiles | None":
        from mnemosyne_vcs.views.files import ViewFiles

        return None if self._directory is None else ViewFiles(self._directory)

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
                made = _Cached(kind.empty(), frozenset())
            else:
                made = self._stored(kind, root, self._update(kind, root))
            with self._lock:
                self._cached[slot] = made
        finally:
            self._making.pop(slot, None)
        self._evict(kind)
        return cast("V", made.view)

    def _update(self, kind: ViewBuilder[V], root: Id) -> _Cached:
        lookup, links = self._blocks.node, frozenset(self._blocks.node(root).links)
        while (nearest := self._nearest(kind, links) or self._load(kind, root, links)) is not None:
            known, cached = nearest
            if known == root:
                return cached
            try:
                changes = list(tree.diff(lookup, known, root))
            except NotFoundError:
                # The other root may have been removed from the store; what this one lacks
                # shows when it is read alone.
                with self._lock:
                    self._cached.pop((kind, known), None)
            else:
                view = kind.update(self._blocks, cast("V", cached.view), changes)
                more = sum((before is None) - (after is None) for _, before, after in changes)
                unwritten = cached.unwritten + len(changes)
                return _Cached(view, links, cached.records + more, unwritten)
        added = [(key, None, record) for key, record in tree.entries(self._blocks.nodes, root)]
        view = kind.update(self._blocks, kind.empty(), added)
        return _Cached(view, links, len(added), len(added))

    def _load(
        self, kind: ViewBuilder[Any], root: Id, links: frozenset[Id]
    ) -> tuple[Id, _Cached] | None:
        """The view of the most similar root among those in files, now cached."""
        files = self._files
        if files is None or kind in self._read or not isinstance(kind, StoresViews):
            return None
        self._read.add(kind)
        if (label := kind.label(self._blocks)) is None:
            return None
        common = {each: self._common(each, links) for each in files.roots(label)}
        for each in sorted(common, key=lambda each: (each == root, common[each]), reverse=True):
            stored = files.load(label, each) if common[each] >= 0 else None
            if stored is not None:
                view = kind.unpack(self._blocks, stored.arrays)
                linked = frozenset(self._blocks.node(each).links)
                made = _Cached(view, linked, stored.records)
                with self._lock:
                    self._cached[kind, each] = made
                return each, made
        return None

    def _common(self, root: Id, links: frozenset[Id]) -> int:
        """How many links a root has in common with others; -1 if it is not in the store."""
        try:
            return len(links.intersection(self._blocks.node(root).links))
        except NotFoundError:
            return -1

    def _stored(self, kind: ViewBuilder[Any], root: Id, made: _Cached) -> _Cached:
        """Write a view to a file, if enough of it is new."""
        least = max(_FEWEST_TO_STORE, made.records // _SHARE_TO_STORE)
        files = self._files
        if files is None or made.unwritten < least or not isinstance(kind, StoresViews):
            return made
        if (label := kind.label(self._blocks)) is None:
            return made
        files.save(label, root, made.records, kind.pack(made.view))
        return replace(made, unwritten=0)

    def _nearest(self, kind: ViewBuilder[Any], links: frozenset[Id]) -> tuple[Id, _Cached] | None:
        """The cached root whose node has the most links in common, most recently used first."""
        with self._lock:
            known = [(at, c) for (of, at), c in reversed(self._cached.items()) if of is kind]
        best, most = None, -1
        for at, cached in known:
            common = len(links & cached.links)
            if common > most:
                best, most = (at, cached), common
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

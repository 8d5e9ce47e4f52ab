"""The identity view: from an id that is part of a key to the key."""

from collections.abc import Callable, Mapping
from itertools import chain
from math import isqrt
from sys import getsizeof
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.views.cache import Changes, labelled

if TYPE_CHECKING:
    from mnemosyne_vcs.views.files import Arrays

__all__ = ["IdentityView", "IdentityViewBuilder", "last_part"]

_Keys: TypeAlias = str | tuple[str, ...]
"""The key of an id, or its keys in ascending order if there are several."""

_ENTRY_BYTES = 160
_SMALLEST_DELTA = 64


def last_part(key: str) -> str:
    """The part of a key after the last `/`, or the whole key."""
    return key[key.rfind("/") + 1 :]


class IdentityView:
    """The key of each id.

    Most entries are in a table that many views share; differences from it are in a small table of
    this view's own, where None means that the shared entry is not valid.
    """

    __slots__ = ("_base", "_delta", "_size")

    def __init__(self, base: Mapping[str, _Keys], delta: Mapping[str, _Keys | None]) -> None:
        self._base = base
        self._delta = delta
        self._size = (
            len(base)
            + sum(keys is not None for keys in delta.values())
            - sum(each in base for each in delta)
        )

    def key_of(self, id: str) -> str | None:
        """The key that has the id, the first in order if several have it, or None."""
        keys = self.keys_of(id)
        return keys[0] if keys else None

    def keys_of(self, id: str) -> tuple[str, ...]:
        """Every key that has the id, in ascending order."""
        keys = self._delta[id] if id in self._delta else self._base.get(id)
        return (keys,) if isinstance(keys, str) else keys or ()

    def keys(self) -> list[str]:
        """All keys, in ascending order."""
        held = {**self._base, **self._delta}.values()
        each = ((keys,) if isinstance(keys, str) else keys or () for keys in held)
        return sorted(chain.from_iterable(each))

    def __len__(self) -> int:
        """The number of ids."""
        return self._size

    def sizes(self) -> Mapping[int, int]:
        """An estimate: the tables by their size, the ids and keys in them by an average."""
        return {
            id(table): getsizeof(table) + _ENTRY_BYTES * len(table)
            for table in (self._base, self._delta)
        }

    def edited(self, edits: Mapping[str, tuple[str, ...]]) -> "IdentityView":
        """A view in which some ids have other keys, in ascending order, or no keys."""
        delta = dict(self._delta)
        for each, keys in edits.items():
            delta[each] = keys if len(keys) > 1 else keys[0] if keys else None
        if len(delta) <= max(_SMALLEST_DELTA, isqrt(len(self._base))):
            return IdentityView(self._base, delta)
        merged = {**self._base, **delta}
        return IdentityView({i: keys for i, keys in merged.items() if keys is not None}, {})


class IdentityViewBuilder:
    """Views that find a key by an id in it.

    Args:
        extract: takes the id out of a key.
    """

    def __init__(self, extract: Callable[[str], str] = last_part) -> None:
        self._extract = extract

    def empty(self) -> IdentityView:
        """The view of a tree without records."""
        return IdentityView(MappingProxyType({}), {})

    def update(self, blocks: Blocks, view: IdentityView, changes: Changes) -> IdentityView:
        """The view of another root; reads no block."""
        edits: dict[str, tuple[str, ...]] = {}
        for key, before, after in changes:
            if (before is None) == (after is None):
                continue
            id = self._extract(key)
            held = edits[id] if id in edits else view.keys_of(id)
            edits[id] = _added(held, key) if before is None else _removed(held, key)
        return view.edited(edits) if edits else view

    def label(self, blocks: Blocks) -> str | None:
        """See `StoresViews.label`."""
        return labelled("identity 1", self._extract)

    def pack(self, view: IdentityView) -> "Arrays":
        """See `StoresViews.pack`: the keys say everything."""
        from mnemosyne_vcs.views.keys import pack_keys

        return {"keys": pack_keys(view.keys())}

    def unpack(self, blocks: Blocks, arrays: "Arrays") -> IdentityView:
        """See `StoresViews.unpack`."""
        from mnemosyne_vcs.views.keys import unpack_keys

        keys = unpack_keys(arrays["keys"])
        base: dict[str, _Keys] = dict(zip(map(self._extract, keys), keys, strict=True))
        if len(base) < len(keys):
            several: dict[str, tuple[str, ...]] = {}
            for key in keys:
                id = self._extract(key)
                several[id] = (*several.get(id, ()), key)
            base = {id: each[0] if len(each) == 1 else each for id, each in several.items()}
        return IdentityView(base, {})

    def trim(self) -> None:
        """Nothing to do: shared objects are freed with the last view."""


def _added(held: tuple[str, ...], key: str) -> tuple[str, ...]:
    return tuple(sorted({*held, key})) if held else (key,)


def _removed(held: tuple[str, ...], key: str) -> tuple[str, ...]:
    return tuple(each for each in held if each != key)

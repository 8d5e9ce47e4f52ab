"""Immutable mappings, which can be hashed and pickled."""

from collections.abc import Callable, Hashable
from typing import Any, NoReturn, Self, TypeVar

__all__ = ["FrozenDict", "freeze"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dict that refuses every change; its hash is that of its items, whatever their order."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "this mapping is part of a value and cannot be changed; copy it with dict()"
        )

    __setitem__ = __delitem__ = __ior__ = _refuse  # pyright: ignore[reportAssignmentType]
    clear = pop = popitem = setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(frozenset(self.items()))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (dict(self),)


def freeze(value: object, *names: str) -> None:
    """Make attributes of a frozen dataclass immutable; for its `__post_init__`.

    Args:
        value: the dataclass.
        names: attributes that hold mappings.
    """
    for name in names:
        held = getattr(value, name)
        if not isinstance(held, FrozenDict):
            object.__setattr__(value, name, FrozenDict(held))

"""The `where` of a search: conditions on the content of a record."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.model import Record
from mnemosyne_vcs.values import content_at

__all__ = ["Predicate", "Where", "predicate"]

Predicate: TypeAlias = Callable[[Record], bool]
Where: TypeAlias = Mapping[str, Any] | Predicate
"""Conditions on a record: see `mnemosyne_vcs.views.where.predicate`."""

_Test: TypeAlias = Callable[[Any, Any], bool]


def predicate(where: Where) -> Predicate:
    """Compile conditions into a function of a record.

    Args:
        where: either a callable on the record, or conditions that must all hold, by the path of
            a field in the content (`"plan.tier"`; list items by number). A condition is a value,
            which the field must equal, or a mapping of operators `$eq $ne $gt $gte $lt $lte $in`
            to operands. An absent field matches only `$ne`. 1 equals 1.0 but not true; values of
            different types have no order.

    Raises:
        ValidationError: an operator is unknown, or `$in` has no list; the message names the field.
    """
    if callable(where):
        return where
    tests = [
        (path.split("."), test, operand)
        for path, condition in where.items()
        for test, operand in _conditions(path, condition)
    ]

    def matches(record: Record) -> bool:
        return all(test(content_at(record.content, path), operand) for path, test, operand in tests)

    return matches


def _conditions(path: str, condition: object) -> list[tuple[_Test, object]]:
    if not isinstance(condition, Mapping):
        return [(_equal, condition)]
    operators = cast("Mapping[object, object]", condition)
    if not any(isinstance(name, str) and name.startswith("$") for name in operators):
        return [(_equal, dict(operators))]
    tests: list[tuple[_Test, object]] = []
    for name, operand in operators.items():
        test = _TESTS.get(cast("str", name))
        if test is None:
            raise ValidationError(
                f"where: field {path!r} has the operator {name!r}; known are {', '.join(_TESTS)}"
            )
        if test is _among and not isinstance(operand, list | tuple | set | frozenset):
            raise ValidationError(f"where: $in of field {path!r} takes a list, not {operand!r}")
        tests.append((test, cast("object", operand)))
    return tests


def _equal(value: object, operand: object) -> bool:
    return isinstance(value, bool) == isinstance(operand, bool) and value == operand


def _unequal(value: object, operand: object) -> bool:
    return not _equal(value, operand)


def _among(value: object, operand: Any) -> bool:
    return any(_equal(value, item) for item in operand)


def _ordered(compare: _Test) -> _Test:
    def test(value: object, operand: object) -> bool:
        if isinstance(value, bool) or isinstance(operand, bool):
            return False
        numbers = isinstance(value, int | float) and isinstance(operand, int | float)
        texts = isinstance(value, str) and isinstance(operand, str)
        return (numbers or texts) and compare(value, operand)

    return test


_TESTS: dict[str, _Test] = {
    "$eq": _equal,
    "$ne": _unequal,
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
    "$in": _among,
}

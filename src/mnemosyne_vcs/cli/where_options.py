"""Conditions on the content of records, as `--where FIELD=VALUE`."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from mnemosyne_vcs.views.where import Predicate, predicate

__all__ = ["all_of", "where_option"]

F = TypeVar("F", bound=Callable[..., Any])

_CONDITION = re.compile(r"([^=!<>]+)(!=|>=|<=|=|>|<)(.*)", re.DOTALL)
_OPERATORS = {"=": "$eq", "!=": "$ne", ">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"}


def where_option(function: F) -> F:
    """The option `--where`."""
    return click.option(
        "--where",
        "conditions",
        multiple=True,
        metavar="CONDITION",
        callback=_tests,
        help="Only records with FIELD=VALUE, or != < <= > >=; FIELD is a path such as plan.tier, "
        "VALUE is JSON or a text. May be repeated: all must hold.",
    )(function)


def all_of(tests: Iterable[Predicate]) -> Predicate | None:
    """One test that passes what all tests pass; None if there is none."""
    tests = list(tests)
    return (lambda record: all(test(record) for test in tests)) if tests else None


def _tests(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> list[Predicate]:
    return [_test(condition) for condition in given]


def _test(condition: str) -> Predicate:
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise click.BadParameter(
            f"{condition!r} is not a condition; write FIELD=VALUE, or != < <= > >= for ="
        )
    field, operator, value = found.groups()
    return predicate({field.strip(): {_OPERATORS[operator]: _value(value.strip())}})


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text

"""The tests of repositories that take the fixture `url` or `repo`, on an object store."""

import importlib
import inspect

import pytest

SUITES = [
    "test_repository",
    "test_history",
    "test_log",
    "test_blame",
    "test_revert",
    "test_trace",
    "test_gc",
    "test_merge",
    "test_bisect",
]
pytest.register_assert_rewrite(*SUITES)


def _borrowed():
    """Every test that names one of the fixtures, under its own name and its module's."""
    for suite in SUITES:
        module = importlib.import_module(suite)
        for name, test in inspect.getmembers(module, inspect.isfunction):
            arguments = inspect.signature(test).parameters
            if name.startswith("test_") and {"url", "repo"} & set(arguments):
                yield f"test_{suite.removeprefix('test_')}_{name.removeprefix('test_')}", test


globals().update(_borrowed())


def test_something_is_borrowed():
    assert sum(name.startswith("test_") for name in globals()) > 50

"""Tests of one folder that run in another one, on the engine whose URLs its `conftest.py` gives.

An engine joins with two fixtures: `new_url`, which makes URLs of repositories that do not exist
yet, and `url`, which is one of them. Everything else follows from these.
"""

import importlib
import inspect
from collections.abc import Callable

import pytest

ON_ANY_ENGINE = (
    "test_repository",
    "test_history",
    "test_log",
    "test_blame",
    "test_revert",
    "test_trace",
    "test_gc",
    "test_verify",
    "test_history_index",
    "test_merge",
    "test_bisect",
    "test_concurrency",
    "test_faults",
    "test_repository_state",
)
FIXTURES = {"repo", "url", "new_url", "shared_url", "counted_url"}
pytest.register_assert_rewrite(*ON_ANY_ENGINE)


def borrowed(*modules: str) -> dict[str, Callable[..., None]]:
    """The test functions of modules that take a URL or a repository.

    Args:
        modules: their names; by default all that have some.

    Returns:
        The functions by their names, each with that of its module before it.
    """
    return {
        f"test_{module.removeprefix('test_')}_{name.removeprefix('test_')}": test
        for module in modules or ON_ANY_ENGINE
        for name, test in inspect.getmembers(importlib.import_module(module), inspect.isfunction)
        if name.startswith("test_") and FIXTURES & set(inspect.signature(test).parameters)
    }

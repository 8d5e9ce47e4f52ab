"""Tests of one folder that run in another one, on the engine whose URLs its `conftest.py` gives.

An engine joins with two fixtures: `new_url`, which makes URLs of repositories that do not exist
yet, and `url`, which is one of them. Everything else follows from these.
"""

import importlib
import inspect
from collections.abc import Callable

import pytest

ON_ANY_ENGINE = (
    "repository.test_repository",
    "history.test_history",
    "history.test_log",
    "history.test_blame",
    "merge.test_revert",
    "history.test_trace",
    "maintenance.test_gc",
    "maintenance.test_verify",
    "history.test_history_index",
    "merge.test_merge",
    "history.test_bisect",
    "transaction.test_concurrency",
    "transaction.test_faults",
    "repository.test_interrupts",
    "repository.test_repository_state",
)
FIXTURES = {"repo", "url", "new_url", "shared_url", "counted_url"}
pytest.register_assert_rewrite(*ON_ANY_ENGINE)


def borrowed(*modules: str) -> dict[str, Callable[..., None]]:
    """The test functions of modules that take a URL or a repository.

    Args:
        modules: their names as in `ON_ANY_ENGINE`; by default all that have some.

    Returns:
        The functions by their names, each with that of its module before it.
    """
    return {
        f"test_{module.partition('.test_')[2]}_{name.removeprefix('test_')}": test
        for module in modules or ON_ANY_ENGINE
        for name, test in inspect.getmembers(importlib.import_module(module), inspect.isfunction)
        if name.startswith("test_") and FIXTURES & set(inspect.signature(test).parameters)
    }

"""Scopes are paths: what lies under one, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mnemosyne_vcs.testing.crewai.base import BackendContract, X, hit_ids, ids, make, stored_ids

if TYPE_CHECKING:
    from crewai.memory.storage.backend import StorageBackend

UNDER_AB = {"/a/b", "/a/b/c", "a/b", "//a//b"}
UNDER_A = {"/a", "/a/", "a"} | UNDER_AB
EVERY = {"/", "/ab", "/a-b", "/a_b", "/axb", "/A"} | UNDER_A
UNDER: dict[str | None, set[str]] = {
    None: EVERY,
    "": EVERY,
    "/": EVERY,
    "//": EVERY,
    "/a": UNDER_A,
    "/a/": UNDER_A,
    "a": UNDER_A,
    "//a": UNDER_A,
    "/a/b": UNDER_AB,
    "a/b/": UNDER_AB,
    "/a/b/c": {"/a/b/c"},
    "/a_b": {"/a_b"},
    "/A": {"/A"},
    "/a%": set(),
    "/missing": set(),
}

View = Callable[["StorageBackend", str | None], object]


def searched(backend: StorageBackend, prefix: str | None) -> object:
    """Ids found by search below a prefix."""
    return set(hit_ids(backend.search(X, scope_prefix=prefix, limit=100)))


def listed(backend: StorageBackend, prefix: str | None) -> object:
    """Ids listed below a prefix."""
    return set(ids(backend.list_records(scope_prefix=prefix)))


def counted(backend: StorageBackend, prefix: str | None) -> object:
    """Number of records below a prefix."""
    return backend.count(prefix)


def described(backend: StorageBackend, prefix: str | None) -> object:
    """Number of records that the scope's description states."""
    return backend.get_scope_info(prefix or "/").record_count


def categorised(backend: StorageBackend, prefix: str | None) -> object:
    """Number of records of the one category, below a prefix."""
    return backend.list_categories(prefix).get("all", 0)


class ScopeContract(BackendContract):
    """A scope holds itself and what is below it, and no sibling with a similar name."""

    @pytest.mark.parametrize(
        ("view", "sized"),
        [
            (searched, False),
            (listed, False),
            (counted, True),
            (described, True),
            (categorised, True),
        ],
        ids=["search", "list_records", "count", "get_scope_info", "list_categories"],
    )
    def test_scope_matching(self, backend: StorageBackend, view: View, sized: bool) -> None:
        """Prefixes and scopes match as paths: extra or missing slashes do not matter, case does."""
        backend.save([make(scope, scope=scope, categories=["all"]) for scope in sorted(EVERY)])
        expected = {p: len(under) if sized else under for p, under in UNDER.items()}
        assert {prefix: view(backend, prefix) for prefix in UNDER} == expected

    @pytest.mark.parametrize("prefix", ["/app", "/app/"])
    def test_scope_siblings(self, backend: StorageBackend, prefix: str) -> None:
        """A scope does not match its siblings by string prefix: /app is not /apple.

        Reported: https://github.com/crewAIInc/crewAI/issues/7543
        """
        scopes = {"1": "/app", "2": "/app/x", "3": "/apple", "4": "/app-b", "5": "/app_b"}
        backend.save([make(i, scope=s, categories=[s]) for i, s in scopes.items()])
        assert backend.count(prefix) == 2
        assert set(ids(backend.list_records(scope_prefix=prefix))) == {"1", "2"}
        assert set(hit_ids(backend.search(X, scope_prefix=prefix))) == {"1", "2"}
        assert backend.list_categories(prefix) == {"/app": 1, "/app/x": 1}
        assert backend.get_scope_info(prefix).record_count == 2
        assert backend.list_scopes(prefix) == ["/app/x"]

    def test_delete_spares_siblings(self, backend: StorageBackend) -> None:
        """Deleting a scope spares the root's records and its siblings.

        Reported: https://github.com/crewAIInc/crewAI/pull/6535
        """
        scopes = {"1": "/app", "2": "/app/x", "3": "/apple", "4": "/app-b", "5": "/"}
        backend.save([make(i, scope=s) for i, s in scopes.items()])
        assert backend.delete(scope_prefix="/app") == 2
        assert stored_ids(backend) == {"3", "4", "5"}

    def test_reset_spares_siblings(self, backend: StorageBackend) -> None:
        """Resetting a scope spares siblings whose names sort before a slash.

        Reported: https://github.com/crewAIInc/crewAI/pull/6459
        """
        scopes = {"1": "/team", "2": "/team/x", "3": "/team-b", "4": "/team!", "5": "/teams"}
        backend.save([make(i, scope=s) for i, s in scopes.items()])
        backend.reset("/team")
        assert stored_ids(backend) == {"3", "4", "5"}

    @pytest.mark.parametrize("prefix", ["team", "/team/", "//team"])
    def test_reset_matching(self, backend: StorageBackend, prefix: str) -> None:
        """Resetting and deleting match scopes as searching does."""
        backend.save([make("1", scope="/team"), make("2", scope="team/x"), make("3", scope="/t")])
        backend.reset(prefix)
        assert stored_ids(backend) == {"3"}
        backend.save([make("1", scope="/team"), make("2", scope="//team//x")])
        assert backend.delete(scope_prefix=prefix) == 2
        assert stored_ids(backend) == {"3"}

    def test_scope_info(self, backend: StorageBackend) -> None:
        """A scope's description covers it and all below: count, categories, span, children."""
        first, last = datetime(2024, 1, 1), datetime(2024, 6, 1, 12, 30, 0, 5)
        backend.save(
            [
                make("1", scope="/org", categories=["z"], created_at=datetime(2024, 3, 1)),
                make("2", scope="/org/b/deep", categories=["a", "z"], created_at=first),
                make("3", scope="/org/a", categories=["m"], created_at=last),
                make("4", scope="/other", categories=["o"], created_at=datetime(2023, 1, 1)),
            ]
        )
        info = backend.get_scope_info("/org/")
        assert (info.path, info.record_count) == ("/org", 3)
        assert info.categories == ["a", "m", "z"]
        assert (info.oldest_record, info.newest_record) == (first, last)
        assert info.child_scopes == ["/org/a", "/org/b"]

    def test_scope_info_root(self, backend: StorageBackend) -> None:
        """The root's description covers the whole store."""
        backend.save([make("1", scope="/"), make("2", scope="/b/c"), make("3", scope="/a")])
        info = backend.get_scope_info("/")
        assert (info.path, info.record_count, info.child_scopes) == ("/", 3, ["/a", "/b"])

    @pytest.mark.parametrize("filled", [False, True], ids=["empty store", "other scopes"])
    def test_scope_info_unknown(self, backend: StorageBackend, filled: bool) -> None:
        """An unknown scope is described by zeros, not by an error."""
        if filled:
            backend.save([make("a", scope="/a")])
        info = backend.get_scope_info("/missing")
        assert (info.path, info.record_count, info.categories) == ("/missing", 0, [])
        assert (info.oldest_record, info.newest_record, info.child_scopes) == (None, None, [])

    def test_scope_info_mixed_zones(self, backend: StorageBackend) -> None:
        """Aware and naive datetimes mix in a scope's span.

        Reported: https://github.com/crewAIInc/crewAI/issues/7529
        """
        naive, aware = datetime(2024, 1, 1), datetime(2024, 2, 1, tzinfo=UTC)
        backend.save([make("1", created_at=naive), make("2", created_at=aware)])
        info = backend.get_scope_info("/")
        assert (info.oldest_record, info.newest_record) == (naive, datetime(2024, 2, 1))

    def test_children(self, backend: StorageBackend) -> None:
        """Child scopes are full paths, one level down, sorted, also where only deeper rows lie."""
        for scope in ("/", "/b", "/a/x/deep", "/a/y", "/a", "/ab"):
            backend.save([make(scope, scope=scope)])
        expected = {
            "/": ["/a", "/ab", "/b"],
            "": ["/a", "/ab", "/b"],
            "/a": ["/a/x", "/a/y"],
            "/a/": ["/a/x", "/a/y"],
            "/a/x": ["/a/x/deep"],
            "/b": [],
            "/missing": [],
        }
        assert {parent: backend.list_scopes(parent) for parent in expected} == expected

    def test_children_unnormalised(self, backend: StorageBackend) -> None:
        """Scopes with missing or extra slashes have normal children."""
        backend.save([make("1", scope="a/b"), make("2", scope="//a//c"), make("3", scope="/a/d/")])
        assert backend.list_scopes("/") == ["/a"]
        assert backend.list_scopes("a") == ["/a/b", "/a/c", "/a/d"]

    def test_children_follow_deletion(self, backend: StorageBackend) -> None:
        """A scope without records is not a child any more."""
        backend.save([make("1", scope="/a/x"), make("2", scope="/b")])
        backend.delete(record_ids=["1"])
        assert backend.list_scopes() == ["/b"]

    def test_categories(self, backend: StorageBackend) -> None:
        """Categories are counted by record, in the whole store or below a scope."""
        backend.save(
            [
                make("1", scope="/a", categories=["red", "blue"]),
                make("2", scope="/a/b", categories=["red"]),
                make("3", scope="/c", categories=["red", "it's"]),
                make("4", scope="/a"),
            ]
        )
        assert backend.list_categories() == {"red": 3, "blue": 1, "it's": 1}
        assert backend.list_categories("/a") == {"red": 2, "blue": 1}
        assert backend.list_categories("/missing") == {}

    def test_categories_follow_updates(self, backend: StorageBackend) -> None:
        """Category counts follow updates and deletions."""
        backend.save([make("1", categories=["old"]), make("2", categories=["old"])])
        backend.update(make("1", categories=["new"]))
        assert backend.list_categories() == {"old": 1, "new": 1}
        backend.delete(record_ids=["2"])
        assert backend.list_categories() == {"new": 1}

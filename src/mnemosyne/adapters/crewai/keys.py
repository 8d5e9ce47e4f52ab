"""Scopes and record ids as keys: `{scope}/{record id}`, CrewAI's own path."""

import re
from urllib.parse import unquote

__all__ = ["child_scopes", "key_for", "prefix_of", "record_id_of", "scope_path"]

_RESERVED = re.compile("[/%\x00-\x1f\x7f-\x9f]")


def scope_path(scope: str | None) -> str:
    """A scope in one form: `//a/b/` and `a/b` are `/a/b`, and the top is empty."""
    return "".join(f"/{part}" for part in (scope or "").split("/") if part)


def prefix_of(scope: str | None) -> str:
    """What the keys of all records at or below a scope start with."""
    return "".join(f"/{_quote(part)}" for part in (scope or "").split("/") if part) + "/"


def key_for(scope: str, record_id: str) -> str:
    """The key of a record."""
    return prefix_of(scope) + _quote(record_id)


def record_id_of(key: str) -> str:
    """The record id in a key."""
    return unquote(key[key.rfind("/") + 1 :])


def child_scopes(scopes: list[str], parent: str) -> list[str]:
    """The scopes right below a parent at or below which there is one of the given, sorted.

    Args:
        scopes: scopes as `scope_path` gives them.
        parent: likewise.
    """
    above = parent + "/"
    below = (scope[len(above) :] for scope in scopes if scope.startswith(above))
    return sorted({above + rest.partition("/")[0] for rest in below})


def _quote(part: str) -> str:
    return _RESERVED.sub(lambda found: "".join(f"%{b:02X}" for b in found[0].encode()), part)

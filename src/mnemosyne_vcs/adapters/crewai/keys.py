"""Scopes and record ids as keys: `{scope}/{record id}`, CrewAI's own path."""

import re
from functools import lru_cache
from urllib.parse import unquote

__all__ = [
    "ROOT",
    "child_scopes",
    "key_for",
    "mended",
    "prefix_of",
    "record_id_of",
    "scope_of",
    "scope_path",
]

ROOT = "/"
"""The start of all keys of CrewAI's, and of no others."""

_RESERVED = re.compile("[/%\x00-\x1f\x7f-\x9f]")


def mended(text: str) -> str:
    """A text that can be stored: half a character, a lone surrogate, becomes U+FFFD.

    Models sometimes cut an emoji in two; two halves in a row are joined again.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def scope_path(scope: str | None) -> str:
    """A scope in one form: `//a/b/` and `a/b` are `/a/b`, and the top is empty."""
    return "".join(f"/{part}" for part in mended(scope or "").split("/") if part)


@lru_cache(4096)
def prefix_of(scope: str | None) -> str:
    """The start of the keys of all records at or below a scope."""
    return "".join(f"/{_quote(part)}" for part in mended(scope or "").split("/") if part) + ROOT


def key_for(scope: str, record_id: str) -> str:
    """The key of a record."""
    return prefix_of(scope) + _quote(record_id)


def record_id_of(key: str) -> str:
    """The record id in a key."""
    return unquote(key[key.rfind("/") + 1 :])


def scope_of(key: str, stored: str) -> str | None:
    """The scope of the record under a key.

    Args:
        key: the key.
        stored: the scope that the record names. It is returned unchanged if it is that of
            the key; a record that was moved to another key is in the scope of that key.

    Returns:
        The scope, or None if the key is not one that `key_for` makes.
    """
    prefix, last = key[: key.rfind("/") + 1], key[key.rfind("/") + 1 :]
    if "%" in last and _quote(unquote(last)) != last:
        return None
    if prefix == prefix_of(stored):
        return stored
    scope = unquote(prefix[:-1]) or ROOT
    return scope if prefix == prefix_of(scope) else None


def child_scopes(scopes: list[str], parent: str) -> list[str]:
    """The scopes directly below a parent that contain one of the given scopes, sorted.

    Args:
        scopes: scopes as `scope_path` gives them.
        parent: a scope in the same form.
    """
    above = parent + "/"
    below = (scope[len(above) :] for scope in scopes if scope.startswith(above))
    return sorted({above + rest.partition("/")[0] for rest in below})


def _quote(part: str) -> str:
    return _RESERVED.sub(lambda found: "".join(f"%{b:02X}" for b in found[0].encode()), part)

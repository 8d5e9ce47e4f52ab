"""The ordered Merkle map from key to record. Pure functions over a lookup of nodes."""

from mnemosyne_vcs.tree.edit import EMPTY_BLOCK, EMPTY_ROOT, Edit, Lookup, edit
from mnemosyne_vcs.tree.read import (
    after,
    build,
    children,
    count,
    diff,
    entries,
    get,
    get_many,
    replaced,
    scan,
    walk,
)

__all__ = [
    "EMPTY_BLOCK",
    "EMPTY_ROOT",
    "Edit",
    "Lookup",
    "after",
    "build",
    "children",
    "count",
    "diff",
    "edit",
    "entries",
    "get",
    "get_many",
    "replaced",
    "scan",
    "walk",
]

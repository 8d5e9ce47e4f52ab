"""Bytes of the tree nodes that a commit of one record writes."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

from benchmarks import data

if TYPE_CHECKING:
    from collections.abc import Callable


def commit_blocks(size: int, commits: int) -> dict[str, list[float]]:
    """New node bytes of ``commits`` inserts, and of as many updates, in a tree of ``size`` records.

    Keys are those of the CrewAI backend: the scope, then the record's id.
    """
    from mnemosyne_vcs.format.objects import object_id
    from mnemosyne_vcs.tree import build, edit

    keys = [_key(row) for row in range(size + commits)]
    tree = build({key: object_id(key.encode()) for key in keys[:size]})
    nodes = dict(tree.nodes)

    def written(change: Callable[[int], tuple[str, bytes]]) -> list[float]:
        root, sizes = tree.root, []
        for number in range(commits):
            key, value = change(number)
            made = edit(nodes.__getitem__, root, {key: object_id(value)})
            root = made.root
            nodes.update(made.nodes)
            sizes.append(float(sum(map(len, made.blocks.values()))))
        return sizes

    chosen = random.Random(data.SEED).choices(keys[:size], k=commits)
    return {
        "tree_insert": written(lambda n: (keys[size + n], b"inserted")),
        "tree_update": written(lambda n: (chosen[n], hashlib.sha256(b"%d" % n).digest())),
    }


def _key(row: int) -> str:
    return f"{data.SCOPES[row % 10].removeprefix('/')}/{data.record_id(row)}"

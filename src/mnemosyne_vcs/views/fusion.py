"""One ranking of several, by the reciprocal ranks of Cormack, Clarke and Büttcher (2009)."""

from collections.abc import Iterable

__all__ = ["DEPTH", "fused"]

_SHARE = 60
DEPTH = 200
"""How many of each ranking count, at least."""


def fused(rankings: Iterable[Iterable[str]]) -> list[tuple[str, float]]:
    """Keys by the sum of `1 / (60 + rank)` over the rankings that have them; ranks begin with 1.

    Args:
        rankings: keys, the best first, each once.

    Returns:
        `(key, score)`, the greatest score first and equal ones by key.
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (_SHARE + rank)
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))

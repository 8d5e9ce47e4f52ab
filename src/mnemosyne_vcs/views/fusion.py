"""One ranking of several: by their greatest scores, or by reciprocal ranks.

The latter are those of Cormack, Clarke and Büttcher (2009).
"""

from collections.abc import Iterable

__all__ = ["DEPTH", "fused", "highest"]

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


def highest(rankings: Iterable[Iterable[tuple[str, float]]], limit: int) -> list[tuple[str, float]]:
    """The keys with the greatest scores, each by the greatest that any of the rankings gives it.

    If each ranking has the `limit` best of its own, equal ones by key, the result is exact: fewer
    than `limit` keys come before one of the result in the ranking that gives it its score, so it
    is in that.

    Args:
        rankings: `(key, score)`, each key once.
        limit: how many to return at most.

    Returns:
        `(key, score)`, the greatest score first and equal ones by key.
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for key, score in ranking:
            scores[key] = max(score, scores.get(key, score))
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]

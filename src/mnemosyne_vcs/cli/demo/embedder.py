"""An embedder that needs no model: texts that share words and word parts are near each other."""

import hashlib
import math
import re
from collections import Counter

__all__ = ["DIMENSION", "embed"]

DIMENSION = 256
_PART = 4


def embed(texts: list[str]) -> list[list[float]]:
    """Embed texts by hashing their words and word parts; the same text, the same vector.

    Args:
        texts: what to embed.

    Returns:
        One vector of `DIMENSION` numbers and length 1 for each text (all zeros for a text
        without words).
    """
    return [_embed(text) for text in texts]


def _embed(text: str) -> list[float]:
    vector = [0.0] * DIMENSION
    for feature, count in _features(text).items():
        digest = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest())
        sign = 1.0 if digest & 1 else -1.0
        vector[(digest >> 1) % DIMENSION] += sign * math.sqrt(count)
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector] if length else vector


def _features(text: str) -> Counter[str]:
    words = re.findall(r"\w+", text.lower())
    parts = (
        f"~{padded[i : i + _PART]}"
        for padded in (f"<{word}>" for word in words)
        for i in range(len(padded) - _PART + 1)
    )
    return Counter([*words, *parts])

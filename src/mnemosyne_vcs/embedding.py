"""Vectors as callers give them: numbers, or text that a repository's `embed` turns into numbers."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from mnemosyne_vcs.batches import batches
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.format.objects import vector_floats

if TYPE_CHECKING:
    from mnemosyne_vcs.model import Vector

__all__ = ["Embed", "VectorLike", "embed_all", "floats_of"]

VectorLike: TypeAlias = Union[Sequence[float], "Vector", str]
"""A vector as a sequence of numbers or an array of shape `(dimension,)`, or text to embed."""

Embed: TypeAlias = Callable[[list[str]], Sequence[Any]]
"""Turns texts into vectors, one each."""

_BATCH = 128


def floats_of(value: VectorLike, what: str, embed: Embed | None) -> bytes:
    """A vector as the bytes of its float32 numbers.

    Args:
        value: the vector, or the text to embed.
        what: what it is, for messages.
        embed: turns texts into vectors, if the repository can.

    Raises:
        ValidationError: it is not a vector, or it is text and there is no `embed`.
    """
    if isinstance(value, str):
        value = embed_all(_required(embed, what), [value])[value]
    return vector_floats(value, what)


def embed_all(embed: Embed, texts: Iterable[str]) -> dict[str, Any]:
    """The vector of each text; each is embedded once, many in one call.

    Raises:
        ValidationError: `embed` gave another number of vectors than of texts.
    """
    new, found = list(dict.fromkeys(texts)), dict[str, Any]()
    for batch in batches(new, _BATCH):
        vectors = embed(batch)
        if len(vectors) != len(batch):
            raise ValidationError(
                f"embed gave {len(vectors)} vectors for {len(batch)} texts; "
                "it must give one for each"
            )
        found.update(zip(batch, vectors, strict=True))
    return found


def _required(embed: Embed | None, what: str) -> Embed:
    if embed is None:
        raise ValidationError(f"{what} is text, and the repository was opened without `embed`")
    return embed

"""Re-embedding: giving the records of a branch the vectors of another model."""

import json
from collections.abc import Callable
from typing import Any

from mnemosyne_vcs.embedding import Embed, embed_all
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.model import Record
from mnemosyne_vcs.transaction.transaction import Transaction

__all__ = ["Reembedding", "text_of"]


def text_of(record: Record) -> str:
    """What to embed of a record: its content if that is a text, else the content as JSON."""
    content = record.content
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


class Reembedding:
    """One change of model. A text is embedded once, however often the transaction is tried.

    Args:
        embed: turns a list of texts into vectors, one each.
        vector: the name of the vectors to replace.
        embedder: id of the model.
        text: what to embed of a record; None leaves the record as it is.
    """

    def __init__(
        self,
        embed: Embed,
        vector: str,
        embedder: str | None,
        text: Callable[[Record], str | None],
    ) -> None:
        self._embed = embed
        self._vector = vector
        self._embedder = embedder
        self._text = text
        self._known: dict[str, Any] = {}

    def write(self, transaction: Transaction, prefix: str) -> int:
        """Replace the vectors of all records below a prefix that have one.

        Args:
            transaction: what to do it in.
            prefix: what the keys start with.

        Returns:
            Of how many records.

        Raises:
            ValidationError: what is to be embedded is not a text, or the model has not given one
                vector for each.
        """
        found: list[tuple[Record, str]] = []
        for record in transaction.scan(prefix):
            text = self._text(record) if self._vector in record.vectors else None
            if text is not None:
                found.append((record, _checked(text, record.key)))
        new = (text for _, text in found if text not in self._known)
        self._known.update(embed_all(self._embed, new))
        for record, text in found:
            kept = {name: record.vectors[name] for name in record.vectors if name != self._vector}
            transaction.put(
                record.key,
                record.content,
                vectors={**kept, self._vector: self._known[text]},
                embedder=self._embedder,
                provenance=record.provenance,
                event_time=record.event_time,
            )
        return len(found)


def _checked(text: object, key: str) -> str:
    if isinstance(text, str):
        return text
    raise ValidationError(
        f"text gave a {type(text).__name__} for {key!r}; it must give a string, or None to leave "
        "the record as it is"
    )

"""Re-embedding: replacing the vectors of a branch by those of another model."""

import json
from collections.abc import Callable
from typing import Any

from mnemosyne_vcs.embedding import Embed, embed_all
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.model import Record
from mnemosyne_vcs.transaction.transaction import Transaction

__all__ = ["Reembedding", "text_of"]


def text_of(record: Record) -> str:
    """The text to embed for a record: its content if that is text, else the content as JSON."""
    content = record.content
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


class Reembedding:
    """A change of model. Each text is embedded once, even if the transaction is tried again.

    Args:
        embed: turns a list of texts into vectors, one each.
        vector: the name of the vectors to replace.
        embedder: id of the model.
        text: returns the text to embed for a record; None leaves the record as it is.
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
            transaction: the transaction.
            prefix: what the keys start with.

        Returns:
            The number of records that were changed.

        Raises:
            ValidationError: `text` did not return a string, or the model did not return one vector
                for each text.
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
        f"text returned a {type(text).__name__} for {key!r}; it must return a string, or None to "
        "leave the record as it is"
    )

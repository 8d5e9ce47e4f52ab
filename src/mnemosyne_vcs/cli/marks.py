"""Texts with what was found in them marked."""

from mnemosyne_vcs.cli.output import Part, Styled
from mnemosyne_vcs.model import Record
from mnemosyne_vcs.views.matches import Spans, excerpt, places_of
from mnemosyne_vcs.views.query import Unit
from mnemosyne_vcs.views.words import Path, texts

__all__ = ["found_in", "marked"]

WIDTH = 160


def marked(text: str, spans: Spans, style: str | None = None) -> list[Part]:
    """A text as parts of a line, in which the spans are marked.

    Args:
        text: the text.
        spans: the places to mark.
        style: the style of the rest.
    """
    pieces: list[Part] = []
    begin = 0
    for start, stop in (*spans, (len(text), len(text))):
        if begin < start:
            rest = text[begin:start]
            pieces.append(rest if style is None else Styled(rest, style))
        if start < stop:
            pieces.append(Styled(text[start:stop], "match"))
        begin = stop
    return pieces


def found_in(record: Record, query: tuple[Unit, ...]) -> list[tuple[Path, str, Spans]]:
    """The texts of a record that have something of a query.

    Args:
        record: the record.
        query: what `parse_query` gave.

    Returns:
        `(path, text, spans)` of each; long texts are cut to a part that has the most of it, and
        line breaks are spaces.
    """
    found: list[tuple[Path, str, Spans]] = []
    for path, text in texts(record.key, record.content):
        flat = text if path is None else " ".join(text.split())
        if spans := places_of(query, flat):
            found.append((path, *((flat, spans) if path is None else excerpt(flat, spans, WIDTH))))
    return found

"""Where texts and words are in a record: for `find`, and to show what a search found."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

from mnemosyne_vcs.model import Record, TextMatch
from mnemosyne_vcs.views.query import Phrase, Unit
from mnemosyne_vcs.views.words import folded, parts, texts, words_in_place

__all__ = ["Spans", "excerpt", "lines_with", "places_of"]

Spans: TypeAlias = Sequence[tuple[int, int]]
"""Pieces of a text: `(start, stop)` of each, in order, none in another."""


def lines_with(pattern: re.Pattern[str], record: Record) -> Iterator[TextMatch]:
    """The lines of a record in which a pattern is, those of its key first.

    Args:
        pattern: what to look for; it matches no empty text.
        record: where.
    """
    for path, text in texts(record.key, record.content):
        found = [(_line_around(text, *each.span()), each.span()) for each in pattern.finditer(text)]
        for (first, last), spans in groupby(found, itemgetter(0)):
            within = tuple((start - first, stop - first) for _, (start, stop) in spans)
            number = text.count("\n", 0, first) + 1
            yield TextMatch(record, path, number, text[first:last], within)


def _line_around(text: str, start: int, stop: int) -> tuple[int, int]:
    end = text.find("\n", stop)
    return text.rfind("\n", 0, start) + 1, len(text) if end < 0 else end


def places_of(units: Iterable[Unit], text: str) -> Spans:
    """Where what a query looks for is in a text.

    Args:
        units: what `parse_query` gave.
        text: the text.
    """
    found = list(words_in_place(text))
    plain = [folded(word) for *_, word in found]
    marked: list[tuple[int, int]] = []
    for unit in units:
        for phrase in unit:
            for at in _occurrences(phrase, plain):
                marked.append((found[at][0], found[at + len(phrase) - 1][1]))
            marked += [
                (start, stop)
                for start, stop, word in found
                if any(True for _ in _occurrences(phrase, parts(word)))
            ]
    return _joined(marked)


def _occurrences(phrase: Phrase, words: Sequence[str]) -> Iterator[int]:
    for at in range(len(words) - len(phrase) + 1):
        if all(element.matches(words[at + n]) for n, element in enumerate(phrase)):
            yield at


def _joined(spans: Iterable[tuple[int, int]]) -> Spans:
    """The spans in order; those that overlap or touch are one."""
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return joined


def excerpt(text: str, spans: Spans, width: int) -> tuple[str, Spans]:
    """The part of a text that has the most spans in it.

    Args:
        text: the text.
        spans: places in it, one or more.
        width: about how many characters to show.

    Returns:
        The part, with `…` where something is left out, and the spans in it.
    """
    if len(text) <= width:
        return text, spans

    def seen(start: int) -> int:
        return sum(start <= each[0] and each[1] <= start + width for each in spans)

    lead = width // 4
    starts = [max(0, min(start - lead, len(text) - width)) for start, _ in spans]
    begin = max(starts, key=lambda start: (seen(start), -start))
    end = begin + width
    begin += text[begin].isspace()
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    shift = len(before) - begin
    inside = [
        (max(start, begin) + shift, min(stop, end) + shift)
        for start, stop in spans
        if start < end and stop > begin
    ]
    return f"{before}{text[begin:end]}{after}", inside

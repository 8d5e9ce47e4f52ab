"""A query for words: any text is one.

Each word counts, and none is required. What is written without a space is searched as a phrase:
`refund-over-200` finds those words one after the other, however they are joined. `"over 200"` is
a phrase, and `refun*` is every word that begins so.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from mnemosyne_vcs.views.words import folded, is_unspaced, parts, words

__all__ = ["Element", "Phrase", "Unit", "parse_query"]

_PIECE = re.compile(r'"([^"]*)"|“([^”]*)”|([^\s"“”]+)')


@dataclass(frozen=True, slots=True)
class Element:
    """One place in a phrase.

    Attributes:
        word: the word, without case and accents.
        is_prefix: whether longer words that start with it are found too.
    """

    word: str
    is_prefix: bool = False

    def matches(self, word: str) -> bool:
        """Whether it stands for a word without case and accents."""
        return word.startswith(self.word) if self.is_prefix else word == self.word


Phrase: TypeAlias = tuple[Element, ...]
"""Words that follow each other."""

Unit: TypeAlias = tuple[Phrase, ...]
"""What counts once: one or more spellings of one thing."""


def parse_query(text: str) -> tuple[Unit, ...]:
    """What to look for, each thing once, in the order of the text.

    Args:
        text: any text; none is invalid.
    """
    units: dict[Unit, None] = {}
    for piece in _PIECE.finditer(text):
        straight, curly, chunk = piece.groups()
        if chunk is None:
            quoted = straight if curly is None else curly
            found = [_spelt([each for part in quoted.split() for each in _elements(part)])]
        else:
            found = _units(_elements(chunk))
        units.update((unit, None) for unit in found if unit)
    return tuple(units)


_Cased: TypeAlias = tuple[str, bool]


def _elements(chunk: str) -> list[_Cased]:
    """The words of a chunk in their case, and whether each is a prefix."""
    found = words(chunk)
    last = len(found) - 1 if chunk.endswith("*") else -1
    return [(word, number == last) for number, word in enumerate(found)]


def _units(elements: Sequence[_Cased]) -> Iterable[Unit]:
    """A phrase for each run of words, and for a run of characters one for each pair of them."""
    for unspaced, run in groupby(elements, lambda each: is_unspaced(each[0])):
        found = list(run)
        if unspaced and len(found) > 2:
            yield from (_spelt(found[at : at + 2]) for at in range(len(found) - 1))
        else:
            yield _spelt(found)


def _spelt(elements: Sequence[_Cased]) -> Unit:
    """The phrase of whole words and, if they have parts, that of the parts."""
    if not elements:
        return ()
    whole = tuple(Element(folded(word), prefix) for word, prefix in elements)
    divided: list[Element] = []
    for word, prefix in elements:
        found = parts(word) or [folded(word)]
        divided += [Element(part) for part in found[:-1]]
        divided.append(Element(found[-1], prefix))
    return (whole,) if len(divided) == len(whole) else (whole, tuple(divided))

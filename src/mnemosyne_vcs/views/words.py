"""The words of a text, in any script, and the texts of a record.

A word is a run of letters, digits and their marks. Case and accents do not matter, and neither do
the many forms of one character (full width, ligatures). In scripts that are written without
spaces, each character is a word, and an emoji is one too. Words that are written together with
capitals, such as `getUserName`, also have parts.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias, cast
from unicodedata import category, combining, normalize

from mnemosyne_vcs.model import JSON

__all__ = [
    "Path",
    "folded",
    "is_unspaced",
    "parts",
    "plain_words",
    "texts",
    "words",
    "words_in_place",
]

Path: TypeAlias = str | None
"""Where a text is: the path in the content, as in `where`, or None for the key."""

_LONGEST_OF_PARTS = 64
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_SPACED_OUT = {code: " " for code in range(128) if not chr(code).isalnum()}
_FOLDED = bytes(
    ord(chr(code).lower()) if not code or chr(code).isalnum() else ord(" ") for code in range(128)
).ljust(256)
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WITH_PARTS = re.compile(r"[A-Z](?:(?<=[a-z].)|[A-Z][a-z])")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u1950-\u19df\u1a20-\u1aad\u2e80-\u2fdf\u3005-\u3007"
    "\u3021-\u302f\u3031-\u303c\u3041-\u309f\u30a1-\u30fa\u30fc-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\ua4cf\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaadf\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00016fe0-\U0001b2ff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Tai, Chinese, Japanese, Korean and Yi characters."""
_RUN = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_BETWEEN_WORDS = re.compile("[\x00-/:-@\\[-`{-\xa0·՟״։،؍٬߸‘’․‧‿⁀⁄⁔]+")
"""What may stand inside a word by the rules of Unicode, but divides words here."""


def texts(key: str, content: JSON) -> list[tuple[Path, str]]:
    """The texts of a record: its key, then each name, string and number of its content.

    They are in the order of the content, each name before its value.

    Args:
        key: the key of the record.
        content: its content.
    """
    found: list[tuple[Path, str]] = [(None, key)]
    _collect(content, "", found)
    return found


def _collect(value: JSON, path: str, found: list[tuple[Path, str]]) -> None:
    if isinstance(value, str):
        found.append((path, value))
    elif isinstance(value, dict):
        for name, each in cast("dict[str, JSON]", value).items():
            below = f"{path}.{name}" if path else name
            found.append((below, name))
            _collect(each, below, found)
    elif isinstance(value, list):
        for number, each in enumerate(cast("list[JSON]", value)):
            _collect(each, f"{path}.{number}" if path else str(number), found)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found.append((path, repr(value)))


def words(chunk: str) -> list[str]:
    """The words of a text without spaces, in order, without accents but in their case.

    Args:
        chunk: one of the pieces that `str.split` gives.
    """
    if chunk.isascii():
        return chunk.translate(_SPACED_OUT).split()
    return [word for _, _, word in _words_of(chunk)]


def plain_words(text: str) -> list[str] | None:
    """All words of a text, without case, if that is simple: it is ASCII, and no word has parts.

    Args:
        text: the text; NUL characters are words of it.
    """
    if not text.isascii() or _WITH_PARTS.search(text):
        return None
    return text.encode().translate(_FOLDED).decode().split()


def words_in_place(text: str) -> Iterator[tuple[int, int, str]]:
    """The words of a text, as `words` gives them, and where each is: `(start, stop, word)`.

    Args:
        text: any text.
    """
    for chunk in re.finditer(r"\S+", text):
        begin = chunk.start()
        for start, stop, word in _words_of(chunk[0]):
            yield begin + start, begin + stop, word


folded = str.casefold
"""A word of `words` without its case: what is compared."""


def parts(word: str) -> list[str]:
    """The parts of a word of `words` that begin with capitals, without case; none if it is whole.

    `getHTTPResponse` has the parts `get`, `http`, `response`.
    """
    if len(word) > _LONGEST_OF_PARTS or not _CAPITAL.search(word):
        return []
    return [part.casefold() for part in _CAPITAL.split(word)]


def is_unspaced(word: str) -> bool:
    """Whether a word is one character of a script that is written without spaces."""
    return _IS_UNSPACED.match(word) is not None


def _words_of(chunk: str) -> Iterator[tuple[int, int, str]]:
    if chunk.isascii():
        for found in _ASCII_WORD.finditer(chunk):
            yield found.start(), found.end(), found[0]
        return
    for run in _RUN.finditer(chunk):
        if is_unspaced(run[0]):
            yield from _characters(run)
        else:
            yield from _spaced_words(run)


def _characters(run: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    plain = _plain(run[0])
    each_in_place = len(plain) == len(run[0])
    for number, character in enumerate(plain):
        if category(character)[0] not in "LMN":
            continue
        if each_in_place:
            start = run.start() + number
            yield start, start + 1, character
        else:
            yield run.start(), run.end(), character


def _spaced_words(run: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    from apsw.unicode import word_iter_with_offsets

    found = word_iter_with_offsets(run[0], emoji=True, regional_indicator=True)
    for first, last, word in cast("Iterator[tuple[int, int, str]]", found):
        for part in _BETWEEN_WORDS.split(_plain(word)):
            if part:
                yield run.start() + first, run.start() + last, part


def _plain(text: str) -> str:
    """Compatible characters as one, without accents and without what is never seen."""
    kept = (character for character in normalize("NFKD", text) if not _is_dropped(character))
    return normalize("NFC", "".join(kept))


def _is_dropped(character: str) -> bool:
    """Whether it is an accent or point above or below a letter, a variant selector or the like.

    The classes of combining characters tell accents from vowels, which stay.
    """
    if character.isascii():
        return False
    place = combining(character)
    if place:
        return 10 <= place <= 36 or 200 <= place <= 240
    return "\ufe00" <= character <= "\ufe0f" or category(character) == "Cf"

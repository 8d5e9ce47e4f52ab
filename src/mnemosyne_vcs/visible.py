"""Text from elsewhere, drawn so that all of it is seen and none of it steers what is around it.

A line break in a record must not begin a line of the program's own, a mark for the direction of
writing must not turn one around, and what takes no room must not make two different texts look
alike.
"""

import re
import unicodedata

__all__ = ["printable", "printable_json"]

_HIDDEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # controls
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # direction, ends of lines and paragraphs
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # without width, as above
    "\ud800-\udfff"  # halves of characters
    "]"
)
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_IN_EMOJI = {"\u200d", "\ufe0e", "\ufe0f"}


def printable(text: str) -> str:
    r"""The text on one line, with what cannot be seen drawn as `\n`, `\u202e` and the like."""
    return _HIDDEN.sub(_drawn, text)


def printable_json(text: str) -> str:
    """JSON with the same characters escaped as JSON does; its own line breaks stay."""
    return _HIDDEN.sub(_drawn_in_json, text)


def _drawn(found: re.Match[str]) -> str:
    character, code = found[0], ord(found[0])
    if _belongs_to_emoji(found):
        return character
    return _SHORT.get(character) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def _drawn_in_json(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\n" or _belongs_to_emoji(found):
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _belongs_to_emoji(found: re.Match[str]) -> bool:
    """Whether it joins or varies the emoji before it, which stay as they are."""
    if found[0] not in _IN_EMOJI or not found.start():
        return False
    before = found.string[found.start() - 1]
    return unicodedata.category(before) in ("So", "Sk") or (
        found[0] == "\u200d" and before == "\ufe0f" and found.start() > 1
    )

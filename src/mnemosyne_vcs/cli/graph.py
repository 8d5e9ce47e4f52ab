"""Drawing the commit graph with characters, beside the text of each commit."""

import sys
from collections.abc import Iterable, Iterator

from mnemosyne_vcs.present.graph_layout import Edge, Row

__all__ = ["ASCII", "UNICODE", "characters", "draw"]

# Cell 2n of a line of text is lane n; the cells between are the gaps between lanes.

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_COMMIT = -1

UNICODE = dict(zip(range(16), " ╵╷│╴╯╮┤╶╰╭├─┴┬┼", strict=True)) | {_COMMIT: "●"}
"""The character that goes where lines go up (1), down (2), left (4) and right (8); -1: a commit."""

ASCII = dict(zip(range(16), " |||-'.+-'.+-+++", strict=True)) | {_COMMIT: "*"}
"""The same in ASCII."""


def characters() -> dict[int, str]:
    """The characters that stdout can encode."""
    try:
        "".join(UNICODE.values()).encode((sys.stdout and sys.stdout.encoding) or "ascii")
    except UnicodeEncodeError:
        return ASCII
    return UNICODE


def draw(row: Row, lines: int, chars: dict[int, str]) -> Iterator[str]:
    """The part of the graph beside the text of a commit, line by line.

    Args:
        row: the commit and the lines below it.
        lines: the number of lines of text beside it, 1 or more; the result may have more.
        chars: `UNICODE` or `ASCII`.
    """
    passing = {2 * lane: _UP | _DOWN for lane in row.passing}
    yield _line(passing | {2 * row.lane: _COMMIT}, chars)
    bent = any(edge.top != edge.bottom for edge in row.edges)
    if bent:
        yield _line(_bends(row.edges), chars)
    straight = {2 * edge.bottom: _UP | _DOWN for edge in row.edges}
    for _ in range(lines - 1 - bent):
        yield _line(straight, chars)


def _bends(edges: Iterable[Edge]) -> dict[int, int]:
    """The directions of the lines in each cell between two rows."""
    cells: dict[int, int] = {}
    for top, bottom in edges:
        low, high = sorted((2 * top, 2 * bottom))
        ways = dict.fromkeys(range(low + 1, high), _LEFT | _RIGHT)
        if low != high:
            ways |= {low: _RIGHT, high: _LEFT}
        for cell, way in ways.items():
            cells[cell] = cells.get(cell, 0) | way
        cells[2 * top] = cells.get(2 * top, 0) | _UP
        cells[2 * bottom] = cells.get(2 * bottom, 0) | _DOWN
    return cells


def _line(cells: dict[int, int], chars: dict[int, str]) -> str:
    return "".join(chars[cells.get(cell, 0)] for cell in range(max(cells, default=-1) + 1))

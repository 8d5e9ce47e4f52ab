"""Printing: coloured and cut to the width on a terminal, whole and plain anywhere else."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Output", "Part", "Styled", "color_wanted", "dumps", "paint", "printable"]


class Styled(NamedTuple):
    """Text with a meaning that a terminal shows by colour.

    Attributes:
        text: the text.
        style: one of `STYLES`.
    """

    text: str
    style: str


Part: TypeAlias = str | Styled

STYLES = {
    "id": "33",
    "key": "36",
    "title": "1",
    "dim": "2",
    "good": "32",
    "bad": "31",
}
"""The terminal's code for each style."""

_CONTROLS = {code: f"\\u{code:04x}" for code in (*range(32), *range(0x7F, 0xA0)) if code != 0x0A}


def printable(text: str) -> str:
    """The text with control characters escaped, so that stored text cannot steer a terminal."""
    return text.translate(_CONTROLS)


def dumps(value: object, indent: int | None = None) -> str:
    """JSON, on one line unless an indent is given."""
    return printable(json.dumps(value, ensure_ascii=False, indent=indent))


def color_wanted() -> bool:
    """Whether a terminal may be shown colours: unless `NO_COLOR` is set or `TERM` is `dumb`."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str, *, color: bool) -> str:
    """The text, in the style if colours are wanted."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if color and text else text


class Output:
    """Prints results on stdout and remarks on stderr.

    Args:
        as_json: results are printed by `json` only; texts are left out.

    Attributes:
        as_json: whether results are JSON.
        terminal: whether stdout is a terminal.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.terminal = sys.stdout.isatty()
        self._color = self.terminal and color_wanted()

    def json(self, value: object) -> None:
        """Print a value as one line of JSON."""
        print(dumps(value))

    def line(self, *parts: Part) -> None:
        """Print one line; its parts follow one another."""
        print("".join(map(self._painted, parts)))

    def remark(self, text: str) -> None:
        """Tell a person something that is no result; silent with JSON."""
        if not self.as_json:
            print(printable(text), file=sys.stderr)

    def fields(self, pairs: Iterable[tuple[str, Part]], indent: str = "") -> None:
        """Print named values, one a line, the values below one another."""
        pairs = list(pairs)
        width = max((len(name) for name, _ in pairs), default=0)
        for name, value in pairs:
            self.line(indent, Styled(name.ljust(width), "dim"), "  ", value)

    def table(self, rows: Iterable[Sequence[Part]]) -> None:
        """Print rows in columns. A terminal shows each on one line, its last column cut.

        Args:
            rows: the cells of each row.
        """
        rows = [list(row) for row in rows]
        if rows:
            (self._table_on_terminal if self.terminal else self._plain_table)(rows)

    def console(self) -> "Console":
        """A rich console on stdout for longer displays; silent with JSON."""
        from rich.console import Console

        width = None if self.terminal else 160
        return Console(quiet=self.as_json, no_color=not self._color, width=width, highlight=False)

    def _painted(self, part: Part) -> str:
        if isinstance(part, Styled):
            return paint(printable(part.text), part.style, color=self._color)
        return printable(part)

    def _plain_table(self, rows: list[list[Part]]) -> None:
        texts = [[self._painted(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        for row in texts:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            print("  ".join(cells).rstrip())

    def _table_on_terminal(self, rows: list[list[Part]]) -> None:
        from rich.table import Table
        from rich.text import Text

        console, table = self.console(), Table.grid(padding=(0, 2))
        last = len(rows[0]) - 1
        for number in range(last + 1):
            table.add_column(no_wrap=number != last)
        for row in rows:
            cells = [Text.from_ansi(self._painted(cell)) for cell in row]
            cells[last].no_wrap, cells[last].overflow = True, "ellipsis"
            table.add_row(*cells)
        console.print(table)

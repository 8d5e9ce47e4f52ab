"""Printing: coloured and cut to the width on a terminal, whole and plain anywhere else.

Everything that `mnem` prints goes through here, where invisible characters are escaped.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeAlias

from mnemosyne_vcs.errors import EngineError
from mnemosyne_vcs.visible import printable, printable_json

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Output", "Part", "Styled", "dumps", "is_terminal", "tell", "tell_json"]


class Styled(NamedTuple):
    """Text with a style that a terminal shows as colour.

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
    "match": "1;31",
}
"""The terminal's code for each style."""


def dumps(value: object, indent: int | None = None) -> str:
    """JSON, on one line unless an indent is given."""
    return printable_json(json.dumps(value, ensure_ascii=False, indent=indent))


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream of this process is open and a terminal."""
    return stream is not None and stream.isatty()


def tell(*parts: Part) -> None:
    """Print one line on stderr, if that can be written to."""
    color = is_terminal(sys.stderr) and _color_wanted()
    _tell(_line(parts, color=color))


def tell_json(value: object) -> None:
    """Print a value on stderr as one line of JSON, if that can be written to."""
    _tell(dumps(value))


class Output:
    """Prints results on stdout and remarks on stderr.

    Args:
        as_json: print results by `json` only, and no text.

    Attributes:
        as_json: whether results are JSON.
        terminal: whether stdout is a terminal.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.terminal = is_terminal(sys.stdout)
        self._color = self.terminal and _color_wanted()
        self._done: list[str] = []

    def did(self, what: str) -> None:
        """Remember what was done, for the error if the result cannot be printed.

        Args:
            what: such as `commit bafy… was made`.
        """
        self._done.append(what)

    def json(self, value: object) -> None:
        """Print a value as one line of JSON; raises as `line` does."""
        self._print(dumps(value))

    def line(self, *parts: Part) -> None:
        """Print one line, made of parts.

        Raises:
            EngineError: stdout is closed or cannot be written.
        """
        self._print(_line(parts, color=self._color))

    def remark(self, text: str) -> None:
        """Print something that is not a result, on stderr; silent with JSON."""
        if not self.as_json:
            tell(text)

    def fields(self, pairs: Iterable[tuple[str, Part]], indent: str = "") -> None:
        """Print named values, one a line, aligned."""
        pairs = [(printable(name), value) for name, value in pairs]
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

        if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise self._unwritable("it is closed")
        width = None if self.terminal else 160
        return Console(quiet=self.as_json, no_color=not self._color, width=width, highlight=False)

    def flush(self) -> None:
        """Flush stdout; raises as `line` does."""
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
            try:
                sys.stdout.flush()
            except BrokenPipeError:
                raise
            except OSError as error:
                raise self._unwritable(error.strerror) from error

    def _print(self, text: str) -> None:
        if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise self._unwritable("it is closed")
        try:
            print(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unwritable(error.strerror) from error

    def _unwritable(self, why: str | None) -> EngineError:
        done = "".join(f"; {what}" for what in self._done)
        return EngineError(f"standard output cannot be written: {why}{done}")

    def _plain_table(self, rows: list[list[Part]]) -> None:
        texts = [[_painted(cell, color=self._color) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        for row in texts:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self._print("  ".join(cells).rstrip())

    def _table_on_terminal(self, rows: list[list[Part]]) -> None:
        from rich.table import Table
        from rich.text import Text

        console, table = self.console(), Table.grid(padding=(0, 2))
        last = len(rows[0]) - 1
        for number in range(last + 1):
            table.add_column(no_wrap=number != last)
        for row in rows:
            cells = [Text.from_ansi(_painted(cell, color=self._color)) for cell in row]
            cells[last].no_wrap, cells[last].overflow = True, "ellipsis"
            table.add_row(*cells)
        console.print(table)


def _color_wanted() -> bool:
    """Whether to use colours on a terminal: unless `NO_COLOR` is set or `TERM` is `dumb`."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _line(parts: Iterable[Part], *, color: bool) -> str:
    return "".join(_painted(part, color=color) for part in parts)


def _painted(part: Part, *, color: bool) -> str:
    if isinstance(part, str):
        return printable(part)
    text = printable(part.text)
    return f"\x1b[{STYLES[part.style]}m{text}\x1b[0m" if color and text else text


def _tell(text: str) -> None:
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
        with suppress(OSError):  # stderr is gone too
            print(text, file=sys.stderr, flush=True)

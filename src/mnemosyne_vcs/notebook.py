"""HTML tables, as notebooks show a value that has `_repr_html_`."""

import json
from collections.abc import Iterable, Sequence
from html import escape

from mnemosyne_vcs.visible import printable

__all__ = ["html_table"]

_MAX_CELL = 500


def html_table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """A table in HTML, in which no text from a cell is taken for markup.

    Args:
        rows: the cells of each row; None is an empty cell, lists and dicts are shown as JSON.
        head: the names of the columns; without them, the first cell of a row is its name.
    """
    top = f"<thead><tr>{_cells('th', head)}</tr></thead>" if head else ""
    body = "".join(
        f"<tr>{_cells('td', row)}</tr>" if head else f"<tr>{_named(row)}</tr>" for row in rows
    )
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _named(row: Sequence[object]) -> str:
    return _cells("th", row[:1]) + _cells("td", row[1:])


def _cells(tag: str, values: Iterable[object]) -> str:
    style = ' style="text-align: left"'
    return "".join(f"<{tag}{style}>{escape(_text(value))}</{tag}>" for value in values)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False)
    text = printable(str(value))
    return text if len(text) <= _MAX_CELL else text[: _MAX_CELL - 1] + "…"

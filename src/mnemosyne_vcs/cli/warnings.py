"""How a warning is shown."""

import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TextIO

from mnemosyne_vcs.cli.output import Styled, tell, tell_json
from mnemosyne_vcs.engine.sqlite.filesystems import NetworkFileSystemWarning

__all__ = ["plain_warnings"]


@contextmanager
def plain_warnings(as_json: Callable[[], bool]) -> Generator[None]:
    """Show Mnemosyne's warnings as one line on stderr, and other warnings as Python does.

    Args:
        as_json: returns whether to print JSON; called when a warning is shown.
    """
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, NetworkFileSystemWarning):
                _show(str(message), category.kind, as_json=as_json())
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def _show(message: str, kind: str, *, as_json: bool) -> None:
    if as_json:
        tell_json({"warning": {"kind": kind, "message": message}})
    else:
        tell(Styled("Warning:", "id"), " ", message)

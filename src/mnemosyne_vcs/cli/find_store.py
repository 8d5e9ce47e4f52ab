"""The store that `mnem` uses when none is named."""

from collections.abc import Mapping
from pathlib import Path

import click

from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.paths import absolute

__all__ = ["ENVIRONMENT", "find_store"]

ENVIRONMENT = "MNEMOSYNE_URL"
SUFFIX = ".mnem"


def find_store(environment: Mapping[str, str]) -> str:
    """The URL of the store: from the environment, else the only file nearby.

    Args:
        environment: the variables of the process.

    Returns:
        The value of `MNEMOSYNE_URL`, else the path of the only `*.mnem` file in the nearest
        directory that has any, from the current one upwards. Empty files are not stores
        beside one that has some.

    Raises:
        NotFoundError: no store was found, or the current directory does not exist any more.
        UsageError: the nearest directory with such files has several.
    """
    if url := environment.get(ENVIRONMENT):
        return url
    start = Path(absolute("."))
    for directory in (start, *start.parents):
        files = sorted(path for path in directory.glob(f"*{SUFFIX}") if path.is_file())
        found = [path for path in files if path.stat().st_size] or files
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise click.UsageError(
                f"there are several stores in {directory}: {names}; choose one with -s "
                f"or {ENVIRONMENT}"
            )
        if found:
            return str(found[0])
    raise NotFoundError(
        f"there is no *{SUFFIX} file in {start} or above; name a store with -s URL or "
        f"{ENVIRONMENT}, or create one with `mnem init`"
    )

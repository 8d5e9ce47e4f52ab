"""What the verbs that bring history in and out share."""

from collections.abc import Mapping
from typing import Any

import click

from mnemosyne.bundles import Bundle
from mnemosyne.cli import describe
from mnemosyne.cli.output import Output, Styled
from mnemosyne.paths import path_text
from mnemosyne.revision import short_id

__all__ = ["FORMATS", "FilePath", "bundle_json", "format_of", "show_bundle", "show_names"]

FORMATS = ("car", "jsonl")


class FilePath(click.Path):
    """The path of a file, which a shell completes; nothing is looked at."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The path as it was given."""
        return path_text(value)


def format_of(path: str, wanted: str | None) -> str:
    """The format to use: the wanted one, else what the end of the path says, else `car`."""
    return wanted or ("jsonl" if path.endswith((".jsonl", ".ndjson")) else "car")


def bundle_json(bundle: Bundle) -> dict[str, Any]:
    """What `--json` prints of a bundle."""
    return {
        "path": bundle.path,
        "format": "car",
        "branches": dict(bundle.branches),
        "tags": dict(bundle.tags),
        "objects": bundle.objects,
    }


def show_bundle(output: Output, done: str, bundle: Bundle) -> None:
    """Print what a bundle holds.

    Args:
        output: where to.
        done: what was done with it, such as `wrote`.
        bundle: the bundle.
    """
    output.line(f"{done} {bundle.path}: {describe.counted(bundle.objects, 'object')}")
    show_names(output, bundle.branches, bundle.tags)


def show_names(output: Output, branches: Mapping[str, str], tags: Mapping[str, str]) -> None:
    """Print what branches and tags name.

    Args:
        output: where to.
        branches: commit ids by name.
        tags: likewise.
    """
    output.table(
        [
            [kind, Styled(name, "key"), Styled(short_id(commit), "id")]
            for kind, names in (("branch", branches), ("tag", tags))
            for name, commit in names.items()
        ]
    )

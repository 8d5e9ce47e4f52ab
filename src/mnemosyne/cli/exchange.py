"""What `mnem export` and `mnem import` share."""

from typing import Any

from mnemosyne.bundles import Bundle
from mnemosyne.cli import describe
from mnemosyne.cli.output import Output, Styled
from mnemosyne.revision import short_id

__all__ = ["FORMATS", "bundle_json", "format_of", "show_bundle"]

FORMATS = ("car", "jsonl")


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
    output.table(
        [
            [kind, Styled(name, "key"), Styled(short_id(commit), "id")]
            for kind, names in (("branch", bundle.branches), ("tag", bundle.tags))
            for name, commit in names.items()
        ]
    )

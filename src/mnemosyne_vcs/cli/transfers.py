"""What the verbs that copy history between stores share."""

from collections.abc import Mapping
from typing import Any, BinaryIO

import click

from mnemosyne_vcs.cli import describe
from mnemosyne_vcs.cli.output import Output, Styled
from mnemosyne_vcs.cli.streams import STREAM, stdin_bytes, stdout_bytes
from mnemosyne_vcs.ids import short_id
from mnemosyne_vcs.paths import path_text
from mnemosyne_vcs.sync.branches import TransferReport
from mnemosyne_vcs.sync.bundles import Bundle

__all__ = [
    "FORMATS",
    "FilePath",
    "bundle_json",
    "format_of",
    "require_file",
    "show_bundle",
    "show_names",
    "show_transfer",
    "source_of",
    "target_of",
    "transfer_json",
]


def transfer_json(transfer: TransferReport) -> dict[str, Any]:
    """A transfer as `--json` prints it."""
    return {
        "url": transfer.url,
        "remote": transfer.remote,
        "branches": dict(transfer.branches),
        "tags": dict(transfer.tags),
        "commits": transfer.commits,
        "objects": transfer.objects,
        "bytes": transfer.bytes,
        "pruned": list(transfer.pruned),
    }


def show_transfer(output: Output, done: str, transfer: TransferReport) -> None:
    """Print what was copied, and where the branches and new tags are.

    Args:
        output: where to print.
        done: what was done, such as `fetched from`.
        transfer: the transfer.
    """
    output.did(f"{transfer.commits} commits were {done} {transfer.url}")
    if output.as_json:
        output.json(transfer_json(transfer))
        return
    commits = describe.counted(transfer.commits, "commit")
    size = describe.byte_size(transfer.bytes)
    output.line(f"{done} {transfer.url}: {commits}, {size}")
    branches = {transfer.called(name): commit for name, commit in transfer.branches.items()}
    show_names(output, branches, transfer.tags)
    for name in transfer.pruned:
        output.line(f"forgot {transfer.called(name)}, which is gone there")


FORMATS = ("car", "jsonl")


class FilePath(click.Path):
    """The path of a file, which a shell completes; nothing is checked."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The path as given."""
        return path_text(value)


def source_of(path: str) -> str | BinaryIO:
    """The file at a path, or standard input for `-`; raises as `stdin_bytes`."""
    return stdin_bytes() if path == STREAM else path


def target_of(output: Output, path: str, form: str) -> str | BinaryIO:
    """The file at a path, or standard output for `-`.

    Args:
        output: where results go.
        path: the path.
        form: the format; `car` is not written to a terminal.

    Raises:
        UsageError: bytes would be written to a terminal.
        EngineError: standard output is closed.
    """
    if path != STREAM:
        return path
    if form == "car" and output.terminal:
        raise click.UsageError(
            "a bundle cannot be written to a terminal; write it to a file or a pipe"
        )
    return stdout_bytes()


def require_file(path: str, what: str) -> None:
    """Refuse `-` where a store is created, which cannot be a pipe.

    Raises:
        UsageError: the path is `-`.
    """
    if path == STREAM:
        raise click.UsageError(
            f"{what} is a store, which cannot be written into a pipe; name a file (./- for a "
            "file named -)"
        )


def format_of(path: str, wanted: str | None) -> str:
    """The format that is asked for, else that of the path's extension, else `car`."""
    return wanted or ("jsonl" if path.endswith((".jsonl", ".ndjson")) else "car")


def bundle_json(bundle: Bundle) -> dict[str, Any]:
    """A bundle as `--json` prints it."""
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
        output: where to print.
        done: what was done with it, such as `wrote`.
        bundle: the bundle.
    """
    output.line(f"{done} {bundle.path}: {describe.counted(bundle.objects, 'object')}")
    show_names(output, bundle.branches, bundle.tags)


def show_names(output: Output, branches: Mapping[str, str], tags: Mapping[str, str]) -> None:
    """Print branches and tags, and their commits.

    Args:
        output: where to print.
        branches: commit ids by name.
        tags: the same for tags.
    """
    output.table(
        [
            [kind, Styled(name, "key"), Styled(short_id(commit), "id")]
            for kind, names in (("branch", branches), ("tag", tags))
            for name, commit in names.items()
        ]
    )

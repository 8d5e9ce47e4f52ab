"""What the verbs that exchange history with other stores share."""

from typing import Any

from mnemosyne.cli import describe
from mnemosyne.cli.exchange import show_names
from mnemosyne.cli.output import Output
from mnemosyne.sync import Transfer

__all__ = ["show_transfer", "transfer_json"]


def transfer_json(transfer: Transfer) -> dict[str, Any]:
    """What `--json` prints of a transfer."""
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


def show_transfer(output: Output, done: str, transfer: Transfer) -> None:
    """Print what travelled, and where the branches and new tags are.

    Args:
        output: where to.
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

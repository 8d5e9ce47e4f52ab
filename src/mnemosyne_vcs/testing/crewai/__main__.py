"""Run the suite on several backends and write a table of the results.

python -m mnemosyne_vcs.testing.crewai --output docs/crewai-conformance.md
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from mnemosyne_vcs.testing.crewai.outcomes import run_to_end
from mnemosyne_vcs.testing.crewai.report import Column, write_page

TEST_FILE = """\
from mnemosyne_vcs.testing.crewai import CheckpointContract, StorageBackendContract


class TestBackend(StorageBackendContract, CheckpointContract):
    opener = {opener!r}
"""


@dataclass(frozen=True)
class Candidate:
    """A backend to run the suite on.

    Attributes:
        title: Its name in the table.
        opener: ``"module:callable"`` that opens it.
        distribution: The distribution whose version the page states, if known.
    """

    title: str
    opener: str
    distribution: str | None = None


CANDIDATES = {
    "mnemosyne": Candidate(
        "Mnemosyne", "mnemosyne_vcs.adapters.crewai:MnemosyneStorageBackend", "mnemosyne-vcs"
    ),
    "lancedb": Candidate(
        "LanceDB", "crewai.memory.storage.lancedb_storage:LanceDBStorage", "lancedb"
    ),
    "qdrant-edge": Candidate(
        "Qdrant Edge",
        "crewai.memory.storage.qdrant_edge_storage:QdrantEdgeStorage",
        "qdrant-edge-py",
    ),
}


def candidate(text: str) -> Candidate:
    """Read a backend from the command line: a known name, or ``NAME=module:callable``."""
    name, given, opener = text.partition("=")
    if given:
        return Candidate(name, opener)
    try:
        return CANDIDATES[name]
    except KeyError:
        known = ", ".join(CANDIDATES)
        raise argparse.ArgumentTypeError(f"{name!r} is not one of {known}") from None


def main() -> None:
    """Run the suite on the chosen backends and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m mnemosyne_vcs.testing.crewai", description=__doc__
    )
    parser.add_argument("output", type=Path, help="the Markdown file to write")
    parser.add_argument("--seconds-per-test", type=float, default=180.0)
    parser.add_argument(
        "--backend",
        dest="backends",
        action="append",
        type=candidate,
        help=f"{', '.join(CANDIDATES)} or NAME=module:callable; repeatable; all known by default",
    )
    arguments = parser.parse_args()
    chosen: list[Candidate] = arguments.backends or list(CANDIDATES.values())
    columns: list[Column] = []
    for backend in chosen:
        source = TEST_FILE.format(opener=backend.opener)
        results = run_to_end(source, arguments.seconds_per_test)
        columns.append(Column(backend.title, backend.distribution, *results))
    write_page(arguments.output, columns)
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()

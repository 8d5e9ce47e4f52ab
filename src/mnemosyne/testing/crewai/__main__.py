"""Run the suite on several backends and write a table of who passes what.

python -m mnemosyne.testing.crewai --output docs/crewai-conformance.md
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mnemosyne.testing.crewai.outcomes import Described, Journal, Outcome
from mnemosyne.testing.crewai.report import Column, write_page

TEST_FILE = """\
from mnemosyne.testing.crewai import CheckpointContract, StorageBackendContract


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
        "Mnemosyne", "mnemosyne.adapters.crewai:MnemosyneStorageBackend", "mnemosyne-vcs"
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


def run(backend: Candidate, seconds: float) -> tuple[dict[str, Described], dict[str, Outcome]]:
    """Run the suite on one backend, in processes of its own.

    Args:
        backend: What to run it on.
        seconds: How long one test may take; a test that takes longer has failed.

    Returns:
        The descriptions and the outcomes of the tests, by node id.

    Raises:
        RuntimeError: pytest could not run the suite at all.
    """
    with tempfile.TemporaryDirectory(prefix="conformance-") as directory:
        file = Path(directory, "test_backend.py")
        file.write_text(TEST_FILE.format(opener=backend.opener), encoding="utf-8")
        settings = Path(directory, "pytest.ini")
        settings.write_text("[pytest]\n", encoding="utf-8")
        journal = Journal(Path(directory, "outcomes.jsonl"))
        command = [sys.executable, "-m", "pytest", str(file), "-q", "--tb=no", "--no-summary"]
        command += ["--rootdir", directory, "-c", str(settings), "-p", "no:cacheprovider"]
        command += ["-W", "ignore", "--basetemp", str(Path(directory, "stores"))]
        command += ["-p", "mnemosyne.testing.crewai.outcomes"]
        command += ["--outcomes", str(Path(directory, "outcomes.jsonl"))]
        command += ["--seconds-per-test", str(seconds)]
        while True:
            done = len(journal.outcomes())
            subprocess.run(command, check=False, stdout=sys.stderr)
            outcomes, described = journal.outcomes(), journal.described()
            if described and len(outcomes) == len(described):
                return described, outcomes
            if len(outcomes) == done:
                raise RuntimeError(f"the suite does not run on {backend.title}")


def main() -> None:
    """Run the suite on the chosen backends and write the page."""
    parser = argparse.ArgumentParser(prog="python -m mnemosyne.testing.crewai", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs/crewai-conformance.md"))
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
    columns = [
        Column(backend.title, backend.distribution, *run(backend, arguments.seconds_per_test))
        for backend in chosen
    ]
    write_page(arguments.output, columns)
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()

"""mem0 and Graphiti through the same questions, offline. Needs `benchmarks/audit/requirements.txt`.

Neither has branches, so their runs go straight; the runs are shorter, since a step costs more.
"""

from __future__ import annotations

import logging
import platform
import socket
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.audit.questions import QUESTIONS, Tally
from benchmarks.audit.runs import make_run
from benchmarks.audit.sweep import Make, add, audited, costs, counted

RUNS = range(20)
LENGTH = 64


def run_packages() -> dict[str, Any]:
    """The results file of the other packages."""
    _cut_the_network()
    logging.disable(logging.WARNING)
    from benchmarks.audit.graphiti_memory import GraphitiMemory
    from benchmarks.audit.mem0_memory import Mem0Memory, contradictions

    said = [step.puts for step in make_run(0, LENGTH, straight=True).steps]
    with tempfile.TemporaryDirectory(prefix="audit-") as directory:
        keys, contradicted = contradictions(Path(directory), said)
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        "seeds": [RUNS.start, RUNS.stop - 1],
        "length": LENGTH,
        "mem0": {
            **_measured(Mem0Memory, "mem0ai", "qdrant-client"),
            "in_words": {"keys": keys, "contradicted": contradicted},
        },
        "graphiti": _measured(GraphitiMemory, "graphiti-core", "kuzu"),
    }


def _measured(make: Make, *names: str) -> dict[str, Any]:
    totals = {question: Tally() for question in QUESTIONS}
    for seed in RUNS:
        tallies, *_ = audited(make, make_run(seed, LENGTH, straight=True))
        add(totals, tallies)
    return {
        "versions": {name: version(name) for name in names},
        "answers": counted(totals),
        "costs": costs(make, [LENGTH], straight=True),
    }


def _cut_the_network() -> None:
    """Let nothing here connect to anything but a local socket."""
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX:
            raise OSError(f"no network here: {address}")
        connect(self, address)

    socket.socket.connect = refuse

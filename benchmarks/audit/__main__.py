"""``run`` and ``packages`` measure, ``page`` writes the page from what they found."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = DOCS / "audit" / "results.json"
PACKAGES = DOCS / "audit" / "packages.json"


def main() -> int:
    arguments = _parser().parse_args()
    arguments.command(arguments)
    print(arguments.out)
    return 0


def _run(arguments: argparse.Namespace) -> None:
    from benchmarks.audit.sweep import run_all

    _write(arguments.out, run_all(range(arguments.first, arguments.first + arguments.runs)))


def _packages(arguments: argparse.Namespace) -> None:
    from benchmarks.audit.packages import run_packages

    _write(arguments.out, run_packages())


def _page(arguments: argparse.Namespace) -> None:
    from benchmarks.audit.page import page

    here, packages = (json.loads(path.read_text()) for path in (RESULTS, PACKAGES))
    arguments.out.write_text(page(here, packages))


def _write(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.audit", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="the dict, the log and Mnemosyne, over many seeds")
    run.add_argument("--runs", type=int, default=200, help="how many runs")
    run.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed")
    run.add_argument("--out", type=Path, default=RESULTS, metavar="FILE")
    run.set_defaults(command=_run)
    packages = commands.add_parser("packages", help="mem0 and Graphiti, as they are installed")
    packages.add_argument("--out", type=Path, default=PACKAGES, metavar="FILE")
    packages.set_defaults(command=_packages)
    page = commands.add_parser("page", help="write the page from the results under docs/audit")
    page.add_argument("out", type=Path, nargs="?", default=DOCS / "audit.md", metavar="FILE")
    page.set_defaults(command=_page)
    return parser


if __name__ == "__main__":
    sys.exit(main())

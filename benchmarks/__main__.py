"""``python -m benchmarks run`` measures; ``python -m benchmarks report FILE`` writes the page."""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
FIRST_PAGES = (DOCS.parent / "README.md", DOCS / "index.md")
TABLE = re.compile(r"(<!-- benchmarks: begin.*?-->\n).*?(<!-- benchmarks: end -->)", re.DOTALL)


def main() -> int:
    arguments = _parser().parse_args()
    return arguments.command(arguments)


def _run(arguments: argparse.Namespace) -> int:
    from benchmarks.run import merged

    with tempfile.TemporaryDirectory(prefix="benchmarks-", dir=arguments.work) as directory:
        results = _measured(arguments, Path(directory))
    if arguments.only == "history" and arguments.out.exists():
        results = merged(json.loads(arguments.out.read_text()), results)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(_json(results))
    print(arguments.out)
    return 0


def _measured(arguments: argparse.Namespace, directory: Path) -> dict[str, Any]:
    if arguments.only == "engines":
        from benchmarks.engines import run as engines

        scale = engines.QUICK if arguments.quick else engines.FULL
        return engines.EngineRun(scale, directory).execute()
    from benchmarks.run import FULL, QUICK, Run

    run = Run(QUICK if arguments.quick else FULL, directory)
    return run.execute_history() if arguments.only else run.execute()


def _report(arguments: argparse.Namespace) -> int:
    from benchmarks.engines.plot import draw as draw_engines
    from benchmarks.plots import draw
    from benchmarks.report import page, summary

    results = json.loads(arguments.file.read_text())
    figures = arguments.docs / "benchmarks"
    figures.mkdir(parents=True, exist_ok=True)
    drawn = draw(results, figures)
    engines = json.loads(arguments.engines.read_text()) if arguments.engines.exists() else None
    if engines is not None:
        draw_engines(engines, figures)
        (figures / "engines.json").write_text(_json(engines))
    (figures / "results.json").write_text(_json(results))
    (arguments.docs / "benchmarks.md").write_text(page(results, drawn, engines))
    if arguments.docs == DOCS:
        table = summary(results)
        for first_page in FIRST_PAGES:
            first_page.write_text(TABLE.sub(rf"\1{table}\n\2", first_page.read_text()))
    print(arguments.docs / "benchmarks.md")
    return _complain(results["errors"] + (engines["errors"] if engines else []))


def _complain(errors: list[dict[str, object]]) -> int:
    """Say which jobs failed, and the exit code that makes a build notice."""
    for error in errors:
        print(f"failed: {error['job']} on {error['backend']}: {error['error']}", file=sys.stderr)
    return 1 if errors else 0


def _json(results: dict[str, Any]) -> str:
    """JSON with one measurement a line, so that two runs can be compared line by line."""
    fields = {name: json.dumps(value) for name, value in results.items()}
    entries = ",\n".join(json.dumps(entry) for entry in results["measurements"])
    fields["measurements"] = f"[\n{entries}\n]"
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in fields.items()) + "\n}\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="measure every backend and write the results as JSON")
    run.add_argument("--quick", action="store_true", help="1,000 records and few repeats")
    run.add_argument(
        "--only",
        choices=["history", "engines"],
        help="measure only this: questions to history (other results in FILE are kept), or the "
        "engines (their results are a file of their own)",
    )
    run.add_argument("--out", type=Path, default=Path("results.json"), metavar="FILE")
    run.add_argument("--work", type=Path, metavar="DIR", help="where the stores are made")
    run.set_defaults(command=_run)
    report = commands.add_parser("report", help="write the page, plots and results under docs")
    report.add_argument("file", type=Path, metavar="FILE")
    report.add_argument(
        "--engines",
        type=Path,
        default=DOCS / "benchmarks" / "engines.json",
        metavar="FILE",
        help="the results of `run --only engines`, if they are there",
    )
    report.add_argument("--docs", type=Path, default=DOCS, metavar="DIR")
    report.set_defaults(command=_report)
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""Mutation testing: `python -m mutation [--mutants N] [--seed N] [--package NAME] ...`.

It changes the source in many small ways, one at a time, and runs the tests of the package that
was changed: those that enter the changed function. What no test notices survives. Mutants that
behave like the original stand in `equivalent.toml`, with the reason.

For each mutant the quickest tests run first, up to `--seconds` of them; `--again` gives those that
survived the slower ones too.
"""

import argparse
import json
import multiprocessing
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from mutation.mutants import Mutant, sample
from mutation.runs import Tests, baseline, outcome

PACKAGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "tree": ("tree", ("tests/tree",)),
    "merge": ("merge", ("tests/merge",)),
    "transaction": ("transaction", ("tests/transaction", "tests/repository", "tests/merge")),
    "views": ("views", ("tests/views",)),
    "gc": (
        "maintenance/gc.py",
        ("tests/maintenance/test_gc.py", "tests/maintenance/test_verify.py"),
    ),
    "sync": ("sync", ("tests/sync",)),
    "crewai": (
        "adapters/crewai",
        tuple(
            f"tests/adapters/test_{name}.py"
            for name in (
                "backend",
                "crewai_contract",
                "crewai_provenance",
                "change_of_model",
                "what_is_not_crewais",
            )
        ),
    ),
}
"""What is changed, below the package, and the tests that have to notice."""

LOADED = ("pytest", "hypothesis", "numpy", "apsw", "click", "libipld", "rich", "socket", "sqlite3")
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
KINDS = ("killed", "timeout", "survived", "untested", "equivalent")


def main() -> None:
    """Run it, and print a table by package and every survivor."""
    parser = argparse.ArgumentParser(prog="mutation")
    parser.add_argument("--mutants", type=int, default=420, help="how many, of all packages")
    parser.add_argument("--seed", type=int, default=1, help="chooses them")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--package", action="append", choices=PACKAGES, help="only of this one")
    parser.add_argument("--seconds", type=float, default=6, help="of tests for a mutant")
    parser.add_argument("--again", type=Path, help="only what survived in these results")
    parser.add_argument("--out", type=Path, default=Path(".mutation.jsonl"), help="the results")
    options = parser.parse_args()
    for module in LOADED:
        import_module(module)
    counts: dict[str, Counter[str]] = {}
    with options.out.open("w") as results:
        for package, mutants in chosen(options).items():
            counts[package] = Counter()
            if not mutants:
                continue
            tests = baseline(PACKAGES[package][1], 1200)
            for mutant, kind in run(mutants, tests, options):
                counts[package][kind] += 1
                results.write(json.dumps({"outcome": kind, **asdict(mutant)}) + "\n")
                results.flush()
                if kind in ("survived", "untested"):
                    print(told(mutant, kind), flush=True)
            print(package, dict(counts[package]), flush=True)
    print(table(counts))


def chosen(options: argparse.Namespace) -> dict[str, list[Mutant]]:
    """The mutants of each package, as many as it has of all lines."""
    files = {name: files_of(name) for name in options.package or PACKAGES}
    if options.again:
        told_before = [json.loads(line) for line in options.again.read_text().splitlines()]
        survivors = [
            Mutant(**{key: value for key, value in each.items() if key != "outcome"})
            for each in told_before
            if each["outcome"] in ("survived", "untested")
        ]
        return {
            name: [each for each in survivors if Path(each.file) in files[name]] for name in files
        }
    lines = {name: sum(len(f.read_text().splitlines()) for f in files[name]) for name in files}
    total = sum(lines.values())
    return {
        name: sample(files[name], -(-options.mutants * lines[name] // total), options.seed)
        for name in files
    }


def files_of(package: str) -> list[Path]:
    """The files of a package."""
    path = Path("src/mnemosyne_vcs") / PACKAGES[package][0]
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def run(
    mutants: list[Mutant], tests: Tests, options: argparse.Namespace
) -> Iterator[tuple[Mutant, str]]:
    """What becomes of mutants, in the order in which that is known."""
    known = equivalents()
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()

    def work(part: list[Mutant]) -> None:
        for mutant in part:
            kind = "equivalent"
            if (mutant.file.removeprefix("src/mnemosyne_vcs/"), *mutant.lines()) not in known:
                names, seconds = tests.of(mutant, options.seconds)
                kind = outcome(mutant, names, 20 + 4 * seconds)
            answers.put((mutant, kind))

    lanes = [
        fork.Process(target=work, args=(mutants[lane :: options.jobs],))
        for lane in range(options.jobs)
    ]
    for lane in lanes:
        lane.start()
    for _ in mutants:
        yield answers.get()
    for lane in lanes:
        lane.join()


def equivalents() -> set[tuple[str, str, str]]:
    """The file, the line and the changed line of each mutant that behaves like the original."""
    listed = tomllib.loads(EQUIVALENT.read_text()).get("equivalent", [])
    return {(each["file"], each["before"], each["after"]) for each in listed if each["reason"]}


def told(mutant: Mutant, kind: str) -> str:
    """A mutant for people."""
    before, after = mutant.lines()
    return f"{kind}: {mutant.file}:{mutant.line} {mutant.operator}\n  - {before}\n  + {after}"


def table(counts: Mapping[str, Counter[str]]) -> str:
    """How many there are of each kind, by package."""
    rows = [("package", *KINDS)]
    rows += [(name, *(str(found[kind]) for kind in KINDS)) for name, found in counts.items()]
    every = sum(counts.values(), Counter[str]())
    rows.append(("all", *(str(every[kind]) for kind in KINDS)))
    return "\n".join(f"{row[0]:12}" + "".join(f"{cell:>11}" for cell in row[1:]) for row in rows)


if __name__ == "__main__":
    main()

"""The page of the audit, from its results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.audit.answers import HOW, READ, TITLES
from benchmarks.audit.questions import QUESTIONS
from benchmarks.results import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COST_LENGTH = "1024"
NOTHING = "–"

_HEAD = """\
# What can you ask an agent's memory?

Seven questions, put to five kinds of memory on synthetic runs of an agent. Every run has one \
planted fault: at a random step the agent misreads a source and believes something wrong.

**Versioning does not make an agent answer better.** An agent that misreads a document misreads it \
on any store, and recall on a versioned store returns the same records as on another. What \
versioning gives is a memory that can be audited and reversed: what was believed when, from which \
source, since when it is wrong, and how to take it back."""

_METHOD = """\
## How it is measured

* **A run** is a list of steps. Each step observes one source and puts one to three records of \
about sixty, and sometimes deletes one; a put carries its source and step. Side branches begin, \
go on and are merged back, the main branch prevailing where both changed a key. Later steps leave \
the faulty key alone, and some derive other records from it. At the end two agents both go on \
from the last state, for the question about merging.
* **The truth** is a plain model that copies the whole state at every step.
* **Exact** means that every answer in every run was the truth; **approximate**, that there is an \
answer, which may be wrong; **not possible**, that the memory does not hold one. The steps asked \
about are the first, the last, the faulty one, its neighbours and others at random. A merge \
counts as right when both the merged state and the list of conflicts are.
* **The plain dict** holds values by key. **The JSONL log** is a file with one line a step, and a \
replay of some sixty lines of code that knows branches and three-way merges: whoever keeps such a \
log writes and maintains that code, and every answer costs a replay.
* **mem0 and Graphiti** were run from their installed packages without network: mem0 with its \
local Qdrant and history, Graphiti with its embedded Kuzu driver, and both with an embedder that \
hashes words. No model judges anything: mem0 is told what to add, update and delete by id; \
Graphiti's model is a script that reads every step as it was meant. So their marks say what the \
stores keep when the model makes no mistake. They have no branches, so their runs go straight. \
Graphiti's driver for Kuzu is marked as deprecated in this version, and Graphiti deletes a fact \
together with its past, so where a step deletes, the program sets the fact's end instead. What no \
run can show was read in their sources and is marked "read, not run", with the version.
* **Costs** are medians over five runs of {longest} steps, for mem0 and Graphiti of {shorter}. \
Stores are on local disk; the log and Mnemosyne (with `durability="relaxed"`) hand each step to \
the system without waiting for the disk.

`python -m benchmarks.audit run` measures the first three, and `python -m benchmarks.audit \
packages` the others, once `benchmarks/audit/requirements.txt` is installed. `python -m \
benchmarks.audit page docs/audit.md` writes this page from [results.json](audit/results.json) and \
[packages.json](audit/packages.json)."""


def page(here: dict[str, Any], packages: dict[str, Any]) -> str:
    """The page as Markdown, from the results of the sweep and of the other packages."""
    counts = {**here["answers"], **{name: packages[name]["answers"] for name in OTHERS}}
    parts = [
        _HEAD,
        _summary(counts, here, packages),
        _setting(here, packages),
        *(_question(name, counts, here, packages) for name in QUESTIONS),
        _storage(here, packages),
        _words(packages),
        _METHOD.format(longest=f"{int(COST_LENGTH):,}", shorter=packages["length"]),
    ]
    return "\n\n".join(parts) + "\n"


OTHERS = ("mem0", "graphiti")


def verdict(count: dict[str, int]) -> str:
    """Exact, approximate or not possible, as the answers were."""
    if count["exact"] == count["asked"]:
        return "exact"
    return "approximate" if count["answered"] else "not possible"


def _summary(counts: dict[str, Any], here: dict[str, Any], packages: dict[str, Any]) -> str:
    lines = [
        [title, *(_strong(verdict(counts[name][question])) for name in TITLES)]
        for question, title in QUESTIONS.items()
    ]
    sizes = [_bytes(name, here, packages) for name in TITLES]
    lines.append(["Storage after L steps", *sizes])
    note = (
        f"Storage: L = {int(COST_LENGTH):,} for the first three, {packages['length']} for mem0 and "
        "Graphiti."
    )
    return f"{_table(['', *TITLES.values()], lines)}\n\n{note}"


def _setting(here: dict[str, Any], packages: dict[str, Any]) -> str:
    first, last = here["seeds"]
    wrong = here["inexact"]
    outcome = (
        "In every one of them, Mnemosyne's reconstruction, blame, bisect, diff and merge were exact"
        if not wrong
        else f"Mnemosyne was not exact in the runs of seeds {', '.join(map(str, wrong))}"
    )
    machine = here["machine"]
    versions = here["versions"] | packages["mem0"]["versions"] | packages["graphiti"]["versions"]
    return (
        f"**The sweep:** {here['runs']} runs (seeds {first} to {last}) of {here['lengths'][0]} to "
        f"{here['lengths'][1]:,} steps, {here['steps']:,} steps in all, with {here['merges']:,} "
        f"merges of side branches; {here['faults_on_branches']} of the faults were planted on a "
        f"side branch. {outcome}. mem0 and Graphiti: {packages['seeds'][1] + 1} runs of "
        f"{packages['length']} steps.\n\n"
        f"Measured on {here['date']} ({machine['processor']}, {machine['cores']} cores, Python "
        f"{machine['python']}) and, for the packages, on {packages['date']} (Python "
        f"{packages['python']}): {', '.join(f'{name} {each}' for name, each in versions.items())}."
    )


def _question(
    question: str, counts: dict[str, Any], here: dict[str, Any], packages: dict[str, Any]
) -> str:
    lines = []
    for name, title in TITLES.items():
        count = counts[name][question]
        length = str(packages["length"]) if name in OTHERS else COST_LENGTH
        took = _costs(name, here, packages)[length]["answer_ms"].get(question)
        lines.append(
            [
                title,
                _strong(verdict(count)),
                _evidence(name, count),
                NOTHING if took is None else shown(took / 1000, "s"),
                HOW[question][name],
            ]
        )
    table = _table(["memory", "answer", "true answers", "an answer takes", "how"], lines)
    return f"## {QUESTIONS[question]}\n\n{table}"


def _evidence(name: str, count: dict[str, int]) -> str:
    if name in READ and not count["answered"]:
        package, version = READ[name]
        return f"read, not run: {package} {version}"
    return f"{count['exact']:,} of {count['asked']:,}"


def _storage(here: dict[str, Any], packages: dict[str, Any]) -> str:
    lengths = [str(packages["length"]), *(each for each in here["costs"]["log"])]
    lengths = sorted(set(lengths), key=int)
    lines = []
    for name, title in TITLES.items():
        costs = _costs(name, here, packages)
        cells = [
            shown(costs[each]["bytes"], "bytes") if each in costs else NOTHING for each in lengths
        ]
        longest = max(costs, key=int)
        lines.append([title, *cells, shown(costs[longest]["step_ms"] / 1000, "s")])
    columns = ["memory", *(f"{int(each):,} steps" for each in lengths), "a step takes"]
    return (
        f"## Storage after L steps\n\n{_table(columns, lines)}\n\nThe dict keeps the last state "
        "alone. mem0 and Graphiti also store vectors (32 and 64 dimensions), which the others "
        "were not given; Kuzu's files begin at tens of megabytes."
    )


def _words(packages: dict[str, Any]) -> str:
    told = packages["mem0"]["in_words"]
    return (
        "## mem0 told in words\n\nWith `infer=True` mem0 asks a model for the facts in a message "
        "and adds them; it updates and deletes nothing by itself (read in `mem0/memory/main.py`). "
        "With a scripted model that extracts every fact as it was said, "
        f"{told['contradicted']} of {told['keys']} keys had "
        f"more than one value in `get_all` after {packages['length']} steps. The reader then has "
        "to decide by time which one is current."
    )


def _costs(name: str, here: dict[str, Any], packages: dict[str, Any]) -> dict[str, Any]:
    return packages[name]["costs"] if name in OTHERS else here["costs"][name]


def _bytes(name: str, here: dict[str, Any], packages: dict[str, Any]) -> str:
    costs = _costs(name, here, packages)
    return shown(costs[max(costs, key=int)]["bytes"], "bytes")


def _strong(text: str) -> str:
    return f"**{text}**" if text == "exact" else text


def _table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    ruled = [columns, ["---"] * len(columns), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ruled)

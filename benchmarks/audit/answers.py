"""How each memory answers each question, in one line: the text of the page, without its numbers.

What a run cannot show was read in the sources of the packages named in `READ`.
"""

from __future__ import annotations

TITLES = {
    "dict": "plain dict",
    "log": "JSONL log",
    "mnemosyne": "Mnemosyne",
    "mem0": "mem0",
    "graphiti": "Graphiti",
}

READ = {"mem0": ("mem0ai", "2.2.1"), "graphiti": ("graphiti-core", "0.31.2")}

GONE = "A put replaces what was there; nothing else is kept."

HOW: dict[str, dict[str, str]] = {
    "now": {
        "dict": "It is the dictionary.",
        "log": "Replay the file.",
        "mnemosyne": "`repo.at()`; `mnem ls`.",
        "mem0": "`get_all`, if the program updates memories by id. Told in words, it adds and "
        "does not replace: see below.",
        "graphiti": "The facts without `invalid_at`.",
    },
    "at": {
        "dict": GONE,
        "log": "Replay the file up to the step.",
        "mnemosyne": "`repo.at(commit)`; also by branch, tag or time, such as `main@{yesterday}`.",
        "mem0": "`history(id)` of every memory up to the time of the step. The program keeps the "
        "time of each step and the ids of deleted memories, which `get_all` does not list.",
        "graphiti": "The facts that were valid then, by `valid_at` and `invalid_at`. In one run a "
        "replaced fact stayed valid for 11 steps beside the new one: the model can only end facts "
        "that the search for candidates has found. Another embedder may rank them differently.",
    },
    "went_wrong": {
        "dict": GONE,
        "log": "Scan for the first put of the wrong value.",
        "mnemosyne": "`repo.bisect(predicate)`; it looks into merged branches, and takes any "
        "predicate on the whole memory.",
        "mem0": "Scan `history(id)` for the wrong value; it names a time, and the program knows "
        "which step that was.",
        "graphiti": "`valid_at` of the wrong fact.",
    },
    "origin": {
        "dict": "Not unless the program stores a source beside each value, and then only of the "
        "values that are still there.",
        "log": "Replay, with the source of every put.",
        "mnemosyne": "`repo.blame(key)`: record, provenance and commit; `mnem why KEY`.",
        "mem0": "`get(id)`, where the program has put the source into the metadata.",
        "graphiti": "The fact's first episode, and that episode's `source_description`.",
    },
    "past_origin": {
        "dict": GONE,
        "log": "Replay up to the step.",
        "mnemosyne": "`repo.blame(key, commit)`.",
        "mem0": "The history holds old and new text, times, actor and role, but no metadata "
        "(read in `mem0/memory/storage.py`).",
        "graphiti": "The first episode of the fact that was valid then.",
    },
    "changed_by": {
        "dict": GONE,
        "log": "Replay up to the step, and take it.",
        "mnemosyne": "`repo.diff(parent, commit)`; `mnem show COMMIT`.",
        "mem0": "Compare the states after and before the step, each read from the histories of "
        "all memories.",
        "graphiti": "The facts that became valid or invalid at the step's time.",
    },
    "merge": {
        "dict": "Compare the two; without their common past, a key that one side changed looks "
        "like a conflict.",
        "log": "Replay both sides and their base, and compare the three, with code of the "
        "program's own.",
        "mnemosyne": "`repo.merge`; `ConflictError.conflicts` has base, ours and theirs of each, "
        "and nothing is written until they are settled.",
        "mem0": "There is no merge in `Memory` (read in `mem0/memory/main.py`).",
        "graphiti": "There is no merge of graphs or groups in `Graphiti` (read in "
        "`graphiti_core/graphiti.py`); facts told again are resolved one by one by the model.",
    },
}

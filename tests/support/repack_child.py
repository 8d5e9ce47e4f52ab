"""A repository that is written and compacted until the process is killed: `repack_child.py URL`."""

import sys
from datetime import timedelta

import mnemosyne_vcs

with mnemosyne_vcs.open(sys.argv[1], author="child") as repo:
    for branch in set(repo.branches()) - {"main"}:
        repo.delete_branch(branch)
    for number in range(100_000):
        commit = repo.put(f"k/{number % 50:02}", {"seen": number})
        print(commit.id, flush=True)
        if number % 10 == 9:
            repo.create_branch("side", "main~5")
            repo.put("k/07", {"seen": -number}, branch="side")
            repo.delete_branch("side")
            repo.gc(keep_reflog=timedelta(0), compact=number % 20 == 9)

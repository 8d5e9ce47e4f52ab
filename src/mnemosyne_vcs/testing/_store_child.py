"""What child processes of the tests do to a store: they are given ACTION, URL, NAME and N."""

import sys
from datetime import timedelta

import mnemosyne_vcs
from mnemosyne_vcs import Provenance, Record


def say(*words: object) -> None:
    """Tell the parent."""
    print(*words, flush=True)


def number(record: Record) -> int:
    """What a record counts."""
    assert isinstance(record.content, int)
    return record.content


def save(path: str, name: str, count: int) -> None:
    """Put records of its own and count up a shared one, telling the commit of each."""
    repo = mnemosyne_vcs.open(path, author=name)
    say("ready")
    sys.stdin.readline()
    for i in range(count):

        def write(tx: mnemosyne_vcs.Transaction, i: int = i) -> None:
            tx.put(f"{name}/{i}", i, embedding=[1.0, i], provenance=Provenance(agent=name))
            tx.put("total", number(tx["total"]) + 1)

        say(f"{name}/{i}", repo.transact(write, message=f"{name} {i}").id)


def read(path: str, name: str, count: int) -> None:
    """Read and search until told to stop; every answer is consistent in itself."""
    repo = mnemosyne_vcs.open(path, author=name)
    say("ready")
    sys.stdin.readline()
    seen = 0
    for _ in range(count):
        now = repo.at()
        total = number(now["total"])
        assert total >= seen
        assert len(now) == total + 1
        assert len(now.search([1.0, 0.0], limit=len(now))) == total
        seen = total
    say("read", seen)


def collect(path: str, name: str, count: int) -> None:
    """Collect garbage again and again, telling how many objects went."""
    repo = mnemosyne_vcs.open(path, author=name)
    say("ready")
    sys.stdin.readline()
    for _ in range(count):
        say(repo.gc(keep_reflog=timedelta(0)).objects)


if __name__ == "__main__":
    action, path, name, count = sys.argv[1:]
    {"save": save, "read": read, "collect": collect}[action](path, name, int(count))

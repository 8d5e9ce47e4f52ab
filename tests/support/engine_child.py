"""What the tests of processes run in processes of their own: `python engine_child.py TASK URL ...`.

A child tells its parent what it did by lines on its standard output, and waits for its parent by
reading lines from its standard input.
"""

import hashlib
import sys
from pathlib import Path

from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.errors import BusyError, RefConflictError
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.ids import text_id


def say(*words):
    print(*words, flush=True)


def append(engine, ref, text):
    """Add a link to the chain of a ref, racing with others that do the same."""
    while True:
        head = engine.ref(ref)
        data = (text_id(head) if head else "") + " " + text
        block = object_id(data.encode())
        index = IndexEntry(block, hashlib.sha256(text.encode()).hexdigest()[:32], [text])
        try:
            update = RefUpdate(ref, head, block, who=text, index=index)
            engine.write({block: data.encode()}, update)
            return block
        except RefConflictError:
            continue


def race(url, name, count):
    engine = open_engine(url)
    say("ready")
    sys.stdin.readline()
    for number in range(int(count)):
        append(engine, "main", f"{name}-{number}")
    say("done")


def commit_until_killed(url):
    engine = open_engine(url)
    number = 0
    while True:
        say(text_id(append(engine, "main", f"{number}")))
        number += 1


def hold(url):
    engine = open_engine(url)
    with engine.exclusive():
        say("held")
        sys.stdin.readline()
    say("released")


def end_a_commit(path):
    """Be between the two copies of the log's head, as a writer is at the end of a commit.

    The layout and the byte that is locked: https://www.sqlite.org/walformat.html, 2.
    """
    import fcntl

    with Path(f"{path}-shm").open("r+b", buffering=0) as index:
        fcntl.lockf(index, fcntl.LOCK_EX, 1, 120)
        head = index.read(48)
        index.seek(0)
        index.write(head[:8] + bytes([head[8] ^ 1]) + head[9:])
        say("held")
        sys.stdin.readline()
        index.seek(0)
        index.write(head)
    say("released")


def create(url):
    say("ready")
    sys.stdin.readline()
    engine = open_engine(url, create=True)
    append(engine, "main", "x")
    say("done")


def fill(url, limit):
    """Write until the file may not grow any more."""
    import resource

    from mnemosyne_vcs.errors import EngineError

    engine = open_engine(url)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    number, head = 0, engine.ref("main")
    while True:
        objects = {object_id(d := bytes([n]) * 50_000 + b"%d" % number): d for n in range(4)}
        new = next(iter(objects))
        try:
            engine.write(objects, RefUpdate("main", head, new))
        except EngineError as error:
            say("failed", isinstance(error, BusyError), str(error))
            break
        head, number = new, number + 1
        say("wrote", text_id(head))
    say("left", engine.ref("main") == head, all(i not in engine.read([i]) for i in objects))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])

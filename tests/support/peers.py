"""Repositories to keep in step, and engines that watch, lie and disturb."""

from collections.abc import Generator
from contextlib import contextmanager

from mnemosyne_vcs import Repository
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.format.objects import is_vector, object_kind
from mnemosyne_vcs.maintenance.verify import verify_objects
from mnemosyne_vcs.testing._peers import fresh
from mnemosyne_vcs.testing.faults import FaultyEngine


def filled(records=60):
    """Two branches with a merge, vectors, an edit, a deletion, an undo and a tag."""
    repo = fresh()
    with repo.transaction() as tx:
        for number in range(records):
            tx.put(f"k/{number:03}", {"n": number}, embedding=[number, 1] if number % 3 else None)
    repo.create_tag("v1")
    repo.create_branch("side")
    repo.put("k/001", {"n": "edited"}, embedding=[1, 1])
    repo.put("k/002", {"n": "on the side"}, branch="side")
    repo.merge("side")
    repo.delete("k/003")
    repo.undo()
    return repo


def refs(repo):
    return repo.branches(), repo.tags()


def objects(repo):
    return set(repo.blocks.engine.ids())


def assert_complete(engine):
    """Every commit that is there has all that it reaches, whether or not a ref leads to it."""
    there = MemoryEngine()
    there.write(dict(engine.read(list(engine.ids()))))
    for number, block in enumerate(list(engine.ids())):
        data = engine.read([block])[block]
        if not is_vector(block) and object_kind(block, data) == "commit":
            there.write({}, RefUpdate(f"branch/{number}", None, block))
    assert verify_objects(Repository(there).blocks).problems == ()


class Watched(FaultyEngine):
    """Notes what is written, and what of it was there before."""

    def __init__(self, engine):
        super().__init__(engine)
        self.new, self.again, self.writes = set(), set(), 0

    def write(self, objects, update=None):
        self.again |= self.engine.read(list(objects)).keys()
        self.new |= objects.keys()
        self.writes += 1
        super().write(objects, update)


class Asked(FaultyEngine):
    """Notes which objects are read."""

    def __init__(self, engine):
        super().__init__(engine)
        self.read_ids: set[bytes] = set()

    def read(self, ids):
        self.read_ids.update(ids)
        return super().read(ids)


class Lying(FaultyEngine):
    """Gives other bytes for one object."""

    def __init__(self, engine, block):
        super().__init__(engine)
        self.block = block

    def read(self, ids):
        found = dict(super().read(ids))
        if self.block in found:
            found[self.block] = found[self.block][:-1] + bytes([found[self.block][-1] ^ 1])
        return found


class Overtaken(FaultyEngine):
    """Calls a function before those turns at the write lock whose numbers are given."""

    def __init__(self, engine, disturb, at):
        super().__init__(engine)
        self.disturb, self.at, self.turns = disturb, at, 0

    @contextmanager
    def exclusive(self) -> Generator[None]:
        self.turns += 1
        if self.turns in self.at:
            self.disturb()
        with self.engine.exclusive():
            yield


class Plain:
    """An engine without any capability."""

    url = "plain://"
    read_only = False

    def __init__(self):
        memory = MemoryEngine()
        self.read, self.ref, self.refs = memory.read, memory.ref, memory.refs
        self.write, self.close = memory.write, memory.close

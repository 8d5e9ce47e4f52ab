"""Clones and pulls between engines: the time they take, and bytes sent against bytes needed.

*Needed*: the blocks that the new commits reach and that the target lacked, found by walking both
histories whole. *Given* is what the target was asked to store.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

from benchmarks import data
from benchmarks.engines.work import content, key
from benchmarks.measure import timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from benchmarks.engines.sites import Site
    from mnemosyne_vcs.blocks import Blocks
    from mnemosyne_vcs.engine.protocol import Engine, RefUpdate
    from mnemosyne_vcs.ids import Id

LOADS = 10


def grow(site: Site, repository: str, records: int, commits: int) -> None:
    """Make a repository of that many records and commits: a few large commits, then commits of one
    record, of which every second one replaces a record."""
    import mnemosyne_vcs

    singles = commits - LOADS
    loaded = records - (singles + 1) // 2
    vectors = data.random_vectors(data.SEED + 50, loaded)
    with mnemosyne_vcs.open(site.url(repository), create=True, durability="relaxed") as store:
        for part in range(LOADS):
            with store.transaction(message="load") as transaction:
                for row in range(part, loaded, LOADS):
                    transaction.put(key(row), content(row), embedding=vectors[row])
    commit(site, repository, loaded, singles)


def commit(site: Site, repository: str, first: int, count: int) -> None:
    """Commit records one by one: new ones from row ``first`` on, and replaced ones by turns."""
    import mnemosyne_vcs

    vectors = data.random_vectors(data.SEED + 60 + first, count)
    with mnemosyne_vcs.open(site.url(repository), durability="relaxed") as store:
        for number in range(count):
            row = first - 1 - number // 2 if number % 2 else first + number // 2
            store.put(key(row), content(-1 - row - first), embedding=vectors[number])


def count(site: Site, repository: str) -> int:
    """How many records a repository has."""
    import mnemosyne_vcs

    with mnemosyne_vcs.open(site.url(repository), read_only=True) as store:
        return store.at().count()


def clone(source: Site, origin: str, target: Site, copy: str) -> dict[str, list[float]]:
    """Seconds that a clone takes."""
    import mnemosyne_vcs

    def run() -> None:
        mnemosyne_vcs.clone(source.url(origin), target.url(copy)).close()

    return {"clone": [timed(run)]}


def pull(target: Site, copy: str) -> dict[str, list[float]]:
    """Seconds that a pull from where the copy came from takes, both stores being open."""
    import mnemosyne_vcs

    with (
        mnemosyne_vcs.open(target.url(copy)) as repository,
        mnemosyne_vcs.open(repository.remotes()["origin"], read_only=True) as origin,
    ):
        origin.resolve()
        repository.resolve()
        return {"pull": [timed(repository.pull, origin)]}


def metered_clone(source: Site, origin: str, target: Site, copy: str) -> dict[str, list[float]]:
    """The bytes of a clone, of which nothing is timed."""
    from mnemosyne_vcs.blocks import Blocks
    from mnemosyne_vcs.engine import open_engine
    from mnemosyne_vcs.sync import branches

    def run(source_url: str, target_url: str) -> int:
        there = Blocks(open_engine(source_url, read_only=True))
        here = Blocks(open_engine(target_url, create=True))
        given = _counted(here.engine)
        mover = branches.RefWriter("benchmark", time.time_ns() // 1_000_000)
        branches.clone(there, here, mover, remote="origin")
        return sum(given)

    needed = _needed(source, origin, None)
    return _metered("clone", run, source, origin, target, copy, needed)


def metered_pull(source: Site, origin: str, target: Site, copy: str) -> dict[str, list[float]]:
    """The bytes of a pull, of which nothing is timed."""
    import mnemosyne_vcs

    def run(source_url: str, target_url: str) -> int:
        with mnemosyne_vcs.open(target_url) as repository:
            given = _counted(repository.blocks.engine)
            repository.pull(source_url)
            return sum(given)

    with mnemosyne_vcs.open(target.url(copy)) as repository:
        before = repository.resolve().id
    return _metered("pull", run, source, origin, target, copy, _needed(source, origin, before))


def _metered(
    name: str,
    run: Callable[[str, str], int],
    source: Site,
    origin: str,
    target: Site,
    copy: str,
    needed: int,
) -> dict[str, list[float]]:
    """Run by way of proxies; the bytes by measure."""
    with source.metered() as (there, read), target.metered() as (here, written):
        given = run(there.url(origin), here.url(copy))
    found = {f"{name}_given": [float(given)], f"{name}_needed": [float(needed)]}
    if source.port:
        found |= {f"{name}_asked": [float(read[0])], f"{name}_read": [float(read[1])]}
    if target.port:
        found |= {f"{name}_sent": [float(written[0])], f"{name}_answered": [float(written[1])]}
    return found


def _counted(engine: Engine) -> list[int]:
    """Have an engine note how many bytes of blocks it is given from now on."""
    given: list[int] = []
    write = engine.write

    def noting(objects: Mapping[Id, bytes], update: RefUpdate | None = None) -> None:
        given.append(sum(map(len, objects.values())))
        write(objects, update)

    engine.write = noting  # type: ignore[method-assign]
    return given


def _needed(site: Site, repository: str, known: str | None) -> int:
    """Bytes of the blocks that ``main`` reaches and a commit, if one is given, does not."""
    import mnemosyne_vcs

    with mnemosyne_vcs.open(site.url(repository), read_only=True) as store:
        there = _reached(store.blocks, store.resolve().cid)
        if known is not None:
            there -= _reached(store.blocks, store.resolve(known).cid)
        return sum(
            len(block) for part in _parts(there) for block in store.blocks.read(part).values()
        )


def _reached(blocks: Blocks, head: Id) -> set[Id]:
    """All blocks that a commit reaches."""
    from mnemosyne_vcs.format.objects import decode_record

    lookup = blocks.walk()
    known: set[Id] = set()
    roots: set[Id] = set()
    waiting = [head]
    while waiting:
        cid = waiting.pop()
        if cid not in known:
            known.add(cid)
            commit = lookup(cid)
            roots.add(commit.tree_cid)
            waiting += commit.parent_cids
    records: set[Id] = set()
    level = roots
    while level:
        known |= level
        nodes = blocks.nodes(level).values()
        records.update(link for node in nodes if not node.level for link in node.links)
        level = {link for node in nodes if node.level for link in node.links} - known
    for part in _parts(records):
        for block, stored in blocks.read(part).items():
            known.update(decode_record(block, stored).vectors.values())
    return known | records


def _parts(ids: Iterable[Id]) -> Iterator[list[Id]]:
    remaining = iter(ids)
    while part := list(islice(remaining, 500)):
        yield part

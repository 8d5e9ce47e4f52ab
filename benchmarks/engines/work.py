"""What a child process does with the repository of one engine; each returns samples by measure."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from benchmarks import data
from benchmarks.engines.cores import keep_to
from benchmarks.measure import Samples, rotated, timed

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from benchmarks.engines.sites import Site
    from mnemosyne_vcs import Commit, Repository

BATCH = 1_000
IN_A_ROW = 100
STORE = "records"
_EVENTS = ("asked for invoices in euros", "prefers a call to a letter", "renews in March")


def load(site: Site, dataset: Path) -> dict[str, list[float]]:
    """Write the whole dataset, in commits of ``BATCH`` records."""
    import mnemosyne_vcs

    vectors = data.read(dataset).vectors
    with mnemosyne_vcs.open(site.url(STORE), create=True) as repository:

        def write() -> None:
            for start in range(0, len(vectors), BATCH):
                rows = range(start, min(start + BATCH, len(vectors)))
                with repository.transaction(message="load") as transaction:
                    for row in rows:
                        transaction.put(key(row), content(row), embedding=vectors[row])

        return {"load": [timed(write)]}


def commits(
    site: Site, dataset: Path, number: int, repeats: int, cores: Collection[int] = ()
) -> dict[str, list[float]]:
    """Durable commits of one record, many in a row, each time followed by as many plain writes of
    just the bytes of the blocks that they made. The nodes of the tree were read before, and the
    records that are replaced were not, but for those that were just written.

    Args:
        site: the engine.
        dataset: the records that are there.
        number: which round this is; each writes other records.
        repeats: how many commits of each kind.
        cores: those that this process keeps to; by default all.
    """
    import mnemosyne_vcs

    keep_to(cores)
    size, length = data.read(dataset).size, min(IN_A_ROW, repeats)
    parts = 1 + repeats // length
    vectors = iter(data.random_vectors(data.SEED + 100 + number, 3 * parts * length))
    samples, raw = Samples(), site.raw()
    with (
        mnemosyne_vcs.open(site.url(STORE)) as repository,
        mnemosyne_vcs.open(site.url(STORE), read_only=True) as reader,
    ):
        _read_tree(repository)
        for part in range(parts):
            first = (number * parts + part) * length
            taken = Samples()
            for kind in ("new", "again", "replaced"):
                made: list[Commit] = []
                for row in range(first, first + length):
                    place = row * 7 % size if kind == "replaced" else size + row
                    text = content(place if kind == "again" else -place)
                    record = key(place), text, next(vectors)
                    spent = timed(_put, repository, record, made)
                    taken.add(f"commit_{kind}", spent)
                written = [made_by(reader, commit) for commit in made]
                taken.add(f"commit_{kind}_bytes", *map(len, written))
                for name in rotated(list(raw.writes), part):
                    spent = [timed(raw.writes[name], blocks) for blocks in written]
                    taken.add(f"{name}_{kind}", *spent)
            if part:  # the first warms up
                for name, values in taken.values.items():
                    samples.add(name, *values)
    raw.close()
    return samples.values


def _put(repository: Repository, record: tuple[str, Any, Any], made: list[Commit]) -> None:
    name, value, vector = record
    made.append(repository.put(name, value, embedding=vector))


def reads(site: Site, dataset: Path, repeats: int) -> dict[str, list[float]]:
    """Records by key, each beside a plain read of as many bytes; then searches.

    Each begins with the question where the branch is, so that it sees what others have committed.
    The nodes of the tree were read before, the records were not.
    """
    import mnemosyne_vcs

    found = data.read(dataset)
    samples, raw = Samples(), site.raw()
    with mnemosyne_vcs.open(site.url(STORE)) as repository:
        sizes = [_stored_bytes(repository, key(row)) for row in range(min(10, found.size))]
        for size in sizes:
            raw.writes["raw_write"](bytes(size))
        step = max(1, found.size // (repeats + 1))
        _read_tree(repository)
        for turn in range(repeats + 1):
            row = turn * step % found.size
            seconds = timed(lambda name: repository.at()[name], key(row)), timed(raw.read)
            if turn:
                samples.add("read", seconds[0])
                samples.add("raw_read", seconds[1])
        for turn, query in zip(range(repeats + 1), cycle(found.queries), strict=False):
            spent = timed(lambda vector: repository.at().search(vector, limit=data.TOP), query)
            if turn:
                samples.add("search", spent)
    raw.close()
    return samples.values


def _read_tree(repository: Repository) -> None:
    """Have the nodes of the tree in the cache, as a process has that works for a while."""
    for _ in repository.at():
        pass


def key(row: int) -> str:
    return f"notes/{data.record_id(row)}"


def content(row: int) -> dict[str, Any]:
    event = _EVENTS[row % len(_EVENTS)]
    return {
        "text": f"Ticket {row:06d}: the customer {event}, as noted after the weekly review.",
        "metadata": {"ticket": row, "channel": "email", "priority": row % 3},
    }


def made_by(repository: Repository, commit: Commit) -> bytes:
    """The bytes of the blocks that a commit has made, one after the other."""
    from mnemosyne_vcs.sync.new_objects import additions

    blocks = repository.blocks

    def vectors(records: set[bytes]) -> set[bytes]:
        return {link for each in records for link in blocks.stored(each).vectors.values()}

    (added,) = additions(blocks, [commit])
    new = vectors(added.records) - vectors(added.replaced)
    found = blocks.read([commit.cid, *added.nodes, *added.records, *new])
    return b"".join(found.values())


def _stored_bytes(repository: Repository, name: str) -> int:
    """The size of a record as stored, without its vectors, which are read when asked for."""
    from mnemosyne_vcs import tree

    blocks, snapshot = repository.blocks, repository.at()
    block = tree.get(blocks.node, snapshot.root, name)
    assert block is not None
    return len(blocks.read_one(block))

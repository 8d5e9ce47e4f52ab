"""The tree against a plain reading of its rule: roots, node sizes, costs and bad keys."""

import random
import uuid
from collections.abc import Collection, Iterator
from hashlib import sha256
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne_vcs import tree
from mnemosyne_vcs.format.objects import Node, decode_node, encode_node, object_id
from mnemosyne_vcs.ids import Id

SHORTEST, LONGEST = 21, 42


def record(value: object) -> Id:
    return object_id(str(value).encode())


def priority(level: int, key: str) -> bytes:
    return sha256(bytes([level]) + key.encode()).digest()[:4]


def rebuilt(records: dict[str, Id]) -> list[list[Node]]:
    """The levels of the tree, leaves first, by its rule and nothing else."""
    entries = [(key, records[key], 1) for key in sorted(records, key=str.encode)]
    levels: list[list[Node]] = []
    while not levels or len(levels[-1]) > 1:
        level, nodes, rest = len(levels), list[Node](), entries
        while rest or not nodes:
            end = len(rest)
            if end > SHORTEST:
                window = range(SHORTEST, min(LONGEST, end) + 1)
                end = min(window, key=lambda size: (priority(level, rest[size - 1][0]), size))
            keys, links, counts = zip(*rest[:end], strict=True) if rest else ((), (), ())
            nodes.append(Node(level, keys, links, counts))
            rest = rest[end:]
        levels.append(nodes)
        entries = [
            (node.keys[-1], object_id(encode_node(node)), node.count) for node in nodes if node.keys
        ]
    return levels


def rebuilt_root(records: dict[str, Id]) -> Id:
    return object_id(encode_node(rebuilt(records)[-1][0]))


class Forest:
    """Every node ever made, and how often nodes were looked up."""

    def __init__(self) -> None:
        self.nodes: dict[Id, Node] = {}
        self.reads = 0

    def lookup(self, block: Id) -> Node:
        self.reads += 1
        return self.nodes[block]

    def lookup_many(self, blocks: Collection[Id]) -> dict[Id, Node]:
        return {block: self.lookup(block) for block in blocks}

    def edit(self, root: Id, changes: dict[str, Id | None]) -> tree.Edit:
        made = tree.edit(self.lookup, root, changes)
        assert made.blocks.keys() == made.nodes.keys()
        for block, data in made.blocks.items():
            assert object_id(data) == block
            assert encode_node(made.nodes[block]) == data
        self.nodes.update(made.nodes)
        return made

    def build(self, records: dict[str, Id]) -> Id:
        return self.edit(tree.EMPTY_ROOT, dict(records)).root

    def reading(self, work: Iterator[object]) -> int:
        """How many nodes it takes to run through an iterator."""
        before = self.reads
        for _ in work:
            pass
        return self.reads - before

    def height(self, root: Id) -> int:
        return self.nodes[root].level + 1


def crew_key(rng: random.Random) -> str:
    return f"/crew/team-{rng.randrange(4)}/{uuid.UUID(int=rng.getrandbits(128))}"


def long_key(rng: random.Random) -> str:
    return "/company-memory/support" + crew_key(rng)


def crew_records(size: int, seed: int = 1) -> dict[str, Id]:
    rng = random.Random(seed)
    return {crew_key(rng): record(index) for index in range(size)}


@pytest.mark.parametrize("size", [*range(0, 90), 440, 441, 442, 900, 3000])
def test_a_build_is_what_the_rule_says(size):
    records = {f"k/{index:04}": record(index) for index in range(size)}
    forest = Forest()
    root = forest.build(records)
    assert root == rebuilt_root(records)
    assert dict(tree.scan(forest.lookup, root)) == records
    assert tree.entries(forest.lookup_many, root) == sorted(records.items())
    assert tree.build(records).root == root


def test_the_empty_tree_is_one_fixed_node():
    assert object_id(tree.EMPTY_BLOCK) == tree.EMPTY_ROOT
    assert decode_node(tree.EMPTY_ROOT, tree.EMPTY_BLOCK).count == 0
    assert tree.build({}) == tree.Edit(tree.EMPTY_ROOT, {}, {})
    lookup = Forest().lookup
    assert tree.get(lookup, tree.EMPTY_ROOT, "a") is None
    assert tree.get_many(lambda _: {}, tree.EMPTY_ROOT, ["a"]) == {}
    assert tree.count(lookup, tree.EMPTY_ROOT) == 0
    assert list(tree.scan(lookup, tree.EMPTY_ROOT)) == []
    assert list(tree.scan(lookup, tree.EMPTY_ROOT, reverse=True)) == []
    assert list(tree.children(lookup, tree.EMPTY_ROOT)) == []
    assert list(tree.walk(lookup, tree.EMPTY_ROOT, set())) == [(tree.EMPTY_ROOT, None)]


@pytest.mark.parametrize("size", [1, 21, 42, 43, 2000])
def test_deleting_everything_leaves_the_empty_tree(size):
    records = crew_records(size)
    forest = Forest()
    root = forest.build(records)
    made = forest.edit(root, dict.fromkeys(records))
    assert made.root == tree.EMPTY_ROOT
    assert made.blocks == {tree.EMPTY_ROOT: tree.EMPTY_BLOCK}
    assert [key for key, _, _ in tree.diff(forest.lookup, root, made.root)] == sorted(records)
    assert forest.build(records) == root


def test_an_edit_that_changes_nothing_makes_nothing():
    records = crew_records(500)
    forest = Forest()
    root = forest.build(records)
    key = next(iter(records))
    same = {key: records[key]}
    for changes in ({}, {"absent": None}, same, same | {"zz": None}, dict(records)):
        assert forest.edit(root, changes) == tree.Edit(root, {}, {})


def test_only_new_nodes_are_handed_out():
    records = crew_records(3000)
    forest = Forest()
    root = forest.build(records)
    before = set(forest.nodes)
    rng = random.Random(2)
    batches = [{crew_key(rng): record(rng.random())} for _ in range(50)]
    shrinking = [dict.fromkeys(list(records)[kept:]) for kept in (600, 100, 30)]
    for changes in [*batches, *shrinking]:
        made = forest.edit(root, changes)
        reachable = {block for block, key in tree.walk(forest.lookup, made.root, set()) if not key}
        assert set(made.blocks) == reachable - before
        before |= set(made.blocks)


@pytest.mark.parametrize("seed", range(12))
def test_edits_of_large_trees_end_where_a_rebuild_does(seed):
    rng = random.Random(seed)
    universe = [f"k/{index:05}" for index in range(rng.choice([60, 700, 3000]))]
    forest, records, root = Forest(), dict[str, Id](), tree.EMPTY_ROOT
    for _ in range(12):
        size = rng.choice([1, 2, 5, 60, len(universe) // 2])
        first = rng.randrange(len(universe))
        together = universe[first : first + size]
        keys = rng.choice([together, rng.sample(universe, min(size, len(universe)))])
        deleting = rng.choice([0.1, 0.5, 1])
        changes = {
            key: None if rng.random() < deleting else record(rng.randrange(3)) for key in keys
        }
        root = forest.edit(root, changes).root
        records.update({key: link for key, link in changes.items() if link})
        for key, link in changes.items():
            if link is None:
                records.pop(key, None)
        assert root == rebuilt_root(records)


@pytest.mark.parametrize("size", [45, 90, 150, 400, 1500])
def test_single_edits_end_where_a_rebuild_does(size):
    rng = random.Random(size)
    universe = [f"k/{index:05}" for index in range(size)]
    forest, records = Forest(), {key: record(0) for key in universe[::2]}
    root = forest.build(records)
    for _ in range(max(200, 300_000 // size)):
        key = rng.choice(universe)
        if records.pop(key, None):
            root = forest.edit(root, {key: None}).root
        else:
            records[key] = record(rng.random())
            root = forest.edit(root, {key: records[key]}).root
        assert root == rebuilt_root(records)


def test_inserts_around_the_end_of_a_node_that_becomes_the_longest():
    """What the node after it does is not hidden by a node that has all the keys it can have."""
    rng, cases = random.Random(1), 0
    while cases < 200:
        forest = Forest()
        records = {f"k/{number:04}": record(0) for number in rng.sample(range(2000), 160)}
        root, keys = forest.build(records), sorted(records)
        ends = [n.keys[-1] for n in forest.nodes.values() if len(n.keys) == LONGEST - 1]
        if ends and keys.index(ends[0]) < 110:
            cases += 1
            end = keys.index(ends[0])
            places = [end - 3, end, end + rng.randrange(1, 40)]
            changes = {f"{keys[place]}+": record(1) for place in places}
            assert forest.edit(root, changes).root == rebuilt_root({**records, **changes})


@pytest.mark.parametrize("size", [*range(20, 44), 100])
def test_appending_many_at_once(size):
    for name in range(40):
        keys = [f"{name}/{index:03}" for index in range(size + 130)]
        forest = Forest()
        root = forest.build({key: record(key) for key in keys[:size]})
        root = forest.edit(root, {key: record(key) for key in keys[size:]}).root
        assert root == rebuilt_root({key: record(key) for key in keys})


def test_growing_at_either_end_and_shrinking_again():
    keys = [f"k/{index:04}" for index in range(1000)]
    for order in (keys, keys[::-1]):
        forest, records, root = Forest(), dict[str, Id](), tree.EMPTY_ROOT
        for step in (1, 2, 5, 9):
            for first in range(0, 150 * step, step):
                added = {key: record(step) for key in order[first : first + step]}
                root = forest.edit(root, added).root
                records |= added
                assert root == rebuilt_root(records)
            for first in range(0, 1000, 50):
                root = forest.edit(root, dict.fromkeys(order[first : first + 50])).root
                records = {key: records[key] for key in order[first + 50 :] if key in records}
                assert root == rebuilt_root(records)


@given(st.data())
def test_every_way_to_one_set_of_records_gives_one_root(data):
    keys = [f"k/{index:03}" for index in range(150)]
    records = {key: record(key) for key in data.draw(st.sets(st.sampled_from(keys)))}
    passing = data.draw(st.sets(st.sampled_from(keys)))
    order = data.draw(st.permutations(keys))
    parts = data.draw(st.integers(1, 5))
    forest = Forest()
    root = forest.edit(tree.EMPTY_ROOT, {key: record("passing") for key in passing}).root
    for part in range(parts):
        root = forest.edit(root, {key: records.get(key) for key in order[part::parts]}).root
    assert root == rebuilt_root(records)


def mined(prefix: str, accept) -> str:
    """A key with a prefix whose priority in a leaf is to one's liking."""
    candidates = (f"{prefix}-{index}" for index in count())
    return next(key for key in candidates if accept(priority(0, key)))


@pytest.mark.parametrize("behind", range(LONGEST - SHORTEST, LONGEST + SHORTEST))
def test_a_node_grows_if_the_last_key_that_its_cut_saw_goes_or_comes(behind):
    """A node of the least size, and the key after its window, which cuts it if it can be seen."""
    cuts = {SHORTEST - 1: 1, LONGEST: 0}

    def nth(index: int) -> str:
        least = cuts.get(index)
        accept = (lambda found: found[0] == least) if index in cuts else (lambda f: f[0] > 1)
        return mined(f"{index:03}", accept)

    keys = [nth(index) for index in range(LONGEST * 3)]
    records = {key: record(key) for key in keys}
    assert len(rebuilt(records)[0][0].keys) == SHORTEST
    gone = keys[behind]
    rest = {key: each for key, each in records.items() if key != gone}
    grows = SHORTEST <= behind < LONGEST
    assert len(rebuilt(rest)[0][0].keys) == (LONGEST if grows else SHORTEST)
    forest = Forest()
    assert forest.edit(forest.build(records), {gone: None}).root == rebuilt_root(rest)
    assert forest.edit(forest.build(rest), {gone: records[gone]}).root == rebuilt_root(records)


def keys_by_priority(size: int, *, ascending: bool) -> list[str]:
    def nth(index: int) -> str:
        slot = index if ascending else size - 1 - index
        return mined(f"{index:05}", lambda found: int.from_bytes(found) * size >> 32 == slot)

    return [nth(index) for index in range(size)]


def high_priorities(size: int) -> list[str]:
    return [mined(f"{index:05}", lambda found: found[0] == 255) for index in range(size)]


def variations() -> list[str]:
    stem = "x" * 40
    letters = "aA0é߿ࠀ￿\U00010000\U0010ffff"
    return [stem[:at] + letter + stem[at:] for at in range(41) for letter in letters]


ADVERSARIAL = {
    "ascending priorities": keys_by_priority(300, ascending=True),
    "descending priorities": keys_by_priority(300, ascending=False),
    "priorities all high": high_priorities(400),
    "very long shared prefixes": ["p" * 4000 + f"{index:04}" for index in range(500)],
    "each a prefix of the next": ["q" * length for length in range(1, 600)],
    "one character apart": variations(),
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_no_keys_make_nodes_too_long_or_too_short(name):
    records = {key: record(key) for key in ADVERSARIAL[name]}
    levels = rebuilt(records)
    forest = Forest()
    rng = random.Random(3)
    root = tree.EMPTY_ROOT
    shuffled = rng.sample(sorted(records), len(records))
    for key in shuffled:
        root = forest.edit(root, {key: records[key]}).root
    assert root == object_id(encode_node(levels[-1][0]))
    for nodes in levels:
        assert all(SHORTEST <= len(node.keys) <= LONGEST for node in nodes[:-1])
        assert 1 <= len(nodes[-1].keys) <= LONGEST
    for key in shuffled[: len(shuffled) // 2]:
        root = forest.edit(root, {key: None}).root
        del records[key]
    assert root == rebuilt_root(records)
    assert list(tree.scan(forest.lookup, root)) == sorted(records.items())


def test_mined_priorities_cut_at_the_bounds():
    sizes = {}
    for name in ("ascending priorities", "descending priorities"):
        leaves = rebuilt({key: record(key) for key in ADVERSARIAL[name]})[0]
        sizes[name] = {len(leaf.keys) for leaf in leaves[:-1]}
    assert sizes == {"ascending priorities": {SHORTEST}, "descending priorities": {LONGEST}}


def test_of_equal_priorities_the_first_cuts():
    first, second = "n/0236285", "n/0321394"
    assert priority(0, first) == priority(0, second)
    assert sha256(b"\0" + first.encode()).digest() > sha256(b"\0" + second.encode()).digest()

    def above(prefix: str) -> str:
        return mined(prefix, lambda found: found > priority(0, first))

    before = [above(f"a/{index:02}") for index in range(24)]
    between = [above(f"{first}/{index}") for index in range(4)]
    behind = [above(f"z/{index:02}") for index in range(30)]
    forest = Forest()
    root = forest.build({key: record(key) for key in [*before, first, *between, second, *behind]})
    assert forest.nodes[root].keys[0] == first
    root = forest.edit(root, {first: None}).root
    assert forest.nodes[root].keys[0] == second


def test_all_four_bytes_of_a_priority_count():
    first, second = "m/026594", "m/048874"
    assert priority(0, first)[:3] == priority(0, second)[:3]
    assert priority(0, first) > priority(0, second)
    records = {f"a/{index:02}": record(index) for index in range(20)}
    between = [mined(first, lambda found: found > priority(0, first))]
    behind = [mined(f"z/{index}", lambda found: found > priority(0, first)) for index in range(30)]
    root = (forest := Forest()).build(
        records | {key: record(key) for key in [first, *between, second, *behind]}
    )
    assert forest.nodes[root].keys[0] == second


def test_keys_come_in_the_order_of_their_bytes():
    keys = ["a", "z", "é", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"]
    forest = Forest()
    root = forest.build({key: record(key) for key in reversed(keys)})
    assert [key for key, _ in tree.scan(forest.lookup, root)] == sorted(keys, key=str.encode)


@pytest.mark.parametrize("prefix", ["", "\ud7ff", "\uffff", "\U0010ffff", "a\U0010ffff\U0010ffff"])
def test_prefixes_at_the_edges_of_the_code_points(prefix):
    tails = ["", "a", "\ud7ff", "\ue000", "\U0010ffff", "\U0010ffff\U0010ffff"]
    keys = {head + tail for head in ["", "a", "b", prefix] for tail in tails} - {""}
    records = {key: record(key) for key in keys}
    forest = Forest()
    root = forest.build(records)
    expected = sorted(key for key in keys if key.startswith(prefix))
    assert [key for key, _ in tree.scan(forest.lookup, root, prefix)] == expected
    assert tree.count(forest.lookup, root, prefix) == len(expected)
    changed = tree.diff(forest.lookup, tree.EMPTY_ROOT, root, prefix)
    assert [key for key, _, _ in changed] == expected


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("prefix", ["", "k/", "k/1", "k/012", "k/0123", "none", "z"])
def test_a_scan_stays_within_its_prefix_and_start(prefix, reverse):
    records = {f"k/{index:04}": record(index) for index in range(0, 2000, 3)}
    forest = Forest()
    root = forest.build(records)
    under = sorted(
        (item for item in records.items() if item[0].startswith(prefix)), reverse=reverse
    )
    assert tree.count(forest.lookup, root, prefix) == len(under)
    assert list(tree.scan(forest.lookup, root, prefix, reverse=reverse)) == under
    for start in ["", "a", "k/", "k/0123", "k/0124", "k/0129", "k/1000", "k/1998", "k/2", "zz"]:
        expected = [item for item in under if (item[0] <= start if reverse else item[0] >= start)]
        found = tree.scan(forest.lookup, root, prefix, start=start, reverse=reverse)
        assert list(found) == expected


def test_children_stand_for_their_subtrees():
    keys = ["a", "a-b", "a/1", "a/2/x", "b/1", "c", "c/", "/d/1"]
    forest = Forest()
    root = forest.build({key: record(key) for key in keys})
    assert list(tree.children(forest.lookup, root)) == ["/", "a", "a-b", "a/", "b/", "c", "c/"]
    assert list(tree.children(forest.lookup, root, "a/")) == ["1", "2/"]
    assert list(tree.children(forest.lookup, root, "c/")) == []
    assert list(tree.children(forest.lookup, root, "a", "-")) == ["-", "/1", "/2/x"]
    assert list(tree.children(forest.lookup, root, "none/")) == []


def test_a_walk_gives_each_block_once_and_skips_the_known():
    records = crew_records(2000) | {"twice/1": record(0), "twice/2": record(0)}
    forest = Forest()
    root = forest.build(records)
    known = set[Id]()
    found = list(tree.walk(forest.lookup, root, known))
    assert len(found) == len(known)
    assert {block for block, key in found if key} == set(records.values())
    assert {block for block, key in found if not key} == set(forest.nodes)
    assert all(records[key] == block for block, key in found if key)
    made = forest.edit(root, {"twice/1": record("new")})
    rest = list(tree.walk(forest.lookup, made.root, known))
    assert {block for block, _ in rest} == {*made.blocks, record("new")}
    assert list(tree.walk(forest.lookup, made.root, known)) == []


def bytes_of_edits(size: int, make_key, *, inserting: bool) -> list[int]:
    rng = random.Random(size)
    records = {make_key(rng): record(index) for index in range(size)}
    forest = Forest()
    root = forest.build(records)
    keys = list(records)
    costs = list[int]()
    for index in range(300):
        key = make_key(rng) if inserting else rng.choice(keys)
        made = tree.edit(forest.lookup, root, {key: record(f"new {index}")})
        costs.append(sum(map(len, made.blocks.values())))
    return sorted(costs)


@pytest.mark.parametrize("inserting", [False, True])
@pytest.mark.parametrize("make_key", [crew_key, long_key])
@pytest.mark.parametrize("size", [1000, 10_000])
def test_a_one_record_edit_writes_few_bytes(size, make_key, inserting):
    costs = bytes_of_edits(size, make_key, inserting=inserting)
    assert sum(costs) / len(costs) <= 8192
    assert costs[len(costs) * 99 // 100] <= 24 * 1024


def test_an_update_makes_one_node_a_level_and_reads_only_those():
    forest = Forest()
    records = crew_records(10_000)
    root = forest.build(records)
    for key in random.Random(4).sample(sorted(records), 100):
        forest.reads = 0
        made = forest.edit(root, {key: record("new")})
        height = forest.height(root)
        assert len(made.blocks) == height
        assert forest.reads <= height * (height + 1) // 2 + 1


def test_an_insert_stays_local():
    forest = Forest()
    root = forest.build(crew_records(10_000))
    rng = random.Random(5)
    reads, blocks = list[int](), list[int]()
    for _ in range(300):
        forest.reads = 0
        blocks.append(len(forest.edit(root, {crew_key(rng): record("new")}).blocks))
        reads.append(forest.reads)
    assert sum(blocks) / len(blocks) <= 5
    assert sum(reads) / len(reads) <= 16
    assert max(reads) <= 100


@pytest.mark.parametrize("size", [1000, 10_000, 30_000])
def test_reads_grow_with_the_height_and_not_the_size(size):
    forest = Forest()
    records = crew_records(size)
    root = forest.build(records)
    height = forest.height(root)
    keys = sorted(records)
    rng = random.Random(6)

    def reads(call, *args) -> int:
        before = forest.reads
        call(forest.lookup, root, *args)
        return forest.reads - before

    assert reads(tree.get, keys[size // 2]) == height
    assert reads(tree.count) <= height + 1
    assert reads(tree.count, "/crew/team-2/") <= 2 * height
    scanned = tree.scan(forest.lookup, root, start=keys[size // 2])
    assert forest.reading(islice(scanned, 20)) <= height + 1
    scanned = tree.scan(forest.lookup, root, start=keys[size // 2], reverse=True)
    assert forest.reading(islice(scanned, 20)) <= height + 1
    assert forest.reading(tree.children(forest.lookup, root, "/crew/")) <= 5 * (height + 1)
    for _ in range(20):
        made = forest.edit(root, {rng.choice(keys): record(rng.random())})
        assert forest.reading(tree.diff(forest.lookup, root, made.root)) <= 2 * height
        made = forest.edit(root, {crew_key(rng): record("new")})
        cost = forest.reading(tree.diff(forest.lookup, root, made.root))
        assert cost <= 2 * height + 2 * len(made.blocks)
        assert forest.reading(tree.diff(forest.lookup, root, made.root, "/crew/none/")) <= 2 * (
            height + 1
        )


def test_a_diff_finds_its_step_again_after_many_inserts_in_one_place():
    records = {f"k/{index:05}": record(index) for index in range(10_000)}
    forest = Forest()
    root = forest.build(records)
    made = forest.edit(root, {f"k/00000/{index:03}": record(index) for index in range(300)})
    changes = list(tree.diff(forest.lookup, root, made.root))
    assert len(changes) == 300
    cost = forest.reading(tree.diff(forest.lookup, root, made.root))
    assert cost <= 2 * len(made.blocks) + 10


@pytest.mark.parametrize("small", [0, 1, 30])
def test_a_diff_of_trees_of_different_heights(small):
    records = crew_records(5000)
    few = dict(islice(records.items(), small))
    forest = Forest()
    root, little = forest.build(records), forest.build(few)
    assert [key for key, _, _ in tree.diff(forest.lookup, little, root)] == sorted(
        set(records) - set(few)
    )
    assert list(tree.diff(forest.lookup, root, little)) == [
        (key, link, None) for key, link in sorted(records.items()) if key not in few
    ]


@pytest.mark.parametrize("size", [0, 1, 30, 1000, 3000])
def test_what_was_replaced_is_found_from_two_trees(size):
    chance, forest = random.Random(size), Forest()
    records = {f"{chance.randrange(10**9):09}": record(n) for n in range(size)}
    old = tree.build(records)
    forest.nodes.update(old.nodes)
    changed = chance.choice(sorted(records)) if records else "a"
    new = tree.edit(forest.lookup, old.root, {changed: record("new"), "5": record("added")})
    forest.nodes.update(new.nodes)
    found = dict(tree.replaced(forest.lookup, old.root, new.root))
    if records:
        assert found.pop(record("new")) == records[changed]
        assert found.keys() <= new.nodes.keys()
        assert len(found) >= len(new.nodes) - 1
        assert len(set(found.values()) & new.nodes.keys()) == 0
    assert list(tree.replaced(forest.lookup, new.root, new.root)) == []
    forest.nodes |= tree.build({}).nodes
    for one, other in [(tree.EMPTY_ROOT, new.root), (new.root, tree.EMPTY_ROOT)]:
        assert list(tree.replaced(forest.lookup, one, other)) == []
    small = tree.build(dict(list(records.items())[:5]))
    forest.nodes.update(small.nodes)
    for one, other in [(small.root, new.root), (new.root, small.root)]:
        assert len(list(tree.replaced(forest.lookup, one, other))) <= len(forest.nodes)

"""Any history of a tree agrees with a plain dictionary."""

import random
from bisect import bisect_left

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from mnemosyne_vcs import tree
from mnemosyne_vcs.format.objects import Node, object_id
from mnemosyne_vcs.ids import Id

PARTS = ["a", "b", "ab", "a-", "é", "￿", "𐀀", "\U0010ffff"]
KEYS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("/".join)
PREFIXES = st.one_of(
    st.just(""),
    KEYS,
    KEYS.map("{}/".format),
    st.sampled_from(["bulk/", "bulk/0", "bulk/01", "bulk/1", "bulk/none"]),
)
BULK = 1500
RECORDS = [object_id(bytes([value])) for value in range(4)]


def bulk_key(index: int) -> str:
    return f"bulk/{index:04}"


class TreeMachine(RuleBasedStateMachine):
    """Edits of every kind, each checked against a rebuild, and reads against the dictionary."""

    @initialize(size=st.sampled_from([0, 20, 200, BULK]))
    def begin(self, size: int) -> None:
        self.nodes: dict[Id, Node] = {}
        self.lookup = self.nodes.__getitem__
        self.records: dict[str, Id] = {}
        self.root = tree.EMPTY_ROOT
        self.history: list[tuple[Id, dict[str, Id]]] = [(self.root, {})]
        self.edit({bulk_key(index): RECORDS[index % 4] for index in range(0, size, 2)})

    def edit(self, changes: dict[str, Id | None]) -> None:
        made = tree.edit(self.lookup, self.root, changes)
        self.nodes.update(made.nodes)
        for key, link in changes.items():
            if link is None:
                self.records.pop(key, None)
            else:
                self.records[key] = link
        assert made.root == tree.build(self.records).root
        assert (made.root == self.root) == (self.records == self.history[-1][1])
        self.root = made.root
        self.history.append((self.root, dict(self.records)))

    @rule(changes=st.dictionaries(KEYS, st.none() | st.sampled_from(RECORDS), max_size=20))
    def change_some(self, changes: dict[str, Id | None]) -> None:
        self.edit(changes)

    @rule(
        seed=st.integers(0, 2**16),
        size=st.sampled_from([1, 2, 10, 30, 400]),
        deleting=st.sampled_from([0.0, 0.3, 1.0]),
    )
    def change_scattered(self, seed: int, size: int, deleting: float) -> None:
        rng = random.Random(seed)
        self.edit(
            {
                bulk_key(index): None if rng.random() < deleting else rng.choice(RECORDS)
                for index in rng.sample(range(BULK), size)
            }
        )

    @rule(
        first=st.integers(0, BULK),
        size=st.sampled_from([1, 21, 22, 42, 100, 500]),
        link=st.none() | st.sampled_from(RECORDS),
    )
    def change_together(self, first: int, size: int, link: Id | None) -> None:
        self.edit({bulk_key(index): link for index in range(first, min(first + size, BULK))})

    @rule(data=st.data(), link=st.none() | st.sampled_from(RECORDS))
    def change_present(self, data: st.DataObject, link: Id | None) -> None:
        if self.records:
            keys = sorted(self.records)
            picks = st.lists(st.integers(0, len(keys) - 1), min_size=1, max_size=4)
            self.edit({keys[index]: link for index in data.draw(picks)})

    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        _, records = self.history[data.draw(st.integers(0, len(self.history) - 1))]
        changes: dict[str, Id | None] = dict.fromkeys(self.records)
        self.edit(changes | records)

    @rule(prefix=PREFIXES, key=KEYS | st.integers(0, BULK).map(bulk_key))
    def read(self, prefix: str, key: str) -> None:
        assert tree.get(self.lookup, self.root, key) == self.records.get(key)
        under = sorted(item for item in self.records.items() if item[0].startswith(prefix))
        assert list(tree.scan(self.lookup, self.root, prefix)) == under
        asked = {key, *dict(under)}
        many = {each: record for each, record in self.records.items() if each in asked}
        assert tree.get_many(lambda _: self.nodes, self.root, asked) == many
        assert list(tree.scan(self.lookup, self.root, prefix, reverse=True)) == under[::-1]
        assert tree.count(self.lookup, self.root, prefix) == len(under)
        at = bisect_left(under, (key,))
        assert list(tree.scan(self.lookup, self.root, prefix, start=key)) == under[at:]
        at += key in dict(under)
        backwards = tree.scan(self.lookup, self.root, prefix, start=key, reverse=True)
        assert list(backwards) == under[:at][::-1]

    @rule(prefix=PREFIXES, separator=st.sampled_from(["/", "a", "/a"]))
    def list_children(self, prefix: str, separator: str) -> None:
        rests = [key[len(prefix) :] for key in self.records if key.startswith(prefix)]
        parts = {
            head + found for rest in rests if rest for head, found, _ in [rest.partition(separator)]
        }
        assert list(tree.children(self.lookup, self.root, prefix, separator)) == sorted(parts)

    @rule(data=st.data(), prefix=PREFIXES)
    def compare(self, data: st.DataObject, prefix: str) -> None:
        moments = st.integers(0, len(self.history) - 1)
        root_a, a = self.history[data.draw(moments)]
        root_b, b = self.history[data.draw(moments)]
        expected = [
            (key, a.get(key), b.get(key))
            for key in sorted(a.keys() | b)
            if a.get(key) != b.get(key)
        ]
        assert list(tree.diff(self.lookup, root_a, root_b)) == expected
        assert list(tree.diff(self.lookup, root_a, root_b, prefix)) == [
            change for change in expected if change[0].startswith(prefix)
        ]


TestTree = TreeMachine.TestCase

"""What `verify` finds in stores whose every hash is right and whose objects are wrong."""

from dataclasses import replace

import libipld
import pytest

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.format.objects import (
    Node,
    StoredRecord,
    decode_node,
    encode_commit,
    encode_node,
    encode_record,
    object_id,
)
from mnemosyne_vcs.ids import text_id
from mnemosyne_vcs.maintenance.verify import verify
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.refs import ROOT_COMMIT, initialise
from mnemosyne_vcs.tree.edit import cut

TRANSACTION = "0123456789abcdef" * 2


class Forger:
    """A store into which any block can be put under its right id."""

    def __init__(self) -> None:
        self.blocks = Blocks(open_engine("memory://"))
        initialise(self.blocks.engine, when=0)
        self.head = ROOT_COMMIT.cid

    def put(self, data: bytes) -> bytes:
        block = object_id(data)
        self.blocks.engine.write({block: data})
        return block

    def records(self, keys) -> dict[str, bytes]:
        data = {key: encode_record(StoredRecord(key, TRANSACTION), bytes(16)) for key in keys}
        return {key: self.put(each) for key, each in data.items()}

    def tree(self, keys) -> tree.Edit:
        edit = tree.build(self.records(keys))
        self.blocks.engine.write(edit.blocks)
        return edit

    def commit(self, root: bytes, **fields) -> bytes:
        sound = Commit(
            "",
            (ROOT_COMMIT.id,),
            text_id(root),
            TRANSACTION,
            "a",
            "m",
            timestamp_ms=1,
            generation=1,
        )
        block = self.put(encode_commit(replace(sound, **fields)))
        self.blocks.engine.write({}, RefUpdate("branch/main", self.head, block))
        self.head = block
        return block

    def problems(self) -> dict[str, str]:
        report = verify(self.blocks)
        assert report.ok == (not report.problems)
        assert {problem.kind for problem in report.problems} <= {"corrupt"}
        return {problem.object: problem.message for problem in report.problems}

    def re_forged(self, node: Node) -> bytes:
        """Put a root in the tree's place, as `encode_node` makes it."""
        return self.put(encode_node(node))


@pytest.fixture
def forger():
    return Forger()


KEYS = [f"k/{number:04d}" for number in range(200)]


def test_a_sound_store_has_no_problems(forger):
    forger.commit(forger.tree(KEYS).root)
    assert forger.problems() == {}


def test_a_block_that_is_not_canonical_is_found(forger):
    data = libipld.encode_dag_cbor({"kind": "record", "transaction": TRANSACTION})
    loose = data.replace(b"\x78\x20" + TRANSACTION.encode(), b"\x79\x00\x20" + TRANSACTION.encode())
    assert loose != data
    block = forger.put(loose)
    assert "canonical" in forger.problems()[text_id(block)]


def test_a_stray_block_that_breaks_the_schema_is_found(forger):
    block = forger.put(libipld.encode_dag_cbor({"kind": "record", "content": 1}))
    assert "'transaction'" in forger.problems()[text_id(block)]


def test_a_record_with_an_unknown_field_is_found_under_its_tree(forger):
    fields = {"kind": "record", "content": 1, "transaction": TRANSACTION, "salt": "0" * 32, "x": 1}
    record = forger.put(libipld.encode_dag_cbor(fields))
    edit = tree.build({"k": record})
    forger.blocks.engine.write(edit.blocks)
    forger.commit(edit.root)
    assert list(forger.problems()) == [text_id(record)]


def root_of(edit: tree.Edit) -> Node:
    return decode_node(edit.root, edit.blocks[edit.root])


def swapped(items, at=0):
    changed = list(items)
    changed[at], changed[at + 1] = changed[at + 1], changed[at]
    return changed


@pytest.mark.parametrize(
    "forge",
    [
        lambda root: replace(root, counts=[root.counts[0] + 1, *root.counts[1:]]),
        lambda root: replace(root, links=swapped(root.links)),
        lambda root: replace(root, level=2),
        lambda root: replace(root, keys=[root.keys[0] + "x", *root.keys[1:]]),
        lambda root: replace(root, links=[root.links[1], *root.links[1:]]),
    ],
    ids=["count", "order", "level", "last key", "child twice"],
)
def test_a_node_that_disagrees_with_its_children_is_found(forger, forge):
    root = forger.re_forged(forge(root_of(forger.tree(KEYS))))
    forger.commit(root)
    assert "does not agree with its child" in forger.problems()[text_id(root)]


def test_a_root_with_one_child_is_found(forger):
    edit = forger.tree(KEYS[:20])
    root = forger.re_forged(Node(1, [KEYS[19]], [edit.root], [20]))
    forger.commit(root)
    assert "one child" in forger.problems()[text_id(root)]


def test_a_node_that_the_rule_would_cut_is_found(forger):
    keys = next(some for at in range(9) if cut(0, some := KEYS[at : at + 42], 0) < 42)
    root = forger.re_forged(Node(0, keys, list(forger.records(keys).values()), [1] * 42))
    forger.commit(root)
    assert "more than the rule puts in one node" in forger.problems()[text_id(root)]


def test_a_second_first_commit_is_found(forger):
    block = forger.commit(tree.EMPTY_ROOT, parents=(), generation=0)
    assert "not the root commit" in forger.problems()[text_id(block)]


@pytest.mark.parametrize(
    "fields", [{"generation": 2}, {"timestamp_ms": 0, "generation": 7}], ids=repr
)
def test_a_commit_that_does_not_follow_its_parents_is_found(forger, fields):
    block = forger.commit(tree.EMPTY_ROOT, **fields)
    assert "does not follow its parents" in forger.problems()[text_id(block)]


def test_a_commit_older_than_its_parent_is_found(forger):
    first = forger.commit(tree.EMPTY_ROOT, timestamp_ms=9)
    block = forger.commit(tree.EMPTY_ROOT, parents=(text_id(first),), timestamp_ms=8, generation=2)
    assert "does not follow its parents" in forger.problems()[text_id(block)]

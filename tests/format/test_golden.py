"""The golden vectors of `docs/format`, against the library and a second reading of the text.

A vector never changes: bytes that some store already holds depend on it.
"""

import json
import re
from pathlib import Path

import pytest

import reference_format as reference
from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.sqlite.file import APPLICATION, FORMAT, PAGE_BYTES
from mnemosyne_vcs.engine.sqlite.statements import SCHEMA
from mnemosyne_vcs.errors import CorruptObjectError, ValidationError
from mnemosyne_vcs.format.objects import (
    Node,
    StoredRecord,
    check_id,
    decode_commit,
    decode_node,
    decode_record,
    decode_vector,
    encode_commit,
    encode_node,
    encode_record,
    encode_vector,
    object_id,
    object_kind,
    vector_floats,
    vector_id,
)
from mnemosyne_vcs.format.validation import check_content, check_key
from mnemosyne_vcs.ids import parse_id, text_id
from mnemosyne_vcs.maintenance.strict import check_block
from mnemosyne_vcs.model import Commit, Provenance
from mnemosyne_vcs.refs import ROOT_COMMIT
from mnemosyne_vcs.tree.edit import LONGEST, SHORTEST

FOLDER = Path(__file__).parents[2] / "docs" / "format" / "vectors"
SMALLEST_CORPUS = {
    "commits": 4,
    "content": 25,
    "keys": 20,
    "nodes": 12,
    "records": 15,
    "refused": 100,
    "trees": 10,
    "vectors": 5,
}
STAGES = {"hash", "encoding", "bytes", "depth", "schema", "vector"}


def load(name: str) -> list[dict]:
    return json.loads((FOLDER / f"{name}.json").read_text())["cases"]


def each(name: str):
    return pytest.mark.parametrize("case", load(name), ids=lambda case: case.get("name"))


def test_the_corpus_is_there():
    assert {path.stem for path in FOLDER.glob("*.json")} == SMALLEST_CORPUS.keys()
    for name, least in SMALLEST_CORPUS.items():
        cases = load(name)
        assert len(cases) >= least, name
        assert len({json.dumps(case) for case in cases}) == len(cases), name
    for name in ("content", "keys"):
        assert {case["accepted"] for case in load(name)} == {True, False}
    assert {case["stage"] for case in load("refused")} == STAGES


def stored(fields: dict) -> StoredRecord:
    known = dict(fields.get("provenance", {}))
    if "derived_from" in known:
        known["derived_from"] = tuple((s["key"], s["commit"]) for s in known["derived_from"])
    return StoredRecord(
        fields["content"],
        fields["transaction"],
        {name: parse_id(block) for name, block in fields.get("vectors", {}).items()},
        fields.get("embedder"),
        Provenance(**known),
        fields.get("event_time"),
        fields.get("moved_from"),
    )


@each("records")
def test_records(case):
    block, data = parse_id(case["id"]), bytes.fromhex(case["block"])
    record = stored(case["record"])
    assert encode_record(record, bytes.fromhex(case["salt"])) == data
    assert object_id(data) == block
    assert decode_record(block, data) == record
    assert encode_record(decode_record(block, data), bytes.fromhex(case["salt"])) == data
    assert object_kind(block, data) == check_block(block, data) == "record"
    fields = reference.record(case["record"], case["salt"])
    assert reference.encode(fields) == data
    assert reference.decode(data) == fields


@each("nodes")
def test_nodes(case):
    block, data, given = parse_id(case["id"]), bytes.fromhex(case["block"]), case["node"]
    links = [parse_id(link) for link in given["links"]]
    node = Node(given["level"], given["keys"], links, given["counts"])
    assert encode_node(node) == data
    assert object_id(data) == block
    assert decode_node(block, data) == node
    assert decode_node(block, data).count == sum(given["counts"])
    assert object_kind(block, data) == check_block(block, data) == "node"
    entries = list(zip(given["keys"], links, given["counts"], strict=True))
    assert reference.encode(reference.node(given["level"], entries)) == data
    assert reference.decode(data) == reference.node(given["level"], entries)


@each("commits")
def test_commits(case):
    block, data, fields = parse_id(case["id"]), bytes.fromhex(case["block"]), case["commit"]
    names = {"root": "tree", "transaction": "transaction_id", "time": "timestamp_ms"}
    named = {names.get(name, name): value for name, value in fields.items()}
    commit = Commit(case["id"], **named | {"parents": tuple(fields["parents"])})
    assert encode_commit(commit) == data
    assert object_id(data) == block
    assert decode_commit(block, data) == commit
    assert object_kind(block, data) == check_block(block, data) == "commit"
    assert reference.encode(reference.commit(fields)) == data
    assert reference.decode(data) == reference.commit(fields)


def test_the_root_commit_is_the_golden_one():
    [case] = [case for case in load("commits") if case["name"] == "the-root-commit"]
    assert case["id"] == ROOT_COMMIT.id
    assert bytes.fromhex(case["block"]) == encode_commit(ROOT_COMMIT)


@each("vectors")
def test_vectors(case):
    block, data = parse_id(case["id"]), bytes.fromhex(case["block"])
    floats = vector_floats(case["floats"], "vector")
    assert encode_vector(floats, bytes.fromhex(case["salt"])) == data
    assert vector_id(data) == block
    assert decode_vector(block, data).tobytes() == floats
    assert object_kind(block, data) == check_block(block, data) == "vector"
    assert reference.vector(case["floats"], case["salt"]) == data
    assert reference.cid(data, reference.RAW) == block


@each("trees")
def test_trees(case):
    records = {key: object_id(key.encode()) for key in case["keys"]}
    assert sorted(records) == case["keys"]
    edit = tree.build(records)
    assert text_id(edit.root) == case["root"]
    made = {tree.EMPTY_ROOT: tree.EMPTY_BLOCK} if not records else edit.blocks
    assert {check_block(*each) for each in made.items()} == {"node"}
    levels = reference.tree(records)
    blocks = [reference.encode(node) for nodes in levels for node in nodes]
    assert {reference.cid(data): data for data in blocks} == made
    assert reference.text(reference.cid(blocks[-1])) == case["root"]
    assert [[len(node["keys"]) for node in nodes] for nodes in levels] == case["sizes"]


def test_trees_cover_the_rule():
    cases = {case["name"]: case for case in load("trees")}
    assert max(len(case["sizes"]) for case in cases.values()) >= 3
    assert {len(case["keys"]) for case in cases.values()} >= {0, 1, SHORTEST, SHORTEST + 1, LONGEST}
    keys = cases["priorities-tie"]["keys"]
    priorities = [reference._priority(0, key) for key in keys[SHORTEST - 1 : LONGEST]]
    assert priorities.count(min(priorities)) == 2


@pytest.mark.parametrize("case", load("content"), ids=lambda case: case["json"][:24])
def test_content(case):
    value = json.loads(case["json"])
    if case["accepted"]:
        data = bytes.fromhex(case["block"])
        assert reference.encode(value) == data
        assert reference.encode(check_content(value)) == data
        block = object_id(record_of(value))
        assert reference.encode(decode_record(block, record_of(value)).content) == data
        return
    with pytest.raises(ValidationError) as caught:
        check_content(value)
    assert case["path"] in str(caught.value)


def record_of(content) -> bytes:
    return encode_record(StoredRecord(check_content(content), "0" * 32), bytes(16))


@pytest.mark.parametrize("case", load("keys"), ids=lambda case: ascii(case["key"])[:24])
def test_keys(case):
    if case["accepted"]:
        assert check_key(case["key"]) == case["key"]
        return
    with pytest.raises(ValidationError, match="key"):
        check_key(case["key"])


@each("refused")
def test_refused(case):
    block, data = parse_id(case["id"]), bytes.fromhex(case["block"])
    with pytest.raises(CorruptObjectError, match=case["id"]):
        check_block(block, data)
    if case["stage"] == "hash":
        assert reference.cid(data) != block
        with pytest.raises(CorruptObjectError, match=case["id"]):
            check_id(block, data)
    else:
        check_id(block, data)
    if case["stage"] in ("encoding", "bytes"):
        with pytest.raises(ValueError):
            reference.decode(data)
    if case["stage"] == "schema":
        assert reference.encode(reference.decode(data)) == data


@pytest.mark.parametrize("kind", ["records", "nodes", "commits", "vectors"])
def test_a_flipped_bit_never_comes_out(kind):
    for case in load(kind):
        block, data = parse_id(case["id"]), bytearray.fromhex(case["block"])
        data[len(data) // 2] ^= 0x10
        engine = open_engine("memory://")
        engine.write({block: bytes(data)})
        with pytest.raises(CorruptObjectError, match=case["id"]):
            Blocks(engine).read_one(block)


EXAMPLE = re.compile(r"```text\n(b[a-z2-7]{58})\n([0-9a-f\n]+)```")


def test_the_worked_example_is_right():
    text = (FOLDER.parent / "README.md").read_text()
    shown = {parse_id(found[1]): bytes.fromhex(found[2]) for found in EXAMPLE.finditer(text)}
    kinds = sorted(check_block(*each) for each in shown.items())
    assert kinds == ["commit", "commit", "node", "record", "vector"]
    commits = [decode_commit(*each) for each in shown.items() if check_block(*each) == "commit"]
    [head] = [commit for commit in commits if commit.parents]
    assert head.parents == (ROOT_COMMIT.id,)
    [leaf] = [decode_node(block, shown[block]) for block in [head.tree_cid]]
    assert leaf.keys == ["customers/4821"]
    record = decode_record(leaf.links[0], shown[leaf.links[0]])
    assert record.content == {"plan": "Enterprise"}
    assert record.transaction == head.transaction_id
    vector = record.vectors[""]
    assert decode_vector(vector, shown[vector]).tolist() == [1.0, -0.5]
    assert text.count(ROOT_COMMIT.id) == 2
    assert text.count(text_id(tree.EMPTY_ROOT)) == 1


def test_the_page_on_sqlite_shows_the_tables_as_they_are():
    text = (FOLDER.parent / "sqlite.md").read_text()
    assert SCHEMA.strip() in text
    assert f"`0x{int.from_bytes(APPLICATION, 'big'):X}`" in text
    assert f"| `user_version` | {FORMAT}," in text
    assert f"| page size | {PAGE_BYTES:,} bytes" in text

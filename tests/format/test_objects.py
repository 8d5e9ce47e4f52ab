"""Objects as bytes and back, and what becomes of bytes that are none."""

import json
import math
import re
from base64 import b32encode
from dataclasses import replace

import libipld
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.errors import CorruptObjectError, NotFoundError, ValidationError
from mnemosyne_vcs.format.objects import (
    EMPTY_NODE,
    Node,
    StoredRecord,
    canonical,
    check_id,
    common_prefix,
    decode_commit,
    decode_node,
    decode_record,
    decode_vector,
    encode_commit,
    encode_node,
    encode_record,
    encode_vector,
    fields_of,
    is_vector,
    new_salt,
    object_id,
    object_kind,
    vector_floats,
    vector_id,
)
from mnemosyne_vcs.format.validation import check_content, check_key
from mnemosyne_vcs.ids import parse_id, text_id
from mnemosyne_vcs.maintenance.strict import check_block
from mnemosyne_vcs.model import Commit, Provenance

SALT = bytes(range(16))
TRANSACTION = "0123456789abcdef" * 2

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
keys = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
integers = st.integers(-(2**63), 2**63 - 1)
values = st.recursive(
    st.none() | st.booleans() | integers | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=20,
)
links = st.binary(min_size=32, max_size=32).map(object_id)
vector_links = st.binary(min_size=32, max_size=32).map(vector_id)
transactions = st.binary(min_size=16, max_size=16).map(bytes.hex)
provenances = st.builds(
    Provenance,
    source=st.none() | texts,
    agent=st.none() | texts,
    step=st.none() | texts | integers,
    derived_from=st.lists(st.tuples(keys, texts), max_size=3).map(tuple),
    note=st.none() | texts,
)
records = st.builds(
    StoredRecord,
    content=values.map(check_content),
    transaction=transactions,
    vectors=st.dictionaries(texts, vector_links, max_size=3),
    embedder=st.none() | texts,
    provenance=provenances,
    event_time=st.none() | integers,
    moved_from=st.none() | keys,
)


def spelled(value: object) -> str:
    """A value as text in which 1, 1.0 and true differ, and the order of fields does not count."""
    if isinstance(value, dict):
        return repr(sorted((name, spelled(item)) for name, item in value.items()))
    return repr([spelled(item) for item in value]) if isinstance(value, list) else repr(value)


def commit_with(**fields) -> Commit:
    given = {"parents": (text_id(object_id(b"p")),), "tree": text_id(object_id(b"r"))}
    given |= {"transaction_id": TRANSACTION, "author": "a", "message": "m"}
    given |= {"timestamp_ms": 5, "generation": 1}
    return Commit("", **given | fields)


@given(records)
def test_records_come_back_as_they_were(record):
    data = encode_record(record, SALT)
    block = object_id(data)
    found = decode_record(block, data)
    assert spelled(found.content) == spelled(record.content)
    assert found == record
    assert encode_record(found, SALT) == canonical(block, data) == data
    assert check_block(block, data) == object_kind(block, data) == "record"


@given(records, records)
def test_different_records_have_different_bytes(one, other):
    same = spelled(one.content) == spelled(other.content) and one == other
    assert (encode_record(one, SALT) == encode_record(other, SALT)) == same


@given(values)
def test_content_never_holds_bytes(value):
    record = StoredRecord(check_content(value), TRANSACTION)
    fields = fields_of(b"", encode_record(record, SALT))

    def all_of(value):
        yield value
        if isinstance(value, dict | list):
            for item in value.values() if isinstance(value, dict) else value:
                yield from all_of(item)

    assert not any(isinstance(item, bytes) for item in all_of(fields))


@pytest.mark.parametrize("spell", [text_id, bytes.hex, lambda block: block.decode("latin-1")])
def test_a_text_that_spells_an_id_stays_a_text(spell):
    text = spell(object_id(b"x"))
    data = encode_record(StoredRecord({"": text, text: [text]}, TRANSACTION), SALT)
    assert decode_record(b"", data).content == {"": text, text: [text]}
    assert check_block(object_id(data), data) == "record"


def test_salts_are_hex_because_bytes_can_pass_for_links():
    digest = object_id(b"any")
    assert libipld.encode_dag_cbor(digest)[:2] == b"\xd8\x2a"
    fields = fields_of(b"", encode_record(StoredRecord(None, TRANSACTION), SALT))
    assert fields["salt"] == SALT.hex()


def test_the_salt_changes_the_id_and_nothing_else():
    record = StoredRecord("same", TRANSACTION)
    one, other = (encode_record(record, salt) for salt in (SALT, bytes(16)))
    assert object_id(one) != object_id(other)
    assert decode_record(b"", one) == decode_record(b"", other)


def test_salts_are_random():
    assert len({new_salt() for _ in range(100)}) == 100
    assert {len(new_salt()) for _ in range(10)} == {16}


@given(st.sets(keys, min_size=1, max_size=21), st.integers(0, 3), st.data())
def test_nodes_come_back_as_they_were(some, level, data):
    ordered = sorted(some)
    counts = data.draw(st.lists(st.integers(1, 2**40), min_size=len(some), max_size=len(some)))
    node = Node(level, ordered, [object_id(k.encode()) for k in ordered], counts)
    if level == 0:
        node = Node(0, node.keys, node.links, [1] * len(some))
    block_data = encode_node(node)
    block = object_id(block_data)
    assert decode_node(block, block_data) == node
    assert node.count == sum(node.counts)
    assert check_block(block, block_data) == "node"


@given(texts, texts, texts)
def test_the_common_prefix_is_the_longest(prefix, one, other):
    first, last = prefix + one, prefix + other
    found = common_prefix(first, last)
    assert first.startswith(found) and last.startswith(found) and found.startswith(prefix)
    rest = first[len(found) : len(found) + 1], last[len(found) : len(found) + 1]
    assert "" in rest or rest[0] != rest[1]


@given(keys, keys)
def test_keys_are_in_the_order_of_their_bytes(one, other):
    assert (one < other) == (check_key(one).encode() < check_key(other).encode())


def test_the_empty_node_has_no_records():
    assert EMPTY_NODE.count == 0
    assert decode_node(b"", encode_node(EMPTY_NODE)) == Node(0, [], [], [])


@given(
    st.lists(links.map(text_id), min_size=1, max_size=2, unique=True),
    links.map(text_id),
    st.integers(0, 2**63 - 1),
    st.integers(1, 2**63 - 1),
    st.dictionaries(texts, texts, max_size=3),
    texts,
)
def test_commits_come_back_as_they_were(parents, root, time, generation, trailers, message):
    commit = commit_with(
        parents=tuple(parents),
        tree=root,
        timestamp_ms=time,
        generation=generation,
        trailers=trailers,
        message=message,
    )
    data = encode_commit(commit)
    block = object_id(data)
    found = decode_commit(block, data)
    assert found.id == text_id(block)
    assert encode_commit(found) == data
    assert replace(found, id="") == commit
    assert check_block(block, data) == "commit"


floats32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(floats32, min_size=1, max_size=20))
def test_vectors_come_back_as_they_were(numbers):
    floats = vector_floats(numbers, "v")
    data = encode_vector(floats, SALT)
    block = vector_id(data)
    found = decode_vector(block, data)
    assert found.dtype == np.float32
    assert found.shape == (len(numbers),)
    assert found.tolist() == numbers
    assert not found.flags.writeable
    assert is_vector(block)
    assert check_block(block, data) == object_kind(block, data) == "vector"


@pytest.mark.parametrize(
    "given",
    [
        [1, 2],
        (1.0, 2.0),
        np.array([1, 2]),
        np.array([1.0, 2.0]),
        np.array([1, 2], dtype=">f4"),
        np.array([1, 0, 2, 0], dtype=np.float16)[::2],
    ],
    ids=["integers", "tuple", "int64", "float64", "big-endian", "strided"],
)
def test_vectors_are_taken_in_many_forms(given):
    assert vector_floats(given, "v") == b"\x00\x00\x80\x3f\x00\x00\x00\x40"


@pytest.mark.parametrize(
    "given",
    [
        [],
        np.zeros(0),
        np.zeros((2, 2)),
        [[1.0], [2.0]],
        np.float32(1),
        [math.nan],
        [math.inf],
        [1e39],
        np.array([1e39]),
        np.array([1.0, np.nan]),
        ["a"],
        [None],
        None,
        "abc",
        {"a": 1},
        {1.0},
        object(),
        5,
    ],
    ids=repr,
)
def test_what_is_no_vector_is_refused_by_name(given):
    with pytest.raises(ValidationError, match=re.escape("vector 'x' of 'k'")):
        vector_floats(given, "vector 'x' of 'k'")


@given(st.binary(min_size=1, max_size=50), st.booleans())
def test_ids_are_read_as_they_are_written(data, raw):
    block = vector_id(data) if raw else object_id(data)
    assert len(block) == 36
    text = text_id(block)
    assert re.fullmatch("b[a-z2-7]{58}", text)
    assert parse_id(text) == block


KNOWN = text_id(object_id(b"x"))


def base32(block):
    return "b" + b32encode(block).decode().rstrip("=").lower()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "b",
        KNOWN[1:],
        KNOWN[:-1],
        KNOWN + "a",
        KNOWN.replace("b", "z", 1),
        "B" + KNOWN[1:],
        KNOWN[:20] + "1" + KNOWN[21:],
        KNOWN[:20] + "é" + KNOWN[21:],
        KNOWN[:20] + " " + KNOWN[21:],
        base32(b"\x01\x70\x12\x20" + bytes(32)),
        base32(b"\x01\x71\x13\x20" + bytes(32)),
        base32(b"\x01\x71\x12\x20" + bytes(31)),
        "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG",
    ],
)
def test_what_is_no_id_is_refused(text):
    with pytest.raises(ValidationError, match="not a valid object id"):
        parse_id(text)


def test_an_id_has_one_spelling():
    last = "abcdefghijklmnopqrstuvwxyz234567"
    spellings = [KNOWN[:-1] + letter for letter in last]
    for text in [*spellings, KNOWN[0] + KNOWN[1:].upper()]:
        try:
            block = parse_id(text)
        except ValidationError:
            continue
        assert text_id(block) == text


def test_bytes_with_another_hash_are_refused():
    data = encode_record(StoredRecord(None, TRANSACTION), SALT)
    check_id(object_id(data), data)
    with pytest.raises(CorruptObjectError, match=text_id(object_id(data))):
        check_id(object_id(data), data + b"\x00")


SAMPLES = {
    "record": encode_record(StoredRecord({"a": 1}, TRANSACTION), SALT),
    "node": encode_node(Node(1, ["a", "b"], [object_id(b"a"), object_id(b"b")], [3, 4])),
    "commit": encode_commit(commit_with(trailers={"Run-Id": "r"})),
}
DECODERS = {"record": decode_record, "node": decode_node, "commit": decode_commit}


@pytest.mark.parametrize("kind", SAMPLES)
def test_truncated_blocks_are_refused(kind):
    data = SAMPLES[kind]
    for size in range(len(data)):
        block = object_id(data[:size])
        for read in (DECODERS[kind], check_block, object_kind, canonical):
            with pytest.raises(CorruptObjectError, match=text_id(block)):
                read(block, data[:size])


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("wanted", DECODERS)
def test_blocks_of_another_kind_are_refused(kind, wanted):
    data = SAMPLES[kind]
    block = object_id(data)
    if kind == wanted:
        DECODERS[wanted](block, data)
        return
    with pytest.raises(CorruptObjectError, match=f"{text_id(block)}.*{kind}.*{wanted}"):
        DECODERS[wanted](block, data)


@pytest.mark.parametrize("kind", SAMPLES)
def test_blocks_without_a_field_are_refused_by_name(kind):
    fields = fields_of(b"", SAMPLES[kind])
    for name in fields.keys() - {"kind"}:
        rest = {other: value for other, value in fields.items() if other != name}
        data = libipld.encode_dag_cbor(rest)
        block = object_id(data)
        with pytest.raises(CorruptObjectError, match=f"{text_id(block)}.*'{name}'"):
            check_block(block, data)


@pytest.mark.parametrize("value", [[], 1, "x", None, [1, [2]]], ids=repr)
def test_blocks_that_are_not_maps_are_refused(value):
    data = libipld.encode_dag_cbor(value)
    for read in (*DECODERS.values(), check_block, object_kind):
        with pytest.raises(CorruptObjectError, match="not a map"):
            read(object_id(data), data)


@given(st.binary(max_size=60))
def test_any_bytes_are_an_object_or_refused(data):
    for block in (object_id(data), vector_id(data)):
        try:
            kind = check_block(block, data)
        except CorruptObjectError as error:
            assert text_id(block) in str(error)
        else:
            assert kind == "vector"


@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_any_change_to_a_block_is_another_value_or_refused(kind, data):
    changed = bytearray(SAMPLES[kind])
    at = data.draw(st.integers(0, len(changed) - 1))
    changed[at] ^= data.draw(st.integers(1, 255))
    block = object_id(bytes(changed))
    try:
        found = check_block(block, bytes(changed))
    except CorruptObjectError as error:
        assert text_id(block) in str(error)
    else:
        assert found == kind
        assert canonical(block, bytes(changed)) == changed


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 19, 21])
def test_bytes_that_are_no_vector_are_refused(size):
    block = vector_id(bytes(size))
    for read in (decode_vector, check_block):
        with pytest.raises(CorruptObjectError, match=text_id(block)):
            read(block, bytes(size))


@pytest.mark.parametrize("kind", [*SAMPLES, "vector"])
def test_a_flipped_byte_never_leaves_the_store(kind):
    data = SAMPLES.get(kind) or encode_vector(vector_floats([1.0, 2.0], "v"), SALT)
    block = vector_id(data) if kind == "vector" else object_id(data)
    for at in range(0, len(data), 7):
        broken = bytearray(data)
        broken[at] ^= 1
        engine = open_engine("memory://")
        engine.write({block: bytes(broken)})
        with pytest.raises(CorruptObjectError, match=text_id(block)):
            Blocks(engine).read([block])


def test_a_missing_object_is_named():
    blocks = Blocks(open_engine("memory://"))
    with pytest.raises(NotFoundError, match=KNOWN):
        blocks.read_one(parse_id(KNOWN))


def test_json_of_an_id_is_no_link():
    """The JSON form of a link in IPLD is plain content here."""
    content = json.loads(f'{{"/": "{KNOWN}"}}')
    data = encode_record(StoredRecord(check_content(content), TRANSACTION), SALT)
    assert decode_record(b"", data).content == content

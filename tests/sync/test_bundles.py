"""Bundles (CAR) and JSON lines: what goes out comes back, and nothing else comes in."""

import json
from collections.abc import Callable
from pathlib import Path

import libipld
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import (
    AlreadyExistsError,
    ConflictError,
    CorruptObjectError,
    EngineError,
    MnemosyneError,
    NotFoundError,
    Provenance,
    ReadOnlyError,
    Repository,
    ValidationError,
)
from mnemosyne_vcs.batches import BATCH
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.format.validation import MAX_MOMENT, MIN_MOMENT
from mnemosyne_vcs.ids import text_id
from mnemosyne_vcs.refs import ROOT_COMMIT

Values = Callable[[mnemosyne_vcs.Snapshot], dict[str, object]]


def fill(repo: Repository) -> Repository:
    repo.put("a", {"x": 1.5}, embedding=[1, 2], provenance=Provenance(source="s"))
    repo.put("b/c", [1, 1.0, True, None, "é"])
    repo.create_branch("trial/one")
    repo.put("a", {"x": 2}, branch="trial/one", embedding=[1, 2])
    repo.create_tag("v1", revision="main~1")
    repo.delete("b/c")
    return repo


def refs(repo: Repository) -> tuple[dict[str, str], dict[str, str]]:
    return repo.branches(), repo.tags()


def fresh() -> Repository:
    return mnemosyne_vcs.open("memory://", create=True, author="reader")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "all.car"
    fill(fresh()).export_bundle(path)
    return path


def test_what_is_exported_comes_back_with_the_same_ids(repo: Repository, tmp_path: Path):
    fill(repo)
    path = tmp_path / "all.car"
    exported = repo.export_bundle(path)
    assert (exported.branches, exported.tags) == refs(repo)
    other = fresh()
    assert other.import_bundle(path) == exported
    assert refs(other) == refs(repo)
    for name in (*repo.branches(), *repo.tags()):
        assert dict(other.at(name)) == dict(repo.at(name))
        assert list(other.log(name)) == list(repo.log(name))
        assert [b.commit.id for b in other.history("a", name)] == [
            b.commit.id for b in repo.history("a", name)
        ]
    assert other.blame("a", "trial/one").commit == repo.blame("a", "trial/one").commit
    assert other.verify().ok
    assert set(other.blocks.engine.ids()) == set(repo.blocks.engine.ids())
    assert len(set(other.blocks.engine.ids())) == exported.objects
    assert next(other.reflog("main")).message == f"import {path}"
    assert next(other.reflog("main")).author == "reader"


def test_the_same_refs_give_the_same_bytes(tmp_path: Path, bundle: Path):
    other = fresh()
    other.import_bundle(bundle)
    other.put("garbage", 1)
    other.undo()
    other.export_bundle(tmp_path / "tag.car", tags=["v1"])
    again = mnemosyne_vcs.open(tmp_path / "again.mnem", create=True)
    again.import_bundle(bundle)
    again.export_bundle(tmp_path / "again.car")
    again.export_bundle(tmp_path / "tag2.car", tags=["v1"])
    assert (tmp_path / "again.car").read_bytes() == bundle.read_bytes()
    assert (tmp_path / "tag2.car").read_bytes() == (tmp_path / "tag.car").read_bytes()


def test_a_general_reader_of_car_files_walks_it(tmp_path: Path):
    repo = fresh()
    repo.put("a", {"x": 1.5})
    repo.put("b/c", 1)
    repo.create_branch("trial/one")
    repo.create_tag("v1")
    repo.delete("b/c")
    repo.export_bundle(tmp_path / "x.car")
    header, blocks = libipld.decode_car((tmp_path / "x.car").read_bytes())
    (root,) = header["roots"]
    manifest = blocks[root]
    assert manifest["kind"] == "refs"
    assert set(manifest["refs"]) == {"branch/main", "branch/trial/one", "tag/v1"}
    head = blocks[manifest["refs"]["branch/main"]]
    assert head["message"] == "delete b/c"
    assert blocks[blocks[head["root"]]["links"][0]]["content"] == {"x": 1.5}


def test_only_what_is_chosen_is_taken(repo: Repository, tmp_path: Path):
    fill(repo)
    repo.export_bundle(tmp_path / "some.car", branches=["trial/one"])
    other = fresh()
    assert other.import_bundle(tmp_path / "some.car").branches.keys() == {"trial/one"}
    assert other.branches().keys() == {"main", "trial/one"}
    assert other.branches()["main"] == ROOT_COMMIT.id
    with pytest.raises(NotFoundError, match="branch none"):
        repo.export_bundle(tmp_path / "x.car", branches=["none"])
    with pytest.raises(ValidationError, match="at least"):
        repo.export_bundle(tmp_path / "x.car", branches=[])
    assert not (tmp_path / "x.car").exists()


def test_a_branch_that_lags_behind_moves_on_and_any_other_is_left(bundle: Path):
    other = fresh()
    other.import_bundle(bundle)
    before = refs(other)
    assert other.import_bundle(bundle).objects > 0
    assert refs(other) == before
    assert len(list(other.reflog("main"))) == 2
    other.put("mine", 1)
    other.create_branch("untouched")
    mine = refs(other)
    with pytest.raises(ConflictError, match=r"branch/main.*all\.car.*prefix"):
        other.import_bundle(bundle)
    assert refs(other) == mine
    theirs = other.import_bundle(bundle, prefix="theirs/")
    assert theirs.branches.keys() == {"theirs/main", "theirs/trial/one"}
    assert other.at("theirs/main")["a"] == other.at()["a"]
    with pytest.raises(ValidationError):
        other.import_bundle(bundle, prefix="no name\n")


def test_a_name_that_is_also_a_commit_id_is_not_taken_over(tmp_path: Path):
    repo = fill(fresh())
    name = repo.resolve().id
    engine = repo.blocks.engine
    engine.write({}, RefUpdate(f"branch/{name}", None, repo.resolve().cid))
    repo.export_bundle(tmp_path / "x.car")
    target = fresh()
    before = refs(target)
    with pytest.raises(ValidationError, match=f"{name}.*commit id"):
        target.import_bundle(tmp_path / "x.car")
    assert refs(target) == before
    assert f"theirs/{name}" in target.import_bundle(tmp_path / "x.car", prefix="theirs/").branches


def test_a_tag_never_moves(bundle: Path):
    other = fresh()
    other.create_tag("v1")
    before = set(other.blocks.engine.ids())
    with pytest.raises(ConflictError, match="tag/v1"):
        other.import_bundle(bundle)
    assert refs(other) == ({"main": ROOT_COMMIT.id}, {"v1": ROOT_COMMIT.id})
    assert set(other.blocks.engine.ids()) == before


def refused(data: bytes, path: Path) -> MnemosyneError:
    """The error that a bundle of these bytes gives; nothing of it may come in."""
    path.write_bytes(data)
    other = fresh()
    before = set(other.blocks.engine.ids())
    with pytest.raises((ValidationError, CorruptObjectError)) as caught:
        other.import_bundle(path)
    assert str(path) in str(caught.value)
    assert refs(other) == ({"main": ROOT_COMMIT.id}, {})
    assert set(other.blocks.engine.ids()) == before
    return caught.value


def small(tmp_path: Path) -> bytes:
    repo = fresh()
    repo.put("a", 1, embedding=[1])
    repo.export_bundle(tmp_path / "small.car")
    return (tmp_path / "small.car").read_bytes()


def test_a_bundle_cut_short_anywhere_is_refused(tmp_path: Path):
    data = small(tmp_path)
    for size in range(len(data)):
        refused(data[:size], tmp_path / "cut.car")


def test_a_flipped_bit_anywhere_is_noticed(tmp_path: Path):
    data = small(tmp_path)
    for position in range(len(data)):
        bit = 1 << position % 8
        damaged = data[:position] + bytes([data[position] ^ bit]) + data[position + 1 :]
        refused(damaged, tmp_path / "flipped.car")


def test_bytes_after_the_end_are_refused(tmp_path: Path):
    data = small(tmp_path)
    refused(data + b"\0", tmp_path / "longer.car")
    refused(data * 2, tmp_path / "twice.car")


def car(root: bytes, *blocks: bytes, version: int = 1, ids: list[bytes] | None = None) -> bytes:
    header = libipld.encode_dag_cbor({"roots": [root], "version": version})
    sections = [
        (each or object_id(data)) + data
        for each, data in zip(ids or [None] * len(blocks), blocks, strict=True)
    ]
    return b"".join(_varint(len(each)) + each for each in [header, *sections])


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number % 128 + 128, number // 128])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a CAR file"),
        (b"\x80", "not a CAR file"),
        (b"PK\x03\x04 a zip file, or anything", "not a CAR file"),
        (b"\x05\xa0\x00\x00\x00\x00", "not a CAR file"),
        (json.dumps({"key": "a", "content": 1}).encode(), "not a CAR file"),
        (car(object_id(b"\xa0"), b"\xa0", version=2), "not a Mnemosyne bundle"),
        (car(object_id(b"\xa0"), b"\xa0"), "not a Mnemosyne bundle"),
        (car(object_id(b"\xa0")), "lacks its root"),
        (car(object_id(b"\xa0"), b"\xa1", ids=[object_id(b"\xa0")]), "is damaged"),
        (car(object_id(b"\xa0"), b"\xa0", ids=[b"\x12\x20" + b"x" * 34]), "of another kind"),
        (car(b"\x12\x20" + b"x" * 32, b"\xa0"), "not a Mnemosyne bundle"),
    ],
)
def test_other_files_are_refused_by_what_they_are(tmp_path: Path, data: bytes, said: str):
    assert said in str(refused(data, tmp_path / "other.car"))


def test_a_foreign_manifest_is_refused(tmp_path: Path):
    head = ROOT_COMMIT.cid
    for fields in (
        {"kind": "refs", "refs": {}},
        {"kind": "refs", "refs": {"main": head}},
        {"kind": "refs", "refs": {"branch/": head}},
        {"kind": "refs", "refs": {"branch/a b\n": head}},
        {"kind": "refs", "refs": {"branch/main": 1}},
        {"kind": "refs", "refs": {"branch/main": head}, "more": 1},
        {"kind": "refs", "refs": [head]},
        {"kind": "other", "refs": {"branch/main": head}},
    ):
        data = libipld.encode_dag_cbor(fields)
        assert "not a Mnemosyne bundle" in str(refused(car(object_id(data), data), tmp_path / "m"))


def test_what_is_missing_or_too_much_is_refused(tmp_path: Path):
    data = small(tmp_path)
    raw = raw_blocks(data)
    root = next(iter(raw))
    for missing in raw.keys() - {root}:
        kept = {block: each for block, each in raw.items() if block != missing}
        broken = car(root, *kept.values(), ids=list(kept))
        assert text_id(missing) in str(refused(broken, tmp_path / "less.car"))
    extra = [*raw.values(), raw[root].replace(b"refs", b"refz")]
    more = car(root, *extra, ids=[*raw, object_id(extra[-1])])
    assert "none of its refs reaches" in str(refused(more, tmp_path / "more.car"))


def raw_blocks(data: bytes) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    position = 0
    while position < len(data):
        size, shift = 0, 0
        while data[position] & 0x80:
            size |= (data[position] & 0x7F) << shift
            position, shift = position + 1, shift + 7
        size |= data[position] << shift
        section = data[position + 1 : position + 1 + size]
        position += 1 + size
        found[section[:36]] = section[36:]
    return dict(list(found.items())[1:])


def test_a_commit_that_lies_about_its_parents_is_refused(tmp_path: Path):
    root = ROOT_COMMIT.cid
    raw = raw_blocks(small(tmp_path))
    fields = libipld.decode_dag_cbor(raw[root])
    lie = libipld.encode_dag_cbor({**fields, "parents": [root], "generation": 7})
    manifest = libipld.encode_dag_cbor({"kind": "refs", "refs": {"branch/x": object_id(lie)}})
    tree = raw[fields["root"]]
    data = car(object_id(manifest), manifest, lie, raw[root], tree)
    assert "time and generation" in str(refused(data, tmp_path / "lie.car"))


def test_paths_that_cannot_be_used(repo: Repository, tmp_path: Path):
    repo.put("a", 1)
    there = tmp_path / "there"
    there.write_text("precious")
    for export in (repo.export_bundle, repo.export_jsonl):
        with pytest.raises(AlreadyExistsError, match="there"):
            export(there)
        with pytest.raises(EngineError, match="none"):
            export(tmp_path / "none" / "x")
    assert there.read_text() == "precious"
    for import_ in (repo.import_bundle, repo.import_jsonl):
        with pytest.raises(NotFoundError, match="none"):
            import_(tmp_path / "none")
        with pytest.raises(EngineError, match="cannot be read"):
            import_(tmp_path)


def test_an_export_that_fails_leaves_no_file(tmp_path: Path):
    repo = mnemosyne_vcs.open(tmp_path / "a.mnem", create=True)
    commit = repo.put("a", 1)
    repo.blocks.engine.delete([commit.tree_cid])
    with mnemosyne_vcs.open(tmp_path / "a.mnem") as damaged:
        with pytest.raises(NotFoundError, match=commit.tree):
            damaged.export_bundle(tmp_path / "x.car")
        with pytest.raises(NotFoundError, match=commit.tree):
            damaged.export_jsonl(tmp_path / "x.jsonl")
    assert sorted(path.name for path in tmp_path.glob("x*")) == []


def test_a_repository_for_reading_exports_and_does_not_import(tmp_path: Path, bundle: Path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True) as repo:
        fill(repo)
    with mnemosyne_vcs.open(tmp_path / "a.mnem", read_only=True) as repo:
        repo.export_bundle(tmp_path / "x.car")
        assert repo.export_jsonl(tmp_path / "x.jsonl") == 1
        with pytest.raises(ReadOnlyError):
            repo.import_bundle(bundle)
        with pytest.raises(ReadOnlyError):
            repo.import_jsonl(tmp_path / "x.jsonl")


def test_progress_is_told(tmp_path: Path):
    repo = fresh()
    with repo.transaction() as tx:
        for i in range(1200):
            tx.put(f"k/{i}", i)
    counts: dict[str, list[int]] = {"out": [], "in": [], "lines": []}
    exported = repo.export_bundle(tmp_path / "x.car", progress=counts["out"].append)
    fresh().import_bundle(tmp_path / "x.car", progress=counts["in"].append)
    repo.export_jsonl(tmp_path / "x.jsonl", progress=counts["lines"].append)
    assert counts["out"] == list(range(BATCH, exported.objects + 2, BATCH))
    assert counts["lines"] == list(range(BATCH, 1200, BATCH))
    assert len(counts["in"]) > 1
    assert counts["in"] == sorted(counts["in"])
    assert counts["in"][-1] <= exported.objects


TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)  # fmt: skip
FLOATS = st.lists(
    st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=4
)
PROVENANCE = st.builds(
    Provenance,
    source=st.none() | st.text(max_size=5),
    step=st.none() | st.integers(0, 9) | st.text(max_size=3),
    derived_from=st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple),
)
PUTS = st.fixed_dictionaries(
    {"content": JSON_VALUES},
    optional={
        "vectors": st.dictionaries(st.text(max_size=3), FLOATS, max_size=2),
        "embedder": st.text(max_size=5),
        "provenance": PROVENANCE,
        "event_time": st.integers(MIN_MOMENT, MAX_MOMENT),
    },
)
HISTORIES = st.lists(st.tuples(st.integers(0, 2), TEXT, PUTS), max_size=8)


def build(history: list[tuple[int, str, dict[str, object]]]) -> Repository:
    repo = fresh()
    for number, (which, key, put) in enumerate(history):
        branch = sorted(repo.branches())[which % len(repo.branches())]
        repo.transact(lambda tx, key=key, put=put: tx.put(key, **put), branch)
        if which == 1:
            repo.create_branch(f"b{number}", revision=branch)
        elif which == 2:
            repo.create_tag(f"t{number}", revision=branch)
    return repo


@given(HISTORIES)
def test_any_repository_comes_back(tmp_path_factory: pytest.TempPathFactory, history):
    path = tmp_path_factory.mktemp("bundle") / "x.car"
    repo = build(history)
    repo.export_bundle(path)
    other = fresh()
    other.import_bundle(path)
    assert refs(other) == refs(repo)
    assert set(other.blocks.engine.ids()) == set(repo.blocks.engine.ids())
    assert other.verify().ok


@given(HISTORIES)
def test_any_memory_comes_back_from_lines(tmp_path_factory: pytest.TempPathFactory, history):
    path = tmp_path_factory.mktemp("lines") / "x.jsonl"
    repo = build(history)
    count = repo.export_jsonl(path)
    other = fresh()
    head = other.import_jsonl(path)
    assert count == len(repo.at()) == len(other.at())
    assert (head.parents == (ROOT_COMMIT.id,)) == bool(count)
    for mine, theirs in zip(repo.at().scan(), other.at().scan(), strict=True):
        assert mine.key == theirs.key
        assert mine.same_value(theirs)
    assert repo.import_jsonl(path) == repo.resolve()


def test_lines_are_put_into_a_branch_beside_what_is_there(
    repo: Repository, tmp_path: Path, values: Values
):
    path = tmp_path / "x.jsonl"
    path.write_text('{"key": "a", "content": 1}\n\n{"content": {"é": [1.0]}, "key": "b/é"}\n')
    repo.put("kept", 0)
    commit = repo.import_jsonl(path, author="ann")
    assert values(repo.at()) == {"a": 1, "b/é": {"é": [1.0]}, "kept": 0}
    assert (commit.author, commit.message) == ("ann", f"import {path}")
    assert repo.export_jsonl(tmp_path / "b.jsonl", "main", prefix="b/") == 1
    assert (tmp_path / "b.jsonl").read_text() == '{"key": "b/é", "content": {"é": [1.0]}}\n'
    with pytest.raises(NotFoundError):
        repo.import_jsonl(path, "none")


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "\xff",
        "[]",
        "1",
        '{"content": 1}',
        '{"key": "b"}',
        '{"key": 1, "content": 1}',
        '{"key": "b", "content": 1, "more": 1}',
        '{"key": "b", "content": NaN}',
        '{"key": "b", "content": 1e999}',
        '{"key": "b", "content": 9223372036854775808}',
        '{"key": "b", "content": "\\ud800"}',
        '{"key": "b", "content": 1, "content": 2}',
        '{"key": "", "content": 1}',
        '{"key": "b\\n", "content": 1}',
        '{"key": "a", "content": 2}',
        '{"key": "b", "content": 1, "vectors": [1]}',
        '{"key": "b", "content": 1, "vectors": {"": "text"}}',
        '{"key": "b", "content": 1, "vectors": {"": []}}',
        '{"key": "b", "content": 1, "vectors": {"": ["x"]}}',
        '{"key": "b", "content": 1, "embedder": 1}',
        '{"key": "b", "content": 1, "event_time": "now"}',
        '{"key": "b", "content": 1, "event_time": 1.5}',
        '{"key": "b", "content": 1, "provenance": 1}',
        '{"key": "b", "content": 1, "provenance": {"who": "x"}}',
        '{"key": "b", "content": 1, "provenance": {"source": 1}}',
        '{"key": "b", "content": 1, "provenance": {"derived_from": 1}}',
        '{"key": "b", "content": 1, "provenance": {"derived_from": [["a", "b"]]}}',
        '{"key": "b", "content": ' + "[" * 100_000,
    ],
)
def test_a_line_that_is_no_record_is_named_and_nothing_is_written(
    repo: Repository, tmp_path: Path, line: str
):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"key": "a", "content": 1}\n' + line.encode("latin-1") + b"\n")
    before = refs(repo)
    with pytest.raises(ValidationError, match=r"x\.jsonl, line 2"):
        repo.import_jsonl(path)
    assert refs(repo) == before

"""The verbs about the whole store: gc, backup, export, import, stats."""

import json

import pytest

import mnemosyne_vcs

from .conftest import NOTE, PLAN, TEAM


def heads(path):
    with mnemosyne_vcs.open(path, read_only=True) as repo:
        return repo.branches(), repo.tags()


@pytest.fixture
def elsewhere(here, mnem):
    """An empty store."""
    path = here / "elsewhere" / "other.mnem"
    path.parent.mkdir()
    mnem("init", str(path))
    return path


class TestGc:
    @pytest.fixture(autouse=True)
    def _deleted(self, mnem, store):
        mnem("branch", "-d", "what-if", "--yes")

    def test_the_reflog_keeps_what_it_names(self, mnem, store):
        assert mnem("gc", "--yes").stdout.startswith("removed 0 objects")

    def test_it_removes_what_nothing_reaches(self, mnem, store):
        before = mnem("stats", "--json").json["objects"]
        report = mnem("gc", "--keep-reflog", "0", "--yes", "--json").json

        assert report["objects"] == before - mnem("stats", "--json").json["objects"] > 0
        assert report["dry_run"] is False
        mnem("show", "what-if@{1}", code=3)
        assert mnem("verify", "--json").json["ok"]

    def test_dry_run(self, mnem, store):
        plan = mnem("gc", "--keep-reflog", "0", "--dry-run", "--yes", "--json").json

        assert plan["dry_run"] and plan["objects"] > 0
        assert "would remove" in mnem("gc", "--keep-reflog", "0", "--dry-run").stdout
        assert mnem("show", "what-if@{1}", "--json").json["message"] == "try this"

    def test_compact(self, mnem, store):
        report = mnem("gc", "--keep-reflog", "0", "--compact", "--yes", "--json").json

        assert report["objects"] > 0
        assert mnem("verify", "--json").json["ok"]

    @pytest.mark.parametrize("arguments", [(), ("--json",), ("--keep-reflog", "-1", "--yes")])
    def test_refusals(self, mnem, store, arguments):
        before = mnem("stats", "--json").json["objects"]

        assert mnem("gc", *arguments, code=2).stderr
        assert mnem("stats", "--json").json["objects"] == before


class TestBackup:
    def test_the_copy_is_a_store(self, mnem, store, here):
        assert "copied" in mnem("backup", "copy.mnem", "-s", str(store.path)).stdout

        assert heads(here / "copy.mnem") == heads(store.path)
        assert mnem("verify", "-s", "copy.mnem", "--json").json["ok"]

    def test_json(self, mnem, store, here):
        made = mnem("backup", "copy.bak", "--json").json

        assert made == {"path": "copy.bak", "bytes": (here / "copy.bak").stat().st_size}

    def test_refusals(self, mnem, store, here):
        mnem("backup", str(store.path), code=11)
        mnem("backup", "nowhere/copy", code=9)
        mnem("backup", code=2)
        assert not list(here.iterdir())


class TestCar:
    def test_there_and_back_gives_the_same_ids(self, mnem, store, elsewhere):
        mnem("tag", "v1", "main~1")
        told = mnem("export", "all.car").lines
        assert told[0].startswith("wrote all.car: ")
        assert [line.split()[:2] for line in told[1:]] == [
            ["branch", "main"],
            ["branch", "what-if"],
            ["tag", "v1"],
        ]

        mnem("import", "all.car", "-s", str(elsewhere))
        assert heads(elsewhere) == heads(store.path)
        assert mnem("verify", "-s", str(elsewhere), "--json").json["ok"]

    def test_json(self, mnem, store, elsewhere):
        wrote = mnem("export", "all.car", "--json").json
        read = mnem("import", "all.car", "-s", str(elsewhere), "--json").json

        assert wrote == read
        assert (wrote["format"], wrote["tags"]) == ("car", {})
        assert wrote["branches"] == heads(store.path)[0]

    def test_only_some_names(self, mnem, store):
        mnem("tag", "v1", "main~1")
        wrote = mnem("export", "some.car", "--only", "what-if", "--only", "v1", "--json").json

        assert list(wrote["branches"]) == ["what-if"]
        assert wrote["tags"] == {"v1": store.learned}

    def test_a_branch_that_went_another_way(self, mnem, store, elsewhere):
        mnem("put", "k", "1", "-s", str(elsewhere))
        mnem("export", "all.car")
        before = heads(elsewhere)

        assert "prefix" in mnem("import", "all.car", "-s", str(elsewhere), code=4).stderr
        assert heads(elsewhere) == before
        mnem("import", "all.car", "-s", str(elsewhere), "--under", "theirs/")
        assert set(heads(elsewhere)[0]) == {"main", "theirs/main", "theirs/what-if"}

    def test_damage_is_noticed_and_nothing_imported(self, mnem, store, elsewhere, here):
        mnem("export", "all.car")
        path = here / "all.car"
        data = bytearray(path.read_bytes())
        data[data.index(b"read note 118")] ^= 1
        path.write_bytes(data)
        before = heads(elsewhere)

        assert mnem("import", "all.car", "-s", str(elsewhere), code=6).stderr
        assert heads(elsewhere) == before


class TestJsonLines:
    def test_one_record_a_line(self, mnem, store, here):
        assert "3 records as of main" in mnem("export", "now.jsonl").stdout

        lines = [json.loads(line) for line in (here / "now.jsonl").read_text().splitlines()]
        assert [line["key"] for line in lines] == [NOTE, PLAN, TEAM]

    def test_of_a_prefix_at_a_revision(self, mnem, store, here):
        wrote = mnem(
            "export", "then.txt", "--format", "jsonl", "--at", "main~1", "--prefix", PLAN, "--json"
        ).json

        assert wrote == {
            "path": "then.txt", "format": "jsonl", "commit": store.learned, "records": 1,
        }  # fmt: skip
        assert "Enterprise" in (here / "then.txt").read_text()

    def test_there_and_back(self, mnem, store, elsewhere):
        mnem("export", "now.jsonl")
        commit = mnem(
            "import", "now.jsonl", "-s", str(elsewhere), "-m", "take over", "--author", "lead",
            "--json",
        ).json  # fmt: skip

        assert (commit["message"], commit["author"]) == ("take over", "lead")
        with mnemosyne_vcs.open(store.path) as ours, mnemosyne_vcs.open(elsewhere) as theirs:
            pairs = zip(ours.at().scan(), theirs.at().scan(), strict=True)
            assert all(a.same_value(b) for a, b in pairs)
        again = mnem("import", "now.jsonl", "-s", str(elsewhere), "--json").json
        assert again is None

    def test_a_bad_line_is_named_and_nothing_imported(self, mnem, store, here):
        (here / "bad.jsonl").write_text('{"key": "a", "content": 1}\n{"key": 2}\n')
        before = heads(store.path)

        message = mnem("import", "bad.jsonl", code=5).stderr
        assert "bad.jsonl" in message and "2" in message
        assert heads(store.path) == before


@pytest.mark.parametrize(
    "arguments, code",
    [
        (("export", "x.car", "--prefix", "a"), 2),
        (("export", "x.jsonl", "--only", "main"), 2),
        (("export", "x.car", "--format", "zip"), 2),
        (("export", "x.car", "--only", "nope"), 3),
        (("export", "x.jsonl", "--at", "nope"), 3),
        (("export", "nowhere/x.car"), 9),
        (("import", "nope.car"), 3),
        (("import", "nope.jsonl"), 3),
        (("import", "x.car", "-m", "why"), 2),
        (("import", "x.jsonl", "--under", "a/"), 2),
    ],
)
def test_bad_input(mnem, store, here, arguments, code):
    assert "Traceback" not in mnem(*arguments, code=code).stderr
    assert not list(here.iterdir())


def test_an_export_overwrites_nothing(mnem, store, here):
    for name in ("x.car", "x.jsonl"):
        (here / name).write_text("mine")
        mnem("export", name, code=11)
        assert (here / name).read_text() == "mine"


def test_an_import_of_what_is_no_export(mnem, store, here):
    (here / "notes.car").write_text("my notes")

    assert "notes.car" in mnem("import", "notes.car", code=5).stderr


class TestStats:
    def test_text(self, mnem, store):
        lines = mnem("stats").lines

        assert lines[0] == f"store     sqlite:///{store.path}"
        assert "branches  2" in lines and "commits   3" in lines
        assert lines[-2:] == ["main     3 records", "what-if  4 records"]

    def test_json(self, mnem, store):
        stats = mnem("stats", "--json").json

        assert (stats["branches"], stats["tags"], stats["commits"]) == (2, 0, 3)
        assert stats["records"] == {"main": 3, "what-if": 4}
        assert stats["objects"] > 10 and stats["bytes"] > 0

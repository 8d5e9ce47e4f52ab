"""`mnem export` and `mnem import` of JSON lines, and files that cannot be imported."""

import json

import pytest

import mnemosyne_vcs

from .conftest import NOTE, PLAN, TEAM, heads


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

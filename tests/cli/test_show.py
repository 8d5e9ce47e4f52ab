"""`mnem show`."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs.ids import short_id

from .conftest import LONG, NOTE, PLAN, TEAM


class TestShow:
    def test_a_commit_and_what_it_changed(self, mnem, store):
        text = mnem("show").stdout

        assert f"commit  {store.poisoned}" in text
        assert "read note 118" in text
        assert f"changed  {PLAN}" in text
        assert 'content: "4821 is on Enterprise" → "4821 is on Free"' in text
        assert "importance: 0.5 → 0.9" in text
        assert '(provenance.source): "ticket-7731" → "note-118"' in text
        assert "embedding" not in text

    def test_a_commit_in_json(self, mnem, store):
        shown = mnem("show", store.poisoned[:16], "--json").json

        assert shown["id"] == store.poisoned
        [change] = shown["changes"]
        assert change["kind"] == "changed"
        assert change["fields"][0] == {
            "field": "content",
            "before": "4821 is on Enterprise",
            "after": "4821 is on Free",
            "kind": "changed",
        }

    def test_the_first_commit_lists_what_it_added(self, mnem, store):
        lines = mnem("show", short_id(store.learned)).lines

        assert f"added  {NOTE}" in lines
        assert any(LONG in line for line in lines)

    @pytest.mark.parametrize("what", [PLAN, f":{PLAN}", ":11111111", f"main:{PLAN}"])
    def test_a_record(self, mnem, store, what):
        text = mnem("show", what).stdout

        assert text.startswith(f"{PLAN}\n{{\n")
        assert '  "content": "4821 is on Free",\n' in text
        assert f"commit        {store.poisoned}" in text
        assert "agent         Account reviewer" in text
        assert f"derived from  {PLAN} at {short_id(store.learned)}" in text
        assert "embedding     3 dimensions" in text

    @pytest.mark.parametrize(
        "revision", ["main~1", "main@{2026-09-21T14:13:30Z}", "main@{2026-09-21 14:13:30Z}"]
    )
    def test_a_record_as_it_was(self, mnem, store, revision):
        shown = mnem("show", f"{revision}:{PLAN}", "--json").json

        assert shown["content"]["content"] == "4821 is on Enterprise"
        assert shown["commit"]["id"] == store.learned
        assert shown["dimensions"] == {"": 3}

    def test_a_key_with_a_colon(self, mnem, store):
        assert mnem("show", "notes:1/x", "-b", "what-if", "--json").json["content"] == {"a": 1}
        assert mnem("show", "what-if:notes:1/x", "--json").json["content"] == {"a": 1}

    def test_a_revision_comes_before_a_key_of_that_name(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.put("main", "a record")

        assert "root" in mnem("show", "main", "--json").json
        assert mnem("show", ":main", "--json").json["content"] == "a record"

    def test_what_is_not_there(self, mnem, store):
        for what in ("nope", ":nope", "main:nope", "nope:x"):
            assert "nope" in mnem("show", what, code=3).stderr

    def test_the_start_of_several_keys_lists_them(self, mnem, store):
        error = mnem("show", ":1111", "--json", code=5).error

        assert PLAN in error["message"] and TEAM in error["message"]
        assert NOTE not in error["message"]


def test_a_moved_record_is_one_change(mnem, store):
    with mnemosyne_vcs.open(store.path) as repo, repo.transaction() as tx:
        tx.move(TEAM, "/archive/team")

    assert f"moved  /archive/team  from {TEAM}" in mnem("show").lines
    assert mnem("log", "--oneline", "-n", "1").stdout.endswith("1 added, 1 removed\n")


@pytest.mark.parametrize("gone, there", [("a/r1", ["a/r10"]), ("a/r1", ["b/r10", "b/r11"]),
                                         ("r1", ["r10"]), ("a/r1", ["a/r10", "a/r11"]),
                                         ("gone/r1", ["r10", "r12"])])  # fmt: skip
def test_a_whole_id_goes_before_the_start_of_another_though_its_record_is_gone(
    mnem, here, gone, there
):
    with mnemosyne_vcs.open("ids.mnem", create=True) as repo:
        for key in (gone, *there):
            repo.put(key, key)
        repo.delete(gone)

    assert mnem("why", "r1", "--json").json["key"] == gone
    assert mnem("why", gone, "--json").json["key"] == gone
    assert mnem("blame", "r1", "--json").json["key"] == gone
    assert len(mnem("log", "--key", "r1", "--json").jsonl) == 2


def test_ids_of_deleted_records_that_are_alike(mnem, here):
    with mnemosyne_vcs.open("ids.mnem", create=True) as repo:
        for key in ("a/r1", "b/r1", "a/x", "b/x"):
            repo.put(key, key)
        repo.delete("a/r1")
        repo.delete("b/r1")

    assert "a/r1, b/r1" in mnem("why", "r1", code=5).stderr
    assert "no commit" in mnem("why", "r2", code=3).stderr

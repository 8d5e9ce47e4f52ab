"""`mnem restore`."""

import mnemosyne_vcs

from .conftest import NOTE, PLAN, content_of, plan


class TestRestore:
    def test_a_subtree(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.delete(NOTE)
        commit = mnem("restore", "--from", "main~2", "/crew/support/", "--yes", "--json").json

        assert commit["trailers"]["Restored-From"] == store.learned
        assert plan(store) == "4821 is on Enterprise"
        assert content_of(store, NOTE) is None

    def test_everything(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.delete(NOTE)
            repo.put("later", 1)
        mnem("restore", "--from", "main~2", "--yes")

        assert content_of(store, NOTE) is not None
        assert content_of(store, "later") is None

    def test_dry_run(self, mnem, store):
        text = mnem("restore", "--from", "main~1", "--dry-run").stdout
        shown = mnem("restore", "--from", "main~1", "--dry-run", "--json").json

        assert f"changed  {PLAN}" in text
        assert shown["from"]["id"] == store.learned
        assert [change["key"] for change in shown["changes"]] == [PLAN]
        assert plan(store) == "4821 is on Free"

    def test_what_is_so_already(self, mnem, store):
        assert "nothing to restore" in mnem("restore", "--from", "main", "--yes").stdout
        assert mnem("restore", "--from", "main", "--yes", "--json").json is None

    def test_a_record_that_has_its_id_in_another_scope_by_now(self, mnem, store):
        mnem("mv", NOTE, f"/sales{NOTE.removeprefix('/crew')}")
        for options in (["--dry-run"], ["--yes"]):
            error = mnem("restore", "--from", "main~1", "/crew/", *options, code=4).stderr
            assert f"'/sales{NOTE.removeprefix('/crew')}' and '{NOTE}' (same-id)" in error
        mnem("undo", "--yes")
        assert content_of(store, NOTE) is not None

    def test_refusals(self, mnem, store):
        assert "--yes" in mnem("restore", "--from", "main~1", code=2).stderr
        assert "--from" in mnem("restore", "--yes", code=2).stderr
        mnem("restore", "--from", "nope", "--yes", code=3)

"""`mnem revert`."""

import mnemosyne_vcs

from .conftest import PLAN, TEAM, content_of, plan


class TestRevert:
    def test_a_commit_is_taken_back_and_later_ones_stay(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.put("later", 1)
        commit = mnem("revert", store.poisoned[:16], "--yes", "--json", "--author", "lead").json

        assert commit["trailers"]["Reverts"] == store.poisoned
        assert commit["author"] == "lead"
        assert plan(store) == "4821 is on Enterprise"
        assert content_of(store, "later") == 1

    def test_text(self, mnem, store):
        lines = mnem("revert", "main", "--yes", "-m", "misread").lines

        assert lines[0].endswith("  misread")
        assert lines[1].strip() == "1 changed"

    def test_dry_run(self, mnem, store):
        text = mnem("revert", "main", "--dry-run").stdout
        shown = mnem("revert", "main", "--dry-run", "--json").json

        assert '"4821 is on Free" → "4821 is on Enterprise"' in text
        assert shown["reverts"]["id"] == store.poisoned
        assert [change["key"] for change in shown["changes"]] == [PLAN]
        assert plan(store) == "4821 is on Free"

    def test_conflicts_are_explained_and_settled(self, mnem, store):
        ran = mnem("revert", "main~1", "--yes", code=4)
        assert f"{PLAN} (edit/delete): " in ran.stderr
        assert "base, what the commit wrote:" in ran.stderr
        assert "ours, main as it is now:" in ran.stderr
        assert "theirs, what was there before the commit:" in ran.stderr
        assert "Account reviewer" in ran.stderr
        assert content_of(store, TEAM) is not None

        mnem("revert", "main~1", "--yes", "--resolve", f"{PLAN}=ours")
        assert plan(store) == "4821 is on Free"
        assert content_of(store, TEAM) is None

    def test_a_dry_run_with_conflicts(self, mnem, store):
        ran = mnem("revert", "main~1", "--dry-run", code=4)

        assert f"removed  {TEAM}" in ran.stdout
        assert PLAN not in ran.stdout and PLAN in ran.stderr

    def test_a_merge_by_its_parents(self, mnem, store):
        mnem("merge", "what-if")
        mnem("revert", "main", "--parent", "1", "--yes")

        assert content_of(store, "notes:1/x") is None

    def test_twice_changes_nothing(self, mnem, store):
        mnem("revert", "main", "--yes")

        assert "nothing to take back" in mnem("revert", "main~1", "--yes").stdout
        assert "nothing to take back" in mnem("revert", "main~1", "--dry-run").stdout
        assert mnem("revert", "main~1", "--yes", "--json").json is None

    def test_refusals(self, mnem, store):
        assert "--yes" in mnem("revert", "main", code=2).stderr
        mnem("revert", "nope", "--yes", code=3)
        mnem("revert", "main", "--parent", "2", "--yes", code=5)
        mnem("revert", "--yes", code=2)
        mnem("revert", "main", "--yes", "--resolve", "nope=ours", code=5)

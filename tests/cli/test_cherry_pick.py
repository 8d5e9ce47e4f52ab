"""`mnem cherry-pick`."""

import mnemosyne_vcs

from .conftest import content_of


class TestCherryPick:
    def test_onto_another_branch(self, mnem, store):
        commit = mnem("cherry-pick", "what-if", "--json").json

        assert commit["message"] == "try this"
        assert len(commit["parents"]) == 1
        assert content_of(store, "notes:1/x") == {"a": 1}

    def test_what_is_there_already(self, mnem, store):
        assert "nothing to pick" in mnem("cherry-pick", "main", "-b", "what-if").stdout

    def test_dry_run(self, mnem, store):
        assert "added  notes:1/x" in mnem("cherry-pick", "what-if", "--dry-run").stdout
        assert content_of(store, "notes:1/x") is None

    def test_conflicts(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.put("notes:1/x", {"a": 2})
        ran = mnem("cherry-pick", "what-if", code=4)
        assert "theirs, what the commit wrote:" in ran.stderr
        assert "clash in a: ours 2, theirs 1" in ran.stderr

        mnem("cherry-pick", "what-if", "--on-conflict", "theirs")
        assert content_of(store, "notes:1/x") == {"a": 1}

    def test_refusals(self, mnem, store):
        mnem("cherry-pick", "nope", code=3)
        mnem("cherry-pick", "main", "--parent", "2", code=5)

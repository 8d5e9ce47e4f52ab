"""`mnem branch`."""

import pytest

from mnemosyne_vcs.ids import short_id

from .conftest import heads


class TestBranch:
    def test_list(self, mnem, store):
        first, second = mnem("branch").lines

        assert first.startswith("main     " + short_id(store.poisoned))
        assert first.endswith("read note 118")
        assert second.startswith("what-if") and second.endswith("try this")

    def test_json_is_one_branch_a_line(self, mnem, store):
        first, second = mnem("branch", "--json").jsonl

        assert (first["name"], first["commit"]["id"]) == ("main", store.poisoned)
        assert second["name"] == "what-if"

    def test_make_one(self, mnem, store):
        line = mnem("branch", "before", store.learned[:20]).stdout

        assert line.startswith(f"made branch before at {short_id(store.learned)}")
        assert heads(store.path)[0]["before"] == store.learned

    def test_it_starts_from_the_branch_at_hand(self, mnem, store):
        made = mnem("branch", "further", "-b", "what-if", "--json").json

        assert made["commit"]["message"] == "try this"
        assert heads(store.path)[0]["further"] == heads(store.path)[0]["what-if"]

    def test_delete_one(self, mnem, store):
        assert mnem("branch", "-d", "what-if", "--yes").stdout.startswith("deleted branch what-if")

        assert list(heads(store.path)[0]) == ["main"]

    def test_dry_run_tells_what_would_be_out_of_reach(self, mnem, store):
        text = mnem("branch", "-d", "what-if", "--dry-run").stdout
        plan = mnem("branch", "-d", "what-if", "--dry-run", "--json").json

        assert "leads to 1 commit of it" in text
        assert (plan["name"], plan["only_there"]) == ("what-if", 1)
        assert "what-if" in heads(store.path)[0]

    def test_what_a_tag_leads_to_stays_in_reach(self, mnem, store):
        mnem("tag", "kept", "what-if")

        assert mnem("branch", "-d", "what-if", "--dry-run", "--json").json["only_there"] == 0

    @pytest.mark.parametrize(
        "arguments, code",
        [
            (("what-if",), 11),
            (("new", "nope"), 3),
            (("bad name~1",), 5),
            (("-d", "nope", "--yes"), 3),
            (("-d",), 2),
            (("-d", "what-if"), 2),
            (("-d", "what-if", "main", "--yes"), 2),
        ],
    )
    def test_refusals_change_nothing(self, mnem, store, arguments, code):
        before = heads(store.path)

        assert mnem("branch", *arguments, code=code).stderr
        assert heads(store.path) == before

"""`mnem rm`."""

import pytest

from .conftest import NOTE, PLAN, TEAM, at, head


class TestRm:
    def test_records(self, mnem, store):
        commit = mnem("rm", TEAM, "33333333", "--yes", "--json").json

        assert commit["message"] == f"remove {TEAM} and 1 more"
        assert [at(store, key) for key in (TEAM, NOTE)] == [None, None]
        assert at(store, PLAN) is not None

    @pytest.mark.parametrize("prefix", ["/crew/support", "/crew/support/"])
    def test_a_subtree(self, mnem, store, prefix):
        mnem("rm", "-r", prefix, "--yes", "-m", "closed", "--author", "lead")

        assert [at(store, key) for key in (PLAN, TEAM)] == [None, None]
        assert at(store, NOTE) is not None
        assert (head(store).message, head(store).author) == ("closed", "lead")

    def test_a_record_and_what_is_below_it(self, mnem, store):
        for key in ("a", "a/b", "ab"):
            mnem("put", key, "1")
        mnem("rm", "-r", "a", "--yes")

        assert [at(store, key) is None for key in ("a", "a/b", "ab")] == [True, True, False]

    def test_undo_brings_them_back(self, mnem, store):
        mnem("rm", "-r", "/crew/", "--yes")
        mnem("undo", "--yes")

        assert at(store, PLAN) is not None

    def test_dry_run(self, mnem, store):
        before = head(store)

        assert mnem("rm", TEAM, "--dry-run", "--yes").lines == [
            "What would be removed",
            f"removed  {TEAM}",
            "           5120 is on Team",
        ]
        [change] = mnem("rm", TEAM, "--dry-run", "--json").json["changes"]
        assert (change["key"], change["kind"]) == (TEAM, "removed")
        assert head(store) == before

    @pytest.mark.parametrize(
        "arguments, code",
        [
            (("nope", "--yes"), 3),
            ((TEAM, "nope", "--yes"), 3),
            (("-r", "nope/", "--yes"), 3),
            (("1111", "--yes"), 5),
            ((TEAM,), 2),
            (("--yes",), 2),
            ((TEAM, "--yes", "-b", "nope"), 3),
        ],
    )
    def test_refusals_remove_nothing(self, mnem, store, arguments, code):
        before = head(store)

        assert mnem("rm", *arguments, code=code).stderr
        assert head(store) == before

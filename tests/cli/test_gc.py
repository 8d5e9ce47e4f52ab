"""`mnem gc`."""

import pytest


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

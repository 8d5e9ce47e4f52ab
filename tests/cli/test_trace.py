"""`mnem trace` and `mnem retract`."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import Provenance

from .conftest import PLAN, TEAM, content_of, memory, plan


class TestTrace:
    @pytest.fixture
    def poisoned(self, store):
        """A conclusion from what the bad note said, on main and on what-if."""
        with mnemosyne_vcs.open(store.path, author="billing") as repo:
            derived = Provenance(agent="Biller", derived_from=((PLAN, store.poisoned),))
            repo.put("invoices/4821", {"due": 0}, provenance=derived, message="bill")
            repo.put("good", "a later edit", message="good work")
        return store

    def test_direct_and_derived_records_of_every_branch(self, mnem, poisoned):
        found = mnem("trace", "--source", "note-118", "--json").jsonl

        assert [(each["branch"], each["record"]["key"], each["through"]) for each in found] == [
            ("main", PLAN, []),
            ("main", "invoices/4821", [PLAN]),
            ("what-if", PLAN, []),
        ]

    def test_text(self, mnem, poisoned):
        lines = mnem("trace", "--source", "note-118").lines

        assert len(lines) == 3
        assert lines[1].split()[:4] == ["main", "invoices/4821", "through", PLAN]

    @pytest.mark.parametrize(
        "by",
        [("--agent", "Account reviewer"), ("--run", "bbbbbbbb-2222-4000-8000-000000000002"),
         ("--commit", "main~2"), ("--agent", "Account reviewer", "--source", "note-118")],
    )  # fmt: skip
    def test_by(self, mnem, poisoned, by):
        assert len(mnem("trace", *by, "--json").lines) == 3

    def test_by_tool_call_and_on_one_branch(self, mnem, poisoned):
        with mnemosyne_vcs.open(poisoned.path) as repo:
            repo.put("called", 1, provenance=Provenance(tool_call="call-7"))

        assert mnem("trace", "--tool-call", "call-7", "--json").json["record"]["key"] == "called"
        only = mnem("trace", "--source", "note-118", "--only", "what-if", "--json").jsonl
        assert [each["branch"] for each in only] == ["what-if"]

    def test_nothing_found(self, mnem, store):
        ran = mnem("trace", "--source", "nowhere")

        assert ran.stdout == "" and "no live record" in ran.stderr

    def test_retract_takes_back_exactly_those(self, mnem, poisoned):
        commits = mnem("trace", "--source", "note-118", "--retract", "--yes", "--json").json

        assert commits["commits"].keys() == {"main", "what-if"}
        for branch in ("main", "what-if"):
            assert plan(poisoned, branch) == "4821 is on Enterprise"
        assert content_of(poisoned, "invoices/4821") is None
        assert content_of(poisoned, "good") == "a later edit"
        assert content_of(poisoned, TEAM) == memory("5120 is on Team")
        assert mnem("trace", "--source", "note-118", "--json").stdout == ""

    def test_retract_in_text(self, mnem, poisoned):
        lines = mnem("trace", "--source", "note-118", "--retract", "--yes", "-m", "bad").lines

        assert lines[0] == "main: 2 records taken back"
        assert lines[1].endswith("  bad")
        again = mnem("trace", "--source", "note-118", "--retract", "--yes").stdout
        assert "no live record" in again

    def test_dry_run(self, mnem, poisoned):
        text = mnem("trace", "--source", "note-118", "--retract", "--dry-run").stdout
        shown = mnem("trace", "--source", "note-118", "--retract", "--dry-run", "--json").json

        assert "What would change on main" in text and "removed  invoices/4821" in text
        assert len(shown["changes"]["main"]) == 2
        assert plan(poisoned) == "4821 is on Free"

    def test_refusals(self, mnem, store):
        mnem("trace", code=5)
        mnem("trace", "--retract", "--yes", code=5)
        assert "--yes" in mnem("trace", "--source", "note-118", "--retract", code=2).stderr
        mnem("trace", "--source", "note-118", "--dry-run", code=2)
        mnem("trace", "--source", "x", "--only", "nope", code=3)
        mnem("trace", "--commit", "nope", code=3)

"""`mnem why`."""

import mnemosyne_vcs
from mnemosyne_vcs.ids import short_id

from .conftest import PLAN, RUN_2, TEAM


class TestWhy:
    def test_who_wrote_it_from_what_and_what_was_before(self, mnem, store):
        lines = mnem("why", "11111111-aaaa-4000-8000-000000000001").lines

        assert lines[:2] == [PLAN, "  4821 is on Free"]
        assert f"commit        {store.poisoned}" in lines
        for fact in ("agent         Account reviewer", "task          Note 118",
                     "source        note-118", f"run           {RUN_2}",
                     f"derived from  {PLAN} at {short_id(store.learned)}"):  # fmt: skip
            assert fact in lines
        assert lines[-2] == "Before that"
        assert lines[-1] == (
            f"{short_id(store.learned)}  2026-09-21 14:13:00Z  crewai (Onboarding analyst)  "
            "4821 is on Enterprise"
        )

    def test_json(self, mnem, store):
        why = mnem("why", PLAN, "--json").json

        assert why["key"] == PLAN
        assert why["written"]["commit"]["id"] == store.poisoned
        assert why["written"]["record"]["provenance"]["source"] == "note-118"
        assert [each["commit"]["id"] for each in why["earlier"]] == [store.learned]

    def test_after_an_undo_the_first_writer_and_who_put_it_back(self, mnem, store):
        undone = mnem("undo", "--yes", "--json").json["id"]

        why = mnem("why", PLAN, "--json").json
        assert why["written"]["commit"]["id"] == store.learned
        assert why["present_since"]["id"] == undone
        assert f"restored by {short_id(undone)}" in mnem("why", PLAN).stdout

    def test_a_deleted_record(self, mnem, store):
        with mnemosyne_vcs.open(store.path, author="cleaner") as repo:
            repo.delete(TEAM)

        text = mnem("why", TEAM).stdout
        assert "(deleted)" in text and "deleted by  cleaner" in text
        assert "5120 is on Team" in text
        assert mnem("why", TEAM, "--json").json["written"]["record"] is None

    def test_as_it_was(self, mnem, store):
        why = mnem("why", PLAN, "--at", "main~1", "--json").json

        assert why["written"]["commit"]["id"] == store.learned
        assert why["earlier"] == []

    def test_without_the_index_of_history(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.blocks.engine.clear_index()

        assert mnem("why", PLAN, "--json").json["written"]["commit"]["id"] == store.poisoned
        assert len(mnem("log", "--key", PLAN, "--json").lines) == 2

    def test_a_key_that_never_was(self, mnem, store):
        assert "nope" in mnem("why", "nope", code=3).stderr

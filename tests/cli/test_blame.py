"""`mnem blame`."""

import mnemosyne_vcs
from mnemosyne_vcs.ids import short_id

from .conftest import NOTE, PLAN, TEAM, memory


class TestBlame:
    def test_of_a_record(self, mnem, store):
        [line] = mnem("blame", "11111111").lines

        assert line.startswith(short_id(store.poisoned))
        assert PLAN in line and "source note-118, agent Account reviewer" in line
        assert line.endswith("4821 is on Free")

    def test_of_a_field_that_the_last_writer_left_alone(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.put(PLAN, memory("4821 is on Free", 1.0))

        last = mnem("blame", PLAN, "--json").json["commit"]["id"]
        wrote = {
            field: mnem("blame", PLAN, "--field", field, "--json").json["commit"]["id"]
            for field in ("content", "importance", "categories", "categories.0")
        }
        assert wrote == {
            "content": store.poisoned,
            "importance": last,
            "categories": store.learned,
            "categories.0": store.learned,
        }

    def test_of_a_prefix(self, mnem, store):
        found = mnem("blame", "--prefix", "/crew/", "--json").jsonl

        assert {each["key"]: each["commit"]["id"] for each in found} == {
            PLAN: store.poisoned,
            TEAM: store.learned,
            NOTE: store.learned,
        }
        assert len(mnem("blame", "--prefix", "/crew/support/").lines) == 2

    def test_as_it_was_and_of_what_is_deleted(self, mnem, store):
        with mnemosyne_vcs.open(store.path, author="cleaner") as repo:
            repo.delete(PLAN)

        assert "(deleted)" in mnem("blame", PLAN).stdout
        assert mnem("blame", PLAN, "--json").json["record"] is None
        then = mnem("blame", PLAN, "--at", "main~2", "--json").json
        assert then["commit"]["id"] == store.learned

    def test_bad_input(self, mnem, store):
        mnem("blame", code=2)
        mnem("blame", PLAN, "--prefix", "x", code=2)
        mnem("blame", "--prefix", "x", "--field", "y", code=2)
        mnem("blame", "nope", code=3)
        assert "nope" in mnem("blame", PLAN, "--field", "nope", code=3).stderr
        assert "no record" in mnem("blame", "--prefix", "nope").stderr

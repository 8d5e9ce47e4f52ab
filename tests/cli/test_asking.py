"""`mnem log` with filters, and `mnem blame`."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs.revision import short_id

from .conftest import NOTE, PLAN, RUN_1, TEAM, memory


class TestLogFilters:
    @pytest.mark.parametrize(
        "filters, messages",
        [
            (("--prefix", "/crew/support/"), ["read note 118", ""]),
            (("--prefix", "/crew/3"), [""]),
            (("--author", "crewai"), ["read note 118", ""]),
            (("--author", "lead"), []),
            (("--agent", "Account reviewer"), ["read note 118"]),
            (("--source", "ticket-7731"), [""]),
            (("--run", RUN_1), [""]),
            (("--run", "bbbb"), ["read note 118"]),
            (("--since", "2026-09-21T14:13:30Z"), ["read note 118"]),
            (("--until", "2026-09-21 14:13:30Z"), [""]),
            (("--since", "2026-09-21T14:13Z", "--until", "now"), ["read note 118", ""]),
            (("--author", "crewai", "--source", "note-118", "--key", PLAN), ["read note 118"]),
            (("--run", "bbbb", "--source", "ticket-7731"), []),
            (("--author", "crewai", "-n", "1"), ["read note 118"]),
            (("--first-parent",), ["read note 118", ""]),
        ],
    )  # fmt: skip
    def test_which_commits(self, mnem, store, filters, messages):
        found = mnem("log", *filters, "--json").jsonl

        assert [commit["message"] for commit in found] == messages

    def test_merges_only_by_their_first_parents(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.merge("what-if")

        assert len(mnem("log", "--oneline").lines) == 4
        assert len(mnem("log", "--first-parent", "--oneline").lines) == 3

    def test_none_that_fits(self, mnem, store):
        ran = mnem("log", "--author", "nobody")

        assert ran.stdout == "" and "no such commit" in ran.stderr

    def test_bad_input(self, mnem, store):
        assert "soon" in mnem("log", "--since", "soon", code=5).stderr
        mnem("log", "--key", PLAN, "--prefix", "/crew/", code=5)
        mnem("log", "--key", "nope", code=3)


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


def test_they_load_neither_numpy_nor_rich(here, store):
    from .test_process import LOADED, loaded

    for arguments in (["log", "--graph"], ["blame", PLAN], ["log", "--agent", "Account reviewer"]):
        assert not {"numpy", "rich"} & loaded(LOADED, *arguments)

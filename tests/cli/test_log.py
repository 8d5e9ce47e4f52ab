"""`mnem log`."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs.ids import short_id

from .conftest import PLAN, RUN_1, RUN_2, SAVE_1, TEAM


class TestLog:
    def test_each_commit_with_its_writer_and_origin(self, mnem, store):
        lines = mnem("log").lines

        first, second = short_id(store.poisoned), short_id(store.learned)
        assert lines == [
            f"{first}  2026-09-21 14:14:00Z  crewai  read note 118",
            f"            run {RUN_2[:8]}",
            f"{second}  2026-09-21 14:13:00Z  crewai  3 added",
            f"            run {RUN_1[:8]}  save {SAVE_1[:8]}  crew the support desk",
        ]

    def test_oneline(self, mnem, store):
        assert [line.split()[0] for line in mnem("log", "--oneline").lines] == [
            short_id(store.poisoned),
            short_id(store.learned),
        ]

    def test_json_is_one_commit_a_line(self, mnem, store):
        commits = mnem("log", "--json").jsonl

        assert [commit["id"] for commit in commits] == [store.poisoned, store.learned]
        assert commits[1]["trailers"]["Run-Id"] == RUN_1
        assert commits[0]["parents"] == [store.learned]

    @pytest.mark.parametrize(
        "arguments, count",
        [(("-n", "1"), 1), (("main~1",), 1), (("-b", "what-if"), 3), (("-n", "0"), 0)],
    )
    def test_which_commits(self, mnem, store, arguments, count):
        assert len(mnem("log", *arguments, "--oneline").lines) == count

    @pytest.mark.parametrize("key", [PLAN, PLAN.rsplit("/", 1)[1], "11111111"])
    def test_of_a_key(self, mnem, store, key):
        assert len(mnem("log", "--key", key, "--json").lines) == 2
        assert len(mnem("log", "--key", key, "--json", "-n", "1").lines) == 1
        assert len(mnem("log", "--key", TEAM, "--json").lines) == 1

    def test_an_empty_store_is_said_to_be_so(self, mnem):
        mnem("init")

        ran = mnem("log")
        assert ran.stdout == ""
        assert "no commits yet" in ran.stderr


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

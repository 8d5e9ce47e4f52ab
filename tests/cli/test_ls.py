"""`mnem ls`."""

import mnemosyne_vcs

from .conftest import LONG, NOTE, PLAN, TEAM


class TestLs:
    def test_children_with_counts(self, mnem, store):
        assert mnem("ls").lines == ["/crew/  3 records"]
        assert [line.split() for line in mnem("ls", "/crew").lines] == [
            [NOTE],
            ["/crew/support/", "2", "records"],
        ]

    def test_all_keys_below(self, mnem, store):
        assert mnem("ls", "-r").lines == [NOTE, PLAN, TEAM]
        assert mnem("ls", "-r", "/crew/support").lines == [PLAN, TEAM]
        assert mnem("ls", "-r", PLAN).lines == [PLAN]

    def test_with_what_records_say_in_full(self, mnem, store):
        lines = mnem("ls", "-r", "-l").lines

        assert lines[0] == f"{NOTE}{' ' * 10}{LONG}"
        assert lines[1] == f"{PLAN}  4821 is on Free"

    def test_as_it_was(self, mnem, store):
        assert "Enterprise" in mnem("ls", "-l", "/crew/support", "--at", "main~1").stdout
        assert mnem("ls", "--at", "main~2").stdout == ""

    def test_json(self, mnem, store):
        assert mnem("ls", "/crew", "--json").jsonl == [
            {"key": NOTE},
            {"prefix": "/crew/support/", "records": 2},
        ]
        assert mnem("ls", "-rl", "--json").jsonl[1]["content"] == {
            "content": "4821 is on Free",
            "importance": 0.9,
            "categories": ["plan"],
        }

    def test_a_record_above_others(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.put("a", 1)
            repo.put("a/b", 2)

        assert mnem("ls").lines == ["/   3 records", "a", "a/  1 record"]
        assert mnem("ls", "a").lines == ["a/b"]

    def test_nothing_there(self, mnem, store):
        assert "'/nope'" in mnem("ls", "/nope", code=3).stderr

"""`mnem grep`."""

from .conftest import NOTE, PLAN, TEAM


class TestGrep:
    def test_key_path_and_line(self, mnem, store):
        assert mnem("grep", "is on").lines == [
            f"{PLAN}:content: 4821 is on Free",
            f"{TEAM}:content: 5120 is on Team",
        ]

    def test_keys_and_names(self, mnem, store):
        assert mnem("grep", "2222").lines == [TEAM]
        assert mnem("grep", "importance", "--prefix", NOTE).lines == [
            f"{NOTE}:importance: importance"
        ]

    def test_exactly_or_in_any_case(self, mnem, store):
        assert mnem("grep", "IS ON", code=1).stdout == ""
        assert len(mnem("grep", "-i", "IS ON").lines) == 2
        assert mnem("grep", "i.*n", code=1).stdout == ""

    def test_in_an_earlier_memory(self, mnem, store):
        assert mnem("grep", "Enterprise", code=1).stderr == ""
        assert mnem("grep", "Enterprise", "--at", "main~1").lines == [
            f"{PLAN}:content: 4821 is on Enterprise"
        ]
        assert mnem("grep", "a", "-b", "what-if", "--prefix", "notes").lines == ["notes:1/x:a: a"]

    def test_keys_only_and_counts(self, mnem, store):
        assert mnem("grep", "-l", "is on").lines == [PLAN, TEAM]
        assert mnem("grep", "-c", "0.").lines == [f"{NOTE}: 1", f"{PLAN}: 1", f"{TEAM}: 1"]
        assert "exclude each other" in mnem("grep", "-l", "-c", "x", code=2).stderr

    def test_as_json(self, mnem, store):
        [match] = mnem("grep", "on Te", "--json").jsonl

        assert match == {
            "key": TEAM,
            "path": "content",
            "line_number": 1,
            "line": "5120 is on Team",
            "spans": [[8, 13]],
        }
        assert mnem("grep", "-l", "on Te", "--json").jsonl == [{"key": TEAM}]
        assert mnem("grep", "-c", "on Te", "--json").jsonl == [{"key": TEAM, "count": 1}]

    def test_a_whole_line_is_shown_where_there_is_no_terminal(self, mnem, store):
        [line] = mnem("grep", "to the end").lines

        assert line.startswith(f"{NOTE}:content: long long")
        assert line.endswith(" and to the end")

    def test_lines_of_a_text(self, mnem, store):
        mnem("put", "x", "--text", "one\ntwo \x1b[1m\nthree", "-s", str(store.path))

        assert mnem("grep", "two", "--prefix", "x").lines == [r"x: two \u001b[1m"]
        assert "the text to find is empty" in mnem("grep", "", code=5).stderr

"""`mnem put`."""

import pytest

from .conftest import PLAN, TEAM, at, head


class TestPut:
    @pytest.mark.parametrize(
        "text, content",
        [
            ('{"plan": "Team"}', {"plan": "Team"}),
            ('"a text"', "a text"),
            ("null", None),
            ("[1]", [1]),
        ],
    )
    def test_json(self, mnem, store, text, content):
        mnem("put", "customers/4821", text)

        assert at(store, "customers/4821")[0] == content

    def test_the_commit(self, mnem, store):
        commit = mnem("put", "k", "1", "-m", "why not", "--author", "lead", "--json").json

        assert (commit["message"], commit["author"]) == ("why not", "lead")
        assert commit["id"] == head(store).id
        assert mnem("put", "k", "2", "--author", "lead").stdout.endswith("  lead  put k\n")

    def test_text_as_it_stands(self, mnem, store):
        mnem("put", "k", "--text", "hello: [world")

        assert at(store, "k")[0] == "hello: [world"

    @pytest.mark.parametrize("value", [(), ("-",)])
    def test_from_standard_input(self, mnem, store, value):
        mnem("put", "k", *value, stdin='{"a":\n 1}\n')

        assert at(store, "k")[0] == {"a": 1}

    def test_on_a_branch(self, mnem, store):
        mnem("put", "k", "1", "-b", "what-if")

        assert at(store, "k") is None
        assert at(store, "k", "what-if")[0] == 1

    def test_where_it_came_from(self, mnem, store):
        mnem(
            "put", "k", "1", "--source", "ticket-1", "--agent", "lead", "--tool-call", "c9",
            "--derived-from", TEAM, "--derived-from", "main~1:11111111", "--note", "by hand",
        )  # fmt: skip

        known = at(store, "k")[2].known()
        assert known == {
            "source": "ticket-1",
            "agent": "lead",
            "tool_call": "c9",
            "note": "by hand",
            "derived_from": ((TEAM, store.poisoned), (PLAN, store.learned)),
        }

    def test_vectors_and_event_time(self, mnem, store):
        mnem(
            "put", "k", "1", "--embedding", "[0.5, 1, -2]", "--embedder", "e5",
            "--event-time", "2026-01-02T03:04:05Z",
        )  # fmt: skip

        shown = mnem("show", ":k", "--json").json
        assert shown["dimensions"] == {"": 3}
        assert shown["embedder"] == "e5"
        assert shown["event_time"] == 1_767_323_045_000

    def test_vectors_go_unless_they_are_kept(self, mnem, store):
        mnem("put", TEAM, "1", "--keep-vectors")
        assert at(store, TEAM)[1] == [""]

        assert "--keep-vectors" in mnem("put", TEAM, "2").stderr
        assert at(store, TEAM)[1] == []

    def test_the_same_again_changes_nothing(self, mnem, store):
        mnem("put", "k", "1")
        before = head(store)

        assert "nothing to change" in mnem("put", "k", "1").stdout
        assert mnem("put", "k", "1", "--json").json is None
        assert head(store) == before

    @pytest.mark.parametrize(
        "arguments, code",
        [
            (("k", "not json"), 5),
            (("k", "NaN"), 5),
            (("k", "1e999"), 5),
            (("k", "9" * 30), 5),
            (("k", "[" * 100_000), 5),
            (("", "1"), 5),
            (("a\nb", "1"), 5),
            (("k", "1", "--embedding", "{}"), 5),
            (("k", "1", "--embedding", "[true]"), 5),
            (("k", "1", "--embedding", "[NaN]"), 5),
            (("k", "1", "--embedding", "[1]", "--keep-vectors"), 2),
            (("k", "1", "--keep-vectors"), 3),
            (("k", "1", "--derived-from", "nope"), 3),
            (("k", "1", "--derived-from", "main"), 5),
            (("k", "1", "--event-time", "soon"), 2),
            (("k", "1", "-b", "nope"), 3),
            ((), 2),
        ],
    )
    def test_bad_input_writes_nothing(self, mnem, store, arguments, code):
        before = head(store)

        assert "Traceback" not in mnem("put", *arguments, code=code).stderr
        assert head(store) == before

    def test_bad_json_says_where_and_what_to_do(self, mnem, store):
        message = mnem("put", "k", "{a: 1}", "--json", code=5).error["message"]

        assert "column 2" in message and "--text" in message

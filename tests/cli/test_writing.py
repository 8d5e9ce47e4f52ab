"""The verbs that write records: put, rm, mv."""

import pytest

import mnemosyne_vcs

from .conftest import NOTE, PLAN, TEAM


def at(store, key, branch="main"):
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        record = repo.at(branch).get(key)
        return record and (record.content, sorted(record.vectors), record.provenance)


def head(store):
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        return repo.resolve()


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

        assert "nothing changed" in mnem("put", "k", "1").stdout
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


class TestMv:
    def test_history_follows(self, mnem, store):
        assert mnem("mv", "11112222", "archive/team").stdout.endswith(
            f"  move {TEAM} to archive/team\n"
        )

        assert at(store, TEAM) is None
        assert mnem("show", ":archive/team", "--json").json["moved_from"] == TEAM
        assert len(mnem("log", "--key", "archive/team", "--json").jsonl) == 2

    def test_into_a_subtree(self, mnem, store):
        mnem("mv", TEAM, "archive/", "-m", "put away", "--author", "lead")

        assert at(store, "archive/11112222-aaaa-4000-8000-000000000002") is not None
        assert (head(store).message, head(store).author) == ("put away", "lead")

    def test_a_whole_subtree(self, mnem, store):
        commit = mnem("mv", "-r", "/crew/support", "/crew/done", "--json").json

        assert commit["id"] == head(store).id
        keys = {line["key"] for line in mnem("ls", "-r", "--json").jsonl}
        assert keys == {NOTE, PLAN.replace("support", "done"), TEAM.replace("support", "done")}

    def test_to_where_it_is(self, mnem, store):
        assert "nothing changed" in mnem("mv", TEAM, TEAM).stdout

    @pytest.mark.parametrize(
        "arguments, code",
        [
            (("nope", "x"), 3),
            ((TEAM, PLAN), 11),
            ((TEAM, ""), 5),
            (("-r", "nope", "x"), 3),
            (("1111", "x"), 5),
            ((TEAM,), 2),
        ],
    )
    def test_refusals_move_nothing(self, mnem, store, arguments, code):
        before = head(store)

        assert mnem("mv", *arguments, code=code).stderr
        assert head(store) == before

"""The verbs that only look: status, log, show, ls, search, why, verify."""

import json
import sqlite3

import pytest

import mnemosyne_vcs
from mnemosyne_vcs.cli.describe import age, byte_size, counted
from mnemosyne_vcs.revision import short_id

from .conftest import LONG, NOTE, PLAN, RUN_1, RUN_2, SAVE_1, TEAM


class TestStatus:
    def test_text(self, mnem, store):
        lines = mnem("status").lines

        assert lines[0] == f"store    sqlite:///{store.path}"
        assert "branch   main" in lines
        assert "records  3" in lines
        assert "commits  3" in lines
        assert any(short_id(store.poisoned) in line and "ago" in line for line in lines)
        assert "what-if  4 records" in lines[-1]

    def test_json(self, mnem, store):
        status = mnem("status", "--json").json

        assert status["head"]["id"] == store.poisoned
        assert status["branches"] == {"main": 3, "what-if": 4}
        assert status["bytes"] >= store.path.stat().st_size > 0

    def test_of_an_empty_store(self, mnem):
        mnem("init")

        assert "no commits yet" in mnem("status").stdout


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


class TestShow:
    def test_a_commit_and_what_it_changed(self, mnem, store):
        text = mnem("show").stdout

        assert f"commit  {store.poisoned}" in text
        assert "read note 118" in text
        assert f"changed  {PLAN}" in text
        assert 'content: "4821 is on Enterprise" → "4821 is on Free"' in text
        assert "importance: 0.5 → 0.9" in text
        assert '(provenance.source): "ticket-7731" → "note-118"' in text
        assert "embedding" not in text

    def test_a_commit_in_json(self, mnem, store):
        shown = mnem("show", store.poisoned[:16], "--json").json

        assert shown["id"] == store.poisoned
        [change] = shown["changes"]
        assert change["kind"] == "changed"
        assert change["fields"][0] == {
            "field": "content",
            "before": "4821 is on Enterprise",
            "after": "4821 is on Free",
            "kind": "changed",
        }

    def test_the_first_commit_lists_what_it_added(self, mnem, store):
        lines = mnem("show", short_id(store.learned)).lines

        assert f"added  {NOTE}" in lines
        assert any(LONG in line for line in lines)

    @pytest.mark.parametrize("what", [PLAN, f":{PLAN}", ":11111111", f"main:{PLAN}"])
    def test_a_record(self, mnem, store, what):
        text = mnem("show", what).stdout

        assert text.startswith(f"{PLAN}\n{{\n")
        assert '  "content": "4821 is on Free",\n' in text
        assert f"commit        {store.poisoned}" in text
        assert "agent         Account reviewer" in text
        assert f"derived from  {PLAN} at {short_id(store.learned)}" in text
        assert "embedding     3 dimensions" in text

    @pytest.mark.parametrize(
        "revision", ["main~1", "main@{2026-09-21T14:13:30Z}", "main@{2026-09-21 14:13:30Z}"]
    )
    def test_a_record_as_it_was(self, mnem, store, revision):
        shown = mnem("show", f"{revision}:{PLAN}", "--json").json

        assert shown["content"]["content"] == "4821 is on Enterprise"
        assert shown["commit"]["id"] == store.learned
        assert shown["dimensions"] == {"": 3}

    def test_a_key_with_a_colon(self, mnem, store):
        assert mnem("show", "notes:1/x", "-b", "what-if", "--json").json["content"] == {"a": 1}
        assert mnem("show", "what-if:notes:1/x", "--json").json["content"] == {"a": 1}

    def test_a_revision_comes_before_a_key_of_that_name(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.put("main", "a record")

        assert "root" in mnem("show", "main", "--json").json
        assert mnem("show", ":main", "--json").json["content"] == "a record"

    def test_what_is_not_there(self, mnem, store):
        for what in ("nope", ":nope", "main:nope", "nope:x"):
            assert "nope" in mnem("show", what, code=3).stderr

    def test_the_start_of_several_keys_lists_them(self, mnem, store):
        error = mnem("show", ":1111", "--json", code=5).error

        assert PLAN in error["message"] and TEAM in error["message"]
        assert NOTE not in error["message"]


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


class TestSearch:
    def test_nearest_first_without_the_record_itself(self, mnem, store):
        rows = [line.split(maxsplit=2) for line in mnem("search", "--like", PLAN).lines]

        assert [row[1] for row in rows] == [TEAM, NOTE]
        assert rows[0] == ["0.9939", TEAM, "5120 is on Team"]
        assert rows[1][2] == LONG

    def test_limits(self, mnem, store):
        assert len(mnem("search", "--like", PLAN, "-n", "1").lines) == 1
        [hit] = mnem("search", "--like", NOTE, "--prefix", TEAM, "--json").jsonl
        assert hit["record"]["key"] == TEAM
        assert hit["score"] == pytest.approx(0.11043, abs=1e-5)

    def test_a_record_without_embedding(self, mnem, store):
        assert "no embedding" in mnem("search", "--like", "x", "-b", "what-if", code=5).stderr

    def test_in_an_earlier_memory(self, mnem, store):
        hits = mnem("search", "--like", TEAM, "--at", "main~1", "--json").jsonl

        assert hits[0]["record"]["content"]["content"] == "4821 is on Enterprise"


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
        assert f"put back by {short_id(undone)}" in mnem("why", PLAN).stdout

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


class TestVerify:
    def test_a_sound_store(self, mnem, store):
        assert "all sound" in mnem("verify").stdout

        report = mnem("verify", "--json").json
        assert report["ok"] and report["problems"] == []
        assert report["commits"] == 4

    def test_a_damaged_store(self, mnem, store):
        with sqlite3.connect(store.path) as connection:
            [(number, data)] = connection.execute(
                "SELECT n, data FROM objects WHERE instr(data, '5120 is on Team') > 0"
            ).fetchall()
            damaged = data.replace(b"5120", b"5121")
            connection.execute("UPDATE objects SET data = ? WHERE n = ?", (damaged, number))
        connection.close()

        report = mnem("verify", "--json", code=6).json
        assert [problem["kind"] for problem in report["problems"]] == ["corrupt"]
        assert report["problems"][0]["object"] in mnem("verify", code=6).stdout
        assert mnem("show", TEAM, "--json", code=6).error["kind"] == "corrupt"

    def test_a_wrong_index_is_told_and_made_anew(self, mnem, store):
        with sqlite3.connect(store.path) as connection:
            connection.execute("UPDATE commits SET made_by = made_by || 'x' WHERE n > 2")
        connection.close()

        assert PLAN in mnem("blame", PLAN).stdout
        assert "--repair-index" in mnem("verify", code=6).stdout
        report = mnem("verify", "--json", code=6).json
        assert {problem["kind"] for problem in report["problems"]} == {"index"}
        said = mnem("verify", "--repair-index").stdout
        assert "made the index of 4 commits anew" in said
        assert "all sound" in said
        assert mnem("verify", "--repair-index", "--json").json["ok"]


class TestWords:
    @pytest.mark.parametrize(
        "seconds, text",
        [(0, "just now"), (1, "1 second ago"), (119, "1 minute ago"), (7200, "2 hours ago"),
         (200_000, "2 days ago"), (-5, "just now")],
    )  # fmt: skip
    def test_age(self, seconds, text):
        assert age(0, seconds * 1000) == text

    def test_counts_and_sizes(self):
        assert [counted(1, "branch"), counted(2000, "branch")] == ["1 branch", "2,000 branches"]
        assert [byte_size(n) for n in (0, 1023, 1024, 3 << 30)] == [
            "0 bytes", "1023 bytes", "1.0 KiB", "3.0 GiB",
        ]  # fmt: skip


def test_stored_text_cannot_steer_a_terminal(mnem, store):
    with mnemosyne_vcs.open(store.path) as repo:
        repo.put("evil", "\x1b[2J\x9b gone", message="\x1b]0;title\x07", author="\x1b[5m")

    for arguments in (("log",), ("show",), ("show", ":evil"), ("ls", "-rl"), ("why", "evil"),
                      ("status",), ("show", ":evil", "--json")):  # fmt: skip
        text = mnem(*arguments).stdout
        assert not {"\x1b", "\x9b", "\x07"} & set(text)


def test_json_keeps_every_character(mnem, store):
    with mnemosyne_vcs.open(store.path) as repo:
        repo.put("text", "tab\t esc\x1b del\x7f c1\x9b é 🧠")

    assert json.loads(mnem("show", ":text", "--json").stdout)["content"] == (
        "tab\t esc\x1b del\x7f c1\x9b é 🧠"
    )


def test_looking_never_writes(mnem, store):
    def kept():
        files = [store.path, *store.path.parent.glob("memory.mnem-wal")]
        return {file.name: file.read_bytes() for file in files}

    mnem("status")
    before = kept()
    for arguments in (("log", "--key", PLAN), ("why", PLAN), ("show",), ("ls",), ("verify",),
                      ("search", "--like", PLAN)):  # fmt: skip
        mnem(*arguments)
    assert kept() == before


def test_a_moved_record_is_one_change(mnem, store):
    with mnemosyne_vcs.open(store.path) as repo, repo.transaction() as tx:
        tx.move(TEAM, "/archive/team")

    assert f"moved  /archive/team  from {TEAM}" in mnem("show").lines
    assert mnem("log", "--oneline", "-n", "1").stdout.endswith("1 added, 1 removed\n")


@pytest.mark.parametrize("gone, there", [("a/r1", ["a/r10"]), ("a/r1", ["b/r10", "b/r11"]),
                                         ("r1", ["r10"]), ("a/r1", ["a/r10", "a/r11"]),
                                         ("gone/r1", ["r10", "r12"])])  # fmt: skip
def test_a_whole_id_goes_before_the_start_of_another_though_its_record_is_gone(
    mnem, here, gone, there
):
    with mnemosyne_vcs.open("ids.mnem", create=True) as repo:
        for key in (gone, *there):
            repo.put(key, key)
        repo.delete(gone)

    assert mnem("why", "r1", "--json").json["key"] == gone
    assert mnem("why", gone, "--json").json["key"] == gone
    assert mnem("blame", "r1", "--json").json["key"] == gone
    assert len(mnem("log", "--key", "r1", "--json").jsonl) == 2


def test_ids_of_deleted_records_that_are_alike(mnem, here):
    with mnemosyne_vcs.open("ids.mnem", create=True) as repo:
        for key in ("a/r1", "b/r1", "a/x", "b/x"):
            repo.put(key, key)
        repo.delete("a/r1")
        repo.delete("b/r1")

    assert "a/r1, b/r1" in mnem("why", "r1", code=5).stderr
    assert "no commit" in mnem("why", "r2", code=3).stderr

"""`mnem undo`: what it takes back, what it shows first, and what it refuses."""

import pytest

import mnemosyne_vcs

from .conftest import NOTE, PLAN, RUN_1, RUN_2, SAVE_1, TEAM, memory


def content_of(store, key, branch="main"):
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        record = repo.at(branch).get(key)
        return record and record.content["content"]


@pytest.mark.parametrize("which", [(), ("-n", "1"), ("--run", RUN_2), ("--run", "bbbb")])
def test_it_takes_back_the_misread_note(mnem, store, which):
    commit = mnem("undo", *which, "--yes", "--json").json

    assert content_of(store, PLAN) == "4821 is on Enterprise"
    assert commit["trailers"]["Undoes"] == store.poisoned
    assert len(mnem("log", "--json").lines) == 3


def test_it_prints_the_commit_that_it_made(mnem, store):
    line = mnem("undo", "--yes", "-m", "misread", "--author", "lead").stdout

    assert line.endswith("  lead  misread\n")
    assert mnem("log", "-n", "1", "--json").json["message"] == "misread"


def test_who_undoes_comes_from_the_environment(mnem, store, monkeypatch):
    monkeypatch.setenv("MNEMOSYNE_AUTHOR", "night shift")

    assert mnem("undo", "--yes", "--json").json["author"] == "night shift"


def test_several_commits_and_another_branch(mnem, store):
    mnem("undo", "-n", "2", "-b", "what-if", "--yes")

    assert content_of(store, PLAN, "what-if") == "4821 is on Enterprise"
    assert content_of(store, PLAN) == "4821 is on Free"


def test_a_whole_save(mnem, store):
    mnem("undo", "--yes")
    mnem("undo", "--save", SAVE_1[:6], "--yes")

    assert [content_of(store, key) for key in (PLAN, TEAM, NOTE)] == [None] * 3


class TestDryRun:
    def test_it_shows_what_would_change_and_changes_nothing(self, mnem, store):
        text = mnem("undo", "--dry-run").stdout

        assert "read note 118" in text
        assert f"changed  {PLAN}" in text
        assert 'content: "4821 is on Free" → "4821 is on Enterprise"' in text
        assert content_of(store, PLAN) == "4821 is on Free"
        assert len(mnem("log", "--json").lines) == 2

    def test_json(self, mnem, store):
        plan = mnem("undo", "-n", "2", "--dry-run", "--json").json

        assert [commit["id"] for commit in plan["undoes"]] == [store.poisoned, store.learned]
        assert {change["key"]: change["kind"] for change in plan["changes"]} == {
            PLAN: "removed",
            TEAM: "removed",
            NOTE: "removed",
        }

    def test_it_wins_over_yes(self, mnem, store):
        mnem("undo", "--dry-run", "--yes")

        assert content_of(store, PLAN) == "4821 is on Free"

    def test_of_a_move(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo, repo.transaction() as tx:
            tx.move(TEAM, "/archive/team")

        changes = mnem("undo", "--dry-run", "--json").json["changes"]
        assert {change["key"]: change["kind"] for change in changes} == {
            TEAM: "added",
            "/archive/team": "removed",
        }


class TestConflict:
    def test_each_key_is_explained(self, mnem, store):
        ran = mnem("undo", "--run", RUN_1, "--yes", "--author", "lead", code=4)

        assert ran.stdout == ""
        assert f"  {PLAN} (edit/delete)" in ran.stderr
        assert "it wrote       4821 is on Enterprise" in ran.stderr
        assert "now            4821 is on Free" in ran.stderr
        assert "  crewai (Account reviewer)" in ran.stderr
        assert TEAM not in ran.stderr
        assert content_of(store, TEAM) == "5120 is on Team"

    @pytest.mark.parametrize("how", ["--yes", "--dry-run"])
    def test_json(self, mnem, store, how):
        error = mnem("undo", "--run", "aaaa", how, "--json", code=4).error

        assert error["kind"] == "conflict"
        [conflict] = error["conflicts"]
        assert conflict["key"] == PLAN
        assert conflict["ours"]["content"] == memory("4821 is on Free", 0.9)
        assert conflict["theirs"] is None


class TestRefusals:
    def test_nobody_to_ask(self, mnem, store):
        assert "--yes" in mnem("undo", code=2).stderr
        assert content_of(store, PLAN) == "4821 is on Free"

    def test_two_choices(self, mnem, store):
        mnem("undo", "-n", "1", "--run", RUN_2, "--yes", code=2)
        mnem("undo", "-n", "0", "--yes", code=2)

    def test_a_run_that_never_was(self, mnem, store):
        assert "Run-Id" in mnem("undo", "--run", "dddd", "--yes", code=3).stderr

    def test_the_start_of_several_runs(self, mnem, store):
        trailers = {"Run-Id": "bbbb-other"}
        with mnemosyne_vcs.open(store.path) as repo, repo.transaction(trailers=trailers) as tx:
            tx.put("x", 1)

        message = mnem("undo", "--run", "bbbb", "--yes", code=5).stderr
        assert RUN_2 in message and "bbbb-other" in message

    def test_more_commits_than_there_are(self, mnem, store):
        assert "3" in mnem("undo", "-n", "3", "--yes", code=3).stderr

    def test_a_run_that_is_undone_already(self, mnem, store):
        mnem("undo", "--run", RUN_2, "--yes")

        assert "nothing to undo" in mnem("undo", "--run", RUN_2, "--yes").stdout
        assert "nothing to undo" in mnem("undo", "--run", RUN_2, "--dry-run").stdout
        assert mnem("undo", "--run", RUN_2, "--yes", "--json").json is None


def test_what_would_stand_beside_another_record_with_its_id(mnem, store):
    with mnemosyne_vcs.open(store.path) as repo:
        repo.put("/a/r", 1)
        repo.transact(lambda tx: tx.delete("/a/r"), trailers={"Run-Id": "bad"})
        repo.put("/b/r", 2, author="ann")
    shown = mnem("undo", "--run", "bad", "--yes", code=4).stderr
    assert "'/b/r' and '/a/r' (same-id)" in shown
    assert "now            2" in shown and "before it      1" in shown
    assert "ann" in shown

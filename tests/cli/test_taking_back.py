"""`mnem revert`, `cherry-pick`, `restore` and `trace --retract`."""

import pytest

import mnemosyne_vcs
from conversation import converse
from mnemosyne_vcs import Provenance

from .conftest import NOTE, PLAN, TEAM, memory


def content_of(store, key, branch="main"):
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        record = repo.at(branch).get(key)
        return record and record.content


def plan(store, branch="main"):
    return content_of(store, PLAN, branch)["content"]


class TestRevert:
    def test_a_commit_is_taken_back_and_later_ones_stay(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.put("later", 1)
        commit = mnem("revert", store.poisoned[:16], "--yes", "--json", "--author", "lead").json

        assert commit["trailers"]["Reverts"] == store.poisoned
        assert commit["author"] == "lead"
        assert plan(store) == "4821 is on Enterprise"
        assert content_of(store, "later") == 1

    def test_text(self, mnem, store):
        lines = mnem("revert", "main", "--yes", "-m", "misread").lines

        assert lines[0].endswith("  misread")
        assert lines[1].strip() == "1 changed"

    def test_dry_run(self, mnem, store):
        text = mnem("revert", "main", "--dry-run").stdout
        shown = mnem("revert", "main", "--dry-run", "--json").json

        assert '"4821 is on Free" → "4821 is on Enterprise"' in text
        assert shown["reverts"]["id"] == store.poisoned
        assert [change["key"] for change in shown["changes"]] == [PLAN]
        assert plan(store) == "4821 is on Free"

    def test_conflicts_are_explained_and_settled(self, mnem, store):
        ran = mnem("revert", "main~1", "--yes", code=4)
        assert f"{PLAN} (edit/delete): " in ran.stderr
        assert "base, what the commit wrote:" in ran.stderr
        assert "ours, main as it is now:" in ran.stderr
        assert "theirs, what was before the commit:" in ran.stderr
        assert "Account reviewer" in ran.stderr
        assert content_of(store, TEAM) is not None

        mnem("revert", "main~1", "--yes", "--resolve", f"{PLAN}=ours")
        assert plan(store) == "4821 is on Free"
        assert content_of(store, TEAM) is None

    def test_a_dry_run_with_conflicts(self, mnem, store):
        ran = mnem("revert", "main~1", "--dry-run", code=4)

        assert f"removed  {TEAM}" in ran.stdout
        assert PLAN not in ran.stdout and PLAN in ran.stderr

    def test_a_merge_by_its_parents(self, mnem, store):
        mnem("merge", "what-if")
        mnem("revert", "main", "--parent", "1", "--yes")

        assert content_of(store, "notes:1/x") is None

    def test_twice_changes_nothing(self, mnem, store):
        mnem("revert", "main", "--yes")

        assert "nothing to take back" in mnem("revert", "main~1", "--yes").stdout
        assert "nothing to take back" in mnem("revert", "main~1", "--dry-run").stdout
        assert mnem("revert", "main~1", "--yes", "--json").json is None

    def test_refusals(self, mnem, store):
        assert "--yes" in mnem("revert", "main", code=2).stderr
        mnem("revert", "nope", "--yes", code=3)
        mnem("revert", "main", "--parent", "2", "--yes", code=5)
        mnem("revert", "--yes", code=2)
        mnem("revert", "main", "--yes", "--resolve", "nope=ours", code=5)


class TestCherryPick:
    def test_onto_another_branch(self, mnem, store):
        commit = mnem("cherry-pick", "what-if", "--json").json

        assert commit["message"] == "try this"
        assert len(commit["parents"]) == 1
        assert content_of(store, "notes:1/x") == {"a": 1}

    def test_what_is_there_already(self, mnem, store):
        assert "nothing to pick" in mnem("cherry-pick", "main", "-b", "what-if").stdout

    def test_dry_run(self, mnem, store):
        assert "added  notes:1/x" in mnem("cherry-pick", "what-if", "--dry-run").stdout
        assert content_of(store, "notes:1/x") is None

    def test_conflicts(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.put("notes:1/x", {"a": 2})
        ran = mnem("cherry-pick", "what-if", code=4)
        assert "theirs, what the commit wrote:" in ran.stderr
        assert "clash in a: ours 2, theirs 1" in ran.stderr

        mnem("cherry-pick", "what-if", "--strategy", "theirs")
        assert content_of(store, "notes:1/x") == {"a": 1}

    def test_refusals(self, mnem, store):
        mnem("cherry-pick", "nope", code=3)
        mnem("cherry-pick", "main", "--parent", "2", code=5)


class TestRestore:
    def test_a_subtree(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.delete(NOTE)
        commit = mnem("restore", "--from", "main~2", "/crew/support/", "--yes", "--json").json

        assert commit["trailers"]["Restored-From"] == store.learned
        assert plan(store) == "4821 is on Enterprise"
        assert content_of(store, NOTE) is None

    def test_everything(self, mnem, store):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.delete(NOTE)
            repo.put("later", 1)
        mnem("restore", "--from", "main~2", "--yes")

        assert content_of(store, NOTE) is not None
        assert content_of(store, "later") is None

    def test_dry_run(self, mnem, store):
        text = mnem("restore", "--from", "main~1", "--dry-run").stdout
        shown = mnem("restore", "--from", "main~1", "--dry-run", "--json").json

        assert f"changed  {PLAN}" in text
        assert shown["from"]["id"] == store.learned
        assert [change["key"] for change in shown["changes"]] == [PLAN]
        assert plan(store) == "4821 is on Free"

    def test_what_is_so_already(self, mnem, store):
        assert "nothing to restore" in mnem("restore", "--from", "main", "--yes").stdout
        assert mnem("restore", "--from", "main", "--yes", "--json").json is None

    def test_a_record_that_has_its_id_in_another_scope_by_now(self, mnem, store):
        mnem("mv", NOTE, f"/sales{NOTE.removeprefix('/crew')}")
        for options in (["--dry-run"], ["--yes"]):
            error = mnem("restore", "--from", "main~1", "/crew/", *options, code=4).stderr
            assert f"'/sales{NOTE.removeprefix('/crew')}' and '{NOTE}' (same-id)" in error
        mnem("undo", "--yes")
        assert content_of(store, NOTE) is not None

    def test_refusals(self, mnem, store):
        assert "--yes" in mnem("restore", "--from", "main~1", code=2).stderr
        assert "--from" in mnem("restore", "--yes", code=2).stderr
        mnem("restore", "--from", "nope", "--yes", code=3)


class TestTrace:
    @pytest.fixture
    def poisoned(self, store):
        """A conclusion from what the bad note said, on main and on what-if."""
        with mnemosyne_vcs.open(store.path, author="billing") as repo:
            derived = Provenance(agent="Biller", derived_from=((PLAN, store.poisoned),))
            repo.put("invoices/4821", {"due": 0}, provenance=derived, message="bill")
            repo.put("good", "a later edit", message="good work")
        return store

    def test_direct_and_derived_records_of_every_branch(self, mnem, poisoned):
        found = mnem("trace", "--source", "note-118", "--json").jsonl

        assert [(each["branch"], each["record"]["key"], each["through"]) for each in found] == [
            ("main", PLAN, []),
            ("main", "invoices/4821", [PLAN]),
            ("what-if", PLAN, []),
        ]

    def test_text(self, mnem, poisoned):
        lines = mnem("trace", "--source", "note-118").lines

        assert len(lines) == 3
        assert lines[1].split()[:4] == ["main", "invoices/4821", "through", PLAN]

    @pytest.mark.parametrize(
        "by",
        [("--agent", "Account reviewer"), ("--run", "bbbbbbbb-2222-4000-8000-000000000002"),
         ("--commit", "main~2"), ("--agent", "Account reviewer", "--source", "note-118")],
    )  # fmt: skip
    def test_by(self, mnem, poisoned, by):
        assert len(mnem("trace", *by, "--json").lines) == 3

    def test_by_tool_call_and_on_one_branch(self, mnem, poisoned):
        with mnemosyne_vcs.open(poisoned.path) as repo:
            repo.put("called", 1, provenance=Provenance(tool_call="call-7"))

        assert mnem("trace", "--tool-call", "call-7", "--json").json["record"]["key"] == "called"
        only = mnem("trace", "--source", "note-118", "--only", "what-if", "--json").jsonl
        assert [each["branch"] for each in only] == ["what-if"]

    def test_nothing_found(self, mnem, store):
        ran = mnem("trace", "--source", "nowhere")

        assert ran.stdout == "" and "no live record" in ran.stderr

    def test_retract_takes_back_exactly_those(self, mnem, poisoned):
        commits = mnem("trace", "--source", "note-118", "--retract", "--yes", "--json").json

        assert commits["commits"].keys() == {"main", "what-if"}
        for branch in ("main", "what-if"):
            assert plan(poisoned, branch) == "4821 is on Enterprise"
        assert content_of(poisoned, "invoices/4821") is None
        assert content_of(poisoned, "good") == "a later edit"
        assert content_of(poisoned, TEAM) == memory("5120 is on Team")
        assert mnem("trace", "--source", "note-118", "--json").stdout == ""

    def test_retract_in_text(self, mnem, poisoned):
        lines = mnem("trace", "--source", "note-118", "--retract", "--yes", "-m", "bad").lines

        assert lines[0] == "main: 2 records taken back"
        assert lines[1].endswith("  bad")
        again = mnem("trace", "--source", "note-118", "--retract", "--yes").stdout
        assert "no live record" in again

    def test_dry_run(self, mnem, poisoned):
        text = mnem("trace", "--source", "note-118", "--retract", "--dry-run").stdout
        shown = mnem("trace", "--source", "note-118", "--retract", "--dry-run", "--json").json

        assert "What would change on main" in text and "removed  invoices/4821" in text
        assert len(shown["changes"]["main"]) == 2
        assert plan(poisoned) == "4821 is on Free"

    def test_refusals(self, mnem, store):
        mnem("trace", code=5)
        mnem("trace", "--retract", "--yes", code=5)
        assert "--yes" in mnem("trace", "--source", "note-118", "--retract", code=2).stderr
        mnem("trace", "--source", "note-118", "--dry-run", code=2)
        mnem("trace", "--source", "x", "--only", "nope", code=3)
        mnem("trace", "--commit", "nope", code=3)


class TestOnATerminal:
    """Each shows what would change and asks."""

    VERBS = (
        ("revert", "main"),
        ("restore", "--from", "main~1"),
        ("trace", "--source", "note-118", "--retract"),
    )

    @pytest.mark.parametrize("arguments", VERBS, ids=lambda verb: verb[0])
    @pytest.mark.parametrize("answer, code, said", [("y", 0, "Enterprise"), ("n", 1, "Free")])
    def test_a_question(self, here, store, arguments, answer, code, said):
        shown, ended = converse([answer], *arguments, NO_COLOR="1")

        assert ended == code
        assert '"4821 is on Free" → "4821 is on Enterprise"' in shown.replace("\r\n", "\n")
        assert plan(store) == f"4821 is on {said}"

    def test_conflicts_of_a_revert_are_asked_about_before_the_question(self, here, store):
        shown, code = converse(["o", "y"], "revert", "main~1", NO_COLOR="1")

        assert code == 0
        assert "Take this back?" in shown and f"settled  {PLAN}: ours" in shown
        assert plan(store) == "4821 is on Free"
        assert content_of(store, TEAM) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("merge", "what-if"),
        ("revert", "main"),
        ("cherry-pick", "what-if"),
        ("restore", "--from", "main~1"),
        ("trace", "--source", "note-118", "--retract"),
    ],
    ids=lambda verb: verb[0],
)
def test_a_dry_run_needs_no_right_to_write(mnem, store, monkeypatch, arguments):
    from mnemosyne_vcs.cli import session

    opened = []
    really = mnemosyne_vcs.open
    monkeypatch.setattr(
        session.mnemosyne_vcs, "open", lambda *a, **k: opened.append(k) or really(*a, **k)
    )
    mnem(*arguments, "--dry-run")

    assert [each["read_only"] for each in opened] == [True]

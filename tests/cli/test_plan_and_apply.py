"""What is shown and asked before something is changed."""

import pytest

import mnemosyne_vcs
from conversation import converse

from .conftest import PLAN, TEAM, content_of, plan


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


def test_what_was_settled_by_asking_is_not_applied_to_anything_else(mnem, store, monkeypatch):
    from mnemosyne_vcs.cli import plan_and_apply

    def answer(output, repository, conflicts, sides):
        with mnemosyne_vcs.open(store.path) as rival:
            rival.put("unrelated", 1)
        return {conflict.key: "ours" for conflict in conflicts}

    monkeypatch.setattr(plan_and_apply, "can_ask", lambda output: True)
    monkeypatch.setattr(plan_and_apply, "ask_each", answer)
    with mnemosyne_vcs.open(store.path) as repo:
        repo.put(PLAN, "theirs", branch="what-if")
        repo.put(PLAN, "ours")

    assert "as expected" in mnem("merge", "what-if", code=4).stderr
    with mnemosyne_vcs.open(store.path) as repo:
        assert repo.at()["unrelated"].content == 1 and len(repo.resolve().parents) == 1

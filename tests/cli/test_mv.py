"""`mnem mv`."""

import pytest

from .conftest import NOTE, PLAN, TEAM, at, head


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
        assert "nothing to change" in mnem("mv", TEAM, TEAM).stdout

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

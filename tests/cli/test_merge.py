"""`mnem merge`: what it shows of each kind of conflict, and every way to settle it."""

import re
import shlex

import pytest

import mnemosyne_vcs
from conversation import converse
from mnemosyne_vcs import Provenance

KINDS = {
    "/t/added": "same-id",
    "p/added": "add/add",
    "p/deleted": "delete/edit",
    "p/edited": "edit/delete",
    "p/moved": "move/move",
    "p/plan": "edit/edit",
}
FREE = {"tier": "Free", "seats": 1}
MINE = {"tier": "Team", "seats": 1}
WAYS = ("ours", "theirs", "base", "delete", "JSON")


def present(repo, branch="main"):
    return {record.key: record.content for record in repo.at(branch).scan()}


@pytest.fixture
def sides(tmp_path):
    """Two branches with a conflict of each kind, and a change that fits."""
    path = tmp_path / "memory.mnem"
    with mnemosyne_vcs.open(path, create=True, author="crew") as repo:
        with repo.transaction(message="learn") as tx:
            for key in ("p/plan", "p/edited", "p/deleted", "p/moved"):
                tx.put(key, FREE, embedding=[1, 0])
        repo.create_branch("other")
        with repo.transaction(message="on main") as tx:
            note = Provenance(source="note-118", agent="Reviewer")
            tx.put("p/plan", MINE, embedding=[1, 0], provenance=note)
            tx.put("p/edited", MINE)
            tx.delete("p/deleted")
            tx.move("p/moved", "q/moved")
            tx.put("p/added", {"by": "main"})
            tx.put("/u/added", {"by": "main"})
        with repo.transaction("other", author="agent-2", message="on other") as tx:
            tx.put("p/plan", {"tier": "Enterprise", "seats": 1}, embedding=[1, 0])
            tx.delete("p/edited")
            tx.put("p/deleted", MINE)
            tx.move("p/moved", "r/moved")
            tx.put("p/added", {"by": "other"})
            tx.put("/t/added", {"by": "other"})
            tx.put("fits", True)
    return path


def offered(text):
    """The options that the output names, by key and then by way."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if line.startswith("    --resolve "):
            option = shlex.split(line)[1]
            key, _, way = option.partition("=")
            found.setdefault(key, {})[way if way in WAYS else "JSON"] = option
    return found


class TestConflicts:
    def test_nothing_is_written_and_each_is_shown(self, mnem, sides):
        ran = mnem("merge", "other", code=4)

        assert ran.stdout == ""
        for key, kind in KINDS.items():
            assert f"{key} ({kind}): " in ran.stderr
        with mnemosyne_vcs.open(sides, read_only=True) as repo:
            assert repo.resolve().message == "on main"

    def test_who_wrote_each_side_from_what_and_what_clashes(self, mnem, sides):
        shown = mnem("merge", "other", code=4).stderr.partition("p/plan (edit/edit)")[2]
        shown = re.sub(r"\b[a-z2-7]{10}  \S+ \S+Z", "ID TIME", shown)

        assert "written by ID TIME  crew  learn" in shown
        assert "written by ID TIME  crew  on main" in shown
        assert "from source note-118, agent Reviewer" in shown
        assert "written by ID TIME  agent-2  on other" in shown
        assert 'clash in tier: base "Free", ours "Team", theirs "Enterprise"' in shown
        assert "seats:" not in shown

    def test_a_deletion_has_an_author_too(self, mnem, sides):
        shown = mnem("merge", "other", code=4).stderr.partition("p/deleted (")[2]

        assert re.search(r"ours, main:\n    \(no record\)\n    deleted by .* crew  on main", shown)

    def test_embeddings_that_clash(self, mnem, sides):
        with mnemosyne_vcs.open(sides) as repo:
            repo.put("p/plan", MINE, embedding=[1, 1])
            repo.put("p/plan", MINE, embedding=[0, 1], branch="other")

        assert "clash in (embedding): the vectors differ" in mnem("merge", "other", code=4).stderr

    def test_json(self, mnem, sides):
        error = mnem("merge", "other", "--json", code=4).error

        assert error["kind"] == "conflict"
        assert {each["key"]: each["kind"] for each in error["conflicts"]} == KINDS

    def test_one_id_in_two_scopes(self, mnem, sides):
        shown = mnem("merge", "other", code=4).stderr.partition("/t/added (")[2]

        assert shown.startswith("same-id): each has a record with this id, under different keys")
        assert '    at /u/added: {"by": "main"}' in shown
        assert "keep it at /u/added" in shown and "take it at /t/added" in shown

    def test_control_characters_in_memories_do_not_reach_the_terminal(self, mnem, sides):
        with mnemosyne_vcs.open(sides) as repo:
            repo.put("p/plan", {"tier": "\x1b[31mred"})

        assert "\x1b" not in mnem("merge", "other", code=4).stderr


class TestSettling:
    """A person reads what `mnem merge` says, and types one of the options that it names."""

    @pytest.mark.parametrize("key", KINDS)
    @pytest.mark.parametrize("way", WAYS)
    def test_each_kind_in_each_way_that_is_offered(self, mnem, sides, key, way):
        options = offered(mnem("merge", "other", code=4).stderr)
        assert options.keys() == KINDS.keys()
        if way not in options[key]:
            assert (KINDS[key], way) in {
                ("add/add", "base"), ("same-id", "base"),
                ("edit/delete", "delete"), ("delete/edit", "delete"),
            }  # fmt: skip
            return
        others = [options[each]["ours"] for each in KINDS if each != key]
        chosen = [options[key][way], *others]
        mnem("merge", "other", *(word for each in chosen for word in ("--resolve", each)))

        with mnemosyne_vcs.open(sides, read_only=True) as repo:
            commit, now = repo.resolve(), present(repo)
            before, there, began = (present(repo, each) for each in ("main~1", "other", "main~2"))
        assert len(commit.parents) == 2
        assert now.pop("fits") is True
        expected = dict(before)
        touched = {
            "p/moved": ["p/moved", "q/moved", "r/moved"],
            "/t/added": ["/t/added", "/u/added"],
        }.get(key, [key])
        side = {"ours": before, "theirs": there, "base": began}.get(way, {})
        for each in touched:
            expected.pop(each, None)
            if each in side:
                expected[each] = side[each]
        if way == "JSON":
            shown = {"p/moved": "q/moved", "/t/added": "/u/added"}.get(key, key)
            expected[key] = before.get(shown, MINE)
        assert now == expected

    def test_only_those_that_are_left_are_shown(self, mnem, sides):
        resolve = ["p/plan=ours", "p/edited=theirs", "p/added=delete", "p/deleted=base"]
        resolve.append("/t/added=ours")
        options = [word for each in resolve for word in ("--resolve", each)]

        assert offered(mnem("merge", "other", *options, code=4).stderr).keys() == {"p/moved"}

    def test_a_strategy_for_the_rest(self, mnem, sides):
        ran = mnem("merge", "other", "--on-conflict", "theirs", "--resolve", 'p/plan={"tier": 1}')

        assert "settled  p/plan: a new value" in ran.lines
        assert "settled  p/moved: theirs" in ran.lines
        with mnemosyne_vcs.open(sides, read_only=True) as repo:
            there = present(repo, "other")
            assert present(repo) == there | {"p/plan": {"tier": 1}}

    def test_keys_and_texts_with_equals_signs_and_quotes(self, mnem, tmp_path):
        path = tmp_path / "odd.mnem"
        key = "it's = 1"
        with mnemosyne_vcs.open(path, create=True) as repo:
            repo.create_branch("other")
            repo.put(key, "a=b")
            repo.put(key, "c", branch="other")
        shown = mnem("merge", "other", code=4).stderr
        options = [shlex.split(line)[1] for line in shown.splitlines() if "--resolve '" in line]
        assert options == [f"{key}={way}" for way in ("ours", "theirs", "delete", '"a=b"')]

        mnem("merge", "other", "--resolve", f'{key}="x=y=ours"')
        with mnemosyne_vcs.open(path, read_only=True) as repo:
            assert repo.at()[key].content == "x=y=ours"

    @pytest.mark.parametrize(
        "resolve, code",
        [("p/plan", 2), ("p/plan=mine", 2), ("=ours", 2), ("fits=ours", 5)],
    )
    def test_resolutions_that_are_none(self, mnem, sides, resolve, code):
        ran = mnem("merge", "other", "--resolve", resolve, code=code)
        assert resolve.partition("=")[0] in ran.stderr

    def test_a_key_that_is_settled_twice(self, mnem, sides):
        mnem("merge", "other", "--resolve", "p/plan=ours", "--resolve", "p/plan=theirs", code=2)


class TestMerge:
    def test_records_that_fit(self, mnem, store):
        commit = mnem("merge", "what-if", "--json", "--author", "lead", "-m", "it held").json

        assert (commit["author"], commit["message"]) == ("lead", "it held")
        assert len(commit["parents"]) == 2
        assert mnem("status", "--json").json["records"] == 4

    def test_text(self, mnem, store):
        lines = mnem("merge", "what-if", "--author", "lead").lines

        assert lines[0].endswith("  lead  merge what-if into main")
        assert lines[1].strip() == "1 added"

    def test_dry_run(self, mnem, store):
        text = mnem("merge", "what-if", "--dry-run").stdout
        plan = mnem("merge", "what-if", "--dry-run", "--json").json

        assert "added  notes:1/x" in text
        assert [change["key"] for change in plan["changes"]] == ["notes:1/x"]
        assert plan["can_fast_forward"] and not plan["already_merged"]
        assert mnem("status", "--json").json["records"] == 3

    def test_a_dry_run_with_conflicts(self, mnem, sides):
        ran = mnem("merge", "other", "--dry-run", "--json", code=4)

        assert [change["key"] for change in ran.json["changes"]] == ["fits"]
        assert len(ran.json["conflicts"]) == len(ran.error["conflicts"]) == len(KINDS)

    def test_fast_forward_only_when_asked(self, mnem, store):
        assert mnem("merge", "what-if", "--ff", "--json").json["message"] == "try this"
        assert len(mnem("log", "--json").lines) == 3

    @pytest.mark.parametrize("where", [("--into", "what-if"), ("-b", "what-if")])
    def test_into_another_branch(self, mnem, store, where):
        with mnemosyne_vcs.open(store.path) as repo:
            repo.put("late", 1)
        mnem("merge", "main", *where)

        with mnemosyne_vcs.open(store.path, read_only=True) as repo:
            assert "late" in repo.at("what-if")
            assert "notes:1/x" not in repo.at("main")

    def test_nothing_to_merge(self, mnem, store):
        assert "nothing to merge" in mnem("merge", "main", "--into", "what-if").stdout
        assert mnem("merge", "main", "--into", "what-if", "--json").json is None

    def test_what_is_not_there(self, mnem, store):
        assert "nope" in mnem("merge", "nope", code=3).stderr
        assert "nope" in mnem("merge", "main", "--into", "nope", code=3).stderr
        mnem("merge", code=2)
        mnem("merge", "what-if", "--on-conflict", "mine", code=2)


class TestShow:
    def test_a_merge_tells_how_it_was_settled(self, mnem, sides):
        mnem("merge", "other", "--on-conflict", "ours", "--resolve", "p/plan=theirs")
        lines = mnem("show").lines
        shown = mnem("show", "--json").json

        assert sum(line.startswith("parent") for line in lines) == 2
        assert "settled  p/plan: theirs" in lines and "settled  p/moved: ours" in lines
        assert "resolved 6 conflicts" in mnem("log").stdout
        assert shown["resolved"] == dict.fromkeys(KINDS, "ours") | {"p/plan": "theirs"}

    @pytest.mark.parametrize("trailer", ["by hand", "[1]"])
    def test_a_trailer_of_that_name_from_elsewhere(self, mnem, store, trailer):
        trailers = {"Resolved": trailer}
        with mnemosyne_vcs.open(store.path) as repo, repo.transaction(trailers=trailers) as tx:
            tx.put("x", 1)

        assert f"resolved  {trailer}" in mnem("show").stdout
        assert mnem("show", "--json").json["resolved"] == {}


class TestOnATerminal:
    def test_each_conflict_is_asked_about(self, here, sides):
        answers = ["o", "d", "b", "theirs", "x", "o", "t"]
        shown, code = converse(answers, "merge", "other", NO_COLOR="1")

        assert code == 0
        assert "settled  p/moved: ours" in shown and "--resolve p/moved=ours" in shown
        with mnemosyne_vcs.open(sides, read_only=True) as repo:
            assert present(repo) == {
                "fits": True, "/u/added": {"by": "main"}, "p/deleted": FREE, "q/moved": FREE,
                "p/plan": {"tier": "Enterprise", "seats": 1},
            }  # fmt: skip

    def test_a_content_of_ones_own_is_made_in_the_editor(self, here, sides):
        editor = here / "editor"
        editor.write_text('#!/bin/sh\necho \'{"by": "hand"}\' > "$1"\n')
        editor.chmod(0o755)
        _, code = converse(["o", "e", "o", "o", "o", "o"], "merge", "other", EDITOR=str(editor))

        assert code == 0
        with mnemosyne_vcs.open(sides, read_only=True) as repo:
            assert repo.at()["p/added"].content == {"by": "hand"}

    def test_an_editor_that_changes_nothing_or_writes_no_json(self, here, sides):
        editor = here / "editor"
        editor.write_text('#!/bin/sh\necho "no json" > "$1"\n')
        editor.chmod(0o755)

        shown, code = converse(["e", "a"], "merge", "other", EDITOR=str(editor))
        assert code == 1 and "that is not JSON" in shown
        shown, code = converse(["e", "a"], "merge", "other", EDITOR="true")
        assert code == 1 and "no change was saved" in shown

    def test_there_is_no_base_of_what_both_added(self, here, sides):
        shown, _ = converse(["b", "a"], "merge", "other")

        assert "has no base" in shown

    def test_skipped_conflicts_are_left_and_nothing_is_written(self, here, sides):
        shown, code = converse(["s", "o", "o", "o", "o", "o"], "merge", "other", NO_COLOR="1")

        assert code == 4
        assert "1 conflict; nothing was written" in shown
        with mnemosyne_vcs.open(sides, read_only=True) as repo:
            assert repo.resolve().message == "on main"

    @pytest.mark.parametrize("answer, expected", [("a", 1), ("abort", 1), ("\x03", 130)])
    def test_giving_up(self, here, sides, answer, expected):
        _, code = converse(["o", answer], "merge", "other")

        assert code == expected
        with mnemosyne_vcs.open(sides, read_only=True) as repo:
            assert repo.resolve().message == "on main"

    def test_a_dry_run_asks_nothing(self, here, sides):
        shown, code = converse([], "merge", "other", "--dry-run")

        assert code == 4 and "[o]urs" not in shown

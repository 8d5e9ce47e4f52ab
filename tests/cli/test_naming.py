"""The verbs about names of commits: branch, tag, reflog; and git's own words."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs.cli.app import SECTIONS
from mnemosyne_vcs.cli.suggestions import GIT_WORDS, OTHER_WORDS
from mnemosyne_vcs.revision import short_id

VERBS = {verb for verbs in SECTIONS.values() for verb in verbs}


def names(store):
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        return repo.branches(), repo.tags()


class TestBranch:
    def test_list(self, mnem, store):
        first, second = mnem("branch").lines

        assert first.startswith("main     " + short_id(store.poisoned))
        assert first.endswith("read note 118")
        assert second.startswith("what-if") and second.endswith("try this")

    def test_json_is_one_branch_a_line(self, mnem, store):
        first, second = mnem("branch", "--json").jsonl

        assert (first["name"], first["commit"]["id"]) == ("main", store.poisoned)
        assert second["name"] == "what-if"

    def test_make_one(self, mnem, store):
        line = mnem("branch", "before", store.learned[:20]).stdout

        assert line.startswith(f"made branch before at {short_id(store.learned)}")
        assert names(store)[0]["before"] == store.learned

    def test_it_starts_from_the_branch_at_hand(self, mnem, store):
        made = mnem("branch", "further", "-b", "what-if", "--json").json

        assert made["commit"]["message"] == "try this"
        assert names(store)[0]["further"] == names(store)[0]["what-if"]

    def test_delete_one(self, mnem, store):
        assert mnem("branch", "-d", "what-if", "--yes").stdout.startswith("deleted branch what-if")

        assert list(names(store)[0]) == ["main"]

    def test_dry_run_tells_what_would_be_out_of_reach(self, mnem, store):
        text = mnem("branch", "-d", "what-if", "--dry-run").stdout
        plan = mnem("branch", "-d", "what-if", "--dry-run", "--json").json

        assert "leads to 1 commit" in text
        assert (plan["name"], plan["only_there"]) == ("what-if", 1)
        assert "what-if" in names(store)[0]

    def test_what_a_tag_leads_to_stays_in_reach(self, mnem, store):
        mnem("tag", "kept", "what-if")

        assert mnem("branch", "-d", "what-if", "--dry-run", "--json").json["only_there"] == 0

    @pytest.mark.parametrize(
        "arguments, code",
        [
            (("what-if",), 11),
            (("new", "nope"), 3),
            (("bad name~1",), 5),
            (("-d", "nope", "--yes"), 3),
            (("-d",), 2),
            (("-d", "what-if"), 2),
            (("-d", "what-if", "main", "--yes"), 2),
        ],
    )
    def test_refusals_change_nothing(self, mnem, store, arguments, code):
        before = names(store)

        assert mnem("branch", *arguments, code=code).stderr
        assert names(store) == before


class TestTag:
    def test_make_list_delete(self, mnem, store):
        ran = mnem("tag")
        assert ran.stdout == "" and "no tag yet" in ran.stderr

        assert mnem("tag", "v1", "main~1").stdout.startswith("made tag v1")
        assert names(store)[1] == {"v1": store.learned}
        assert mnem("tag").stdout.startswith(f"v1  {short_id(store.learned)}")
        assert [tag["name"] for tag in mnem("tag", "--json").jsonl] == ["v1"]
        assert mnem("show", "v1", "--json").json["id"] == store.learned

        assert mnem("tag", "-d", "v1", "--yes", "--json").json["deleted"] is True
        assert names(store)[1] == {}

    def test_refusals(self, mnem, store):
        mnem("tag", "v1")

        assert "v1" in mnem("tag", "v1", code=11).stderr
        mnem("tag", "v2", "nope", code=3)
        mnem("tag", "-d", "v1", code=2)
        mnem("tag", "-d", "v2", "--yes", code=3)
        assert list(names(store)[1]) == ["v1"]


class TestReflog:
    def test_text(self, mnem, store):
        newest, *_, oldest = mnem("reflog").lines

        assert newest.startswith(f"main@{{0}}  {short_id(store.poisoned)}")
        assert newest.endswith("read note 118")
        assert oldest.endswith("create")

    def test_what_it_names_is_a_revision(self, mnem, store):
        mnem("undo", "--yes")

        assert mnem("show", "main@{1}", "--json").json["id"] == store.poisoned

    def test_json_and_limit(self, mnem, store):
        [move] = mnem("reflog", "main", "-n", "1", "--json").jsonl

        assert (move["name"], move["old"], move["new"]) == ("main", store.learned, store.poisoned)
        assert move["who"] == "crewai"

    def test_of_a_deleted_branch(self, mnem, store):
        mnem("branch", "-d", "what-if", "--yes")

        newest, *_ = mnem("reflog", "what-if").lines
        assert newest.startswith("what-if@{0}  deleted")

    def test_of_none(self, mnem, store):
        ran = mnem("reflog", "nope")

        assert ran.stdout == "" and "'nope'" in ran.stderr
        mnem("reflog", "bad~name", code=5)


WORDS = {**GIT_WORDS, **OTHER_WORDS}


class TestWordsFromElsewhere:
    @pytest.mark.parametrize("word", sorted(WORDS.keys() - VERBS))
    def test_each_is_answered_in_one_line(self, mnem, here, word):
        ran = mnem(word, "--whatever", code=2)

        assert ran.stdout == ""
        assert len(ran.stderr.splitlines()) == 1
        assert WORDS[word] in ran.stderr

    def test_json(self, mnem, here):
        assert mnem("commit", "-m", "x", "--json", code=2).error["kind"] == "usage"

    def test_they_are_no_verbs(self, mnem, here):
        listed = {line.split()[0] for line in mnem("--help").lines if line.startswith("  ")}

        assert listed >= VERBS
        assert not listed & (WORDS.keys() - VERBS)

    @pytest.mark.parametrize("word", sorted(WORDS))
    def test_what_they_are_sent_to_exists(self, word):
        parts = WORDS[word].split("`")[1::2]
        named = {part.split()[1] for part in parts if part.startswith("mnem ")}

        assert named <= VERBS

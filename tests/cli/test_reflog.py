"""`mnem reflog`."""

from mnemosyne_vcs.ids import short_id


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

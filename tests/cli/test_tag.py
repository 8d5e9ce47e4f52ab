"""`mnem tag`."""

from mnemosyne_vcs.ids import short_id

from .conftest import heads


class TestTag:
    def test_make_list_delete(self, mnem, store):
        ran = mnem("tag")
        assert ran.stdout == "" and "no tag yet" in ran.stderr

        assert mnem("tag", "v1", "main~1").stdout.startswith("made tag v1")
        assert heads(store.path)[1] == {"v1": store.learned}
        assert mnem("tag").stdout.startswith(f"v1  {short_id(store.learned)}")
        assert [tag["name"] for tag in mnem("tag", "--json").jsonl] == ["v1"]
        assert mnem("show", "v1", "--json").json["id"] == store.learned

        assert mnem("tag", "-d", "v1", "--yes", "--json").json["deleted"] is True
        assert heads(store.path)[1] == {}

    def test_refusals(self, mnem, store):
        mnem("tag", "v1")

        assert "v1" in mnem("tag", "v1", code=11).stderr
        mnem("tag", "v2", "nope", code=3)
        mnem("tag", "-d", "v1", code=2)
        mnem("tag", "-d", "v2", "--yes", code=3)
        assert list(heads(store.path)[1]) == ["v1"]

"""`mnem bundle`, there and back."""

from .conftest import heads


class TestCar:
    def test_there_and_back_gives_the_same_ids(self, mnem, store, elsewhere):
        mnem("tag", "v1", "main~1")
        told = mnem("export", "all.car").lines
        assert told[0].startswith("wrote all.car: ")
        assert [line.split()[:2] for line in told[1:]] == [
            ["branch", "main"],
            ["branch", "what-if"],
            ["tag", "v1"],
        ]

        mnem("import", "all.car", "-s", str(elsewhere))
        assert heads(elsewhere) == heads(store.path)
        assert mnem("verify", "-s", str(elsewhere), "--json").json["ok"]

    def test_json(self, mnem, store, elsewhere):
        wrote = mnem("export", "all.car", "--json").json
        read = mnem("import", "all.car", "-s", str(elsewhere), "--json").json

        assert wrote == read
        assert (wrote["format"], wrote["tags"]) == ("car", {})
        assert wrote["branches"] == heads(store.path)[0]

    def test_only_some_names(self, mnem, store):
        mnem("tag", "v1", "main~1")
        wrote = mnem("export", "some.car", "--only", "what-if", "--only", "v1", "--json").json

        assert list(wrote["branches"]) == ["what-if"]
        assert wrote["tags"] == {"v1": store.learned}

    def test_a_branch_that_went_another_way(self, mnem, store, elsewhere):
        mnem("put", "k", "1", "-s", str(elsewhere))
        mnem("export", "all.car")
        before = heads(elsewhere)

        assert "prefix" in mnem("import", "all.car", "-s", str(elsewhere), code=4).stderr
        assert heads(elsewhere) == before
        mnem("import", "all.car", "-s", str(elsewhere), "--under", "theirs/")
        assert set(heads(elsewhere)[0]) == {"main", "theirs/main", "theirs/what-if"}

    def test_damage_is_noticed_and_nothing_imported(self, mnem, store, elsewhere, here):
        mnem("export", "all.car")
        path = here / "all.car"
        data = bytearray(path.read_bytes())
        data[data.index(b"read note 118")] ^= 1
        path.write_bytes(data)
        before = heads(elsewhere)

        assert mnem("import", "all.car", "-s", str(elsewhere), code=6).stderr
        assert heads(elsewhere) == before

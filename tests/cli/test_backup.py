"""`mnem backup`."""

from .conftest import heads


class TestBackup:
    def test_the_copy_is_a_store(self, mnem, store, here):
        assert "copied" in mnem("backup", "copy.mnem", "-s", str(store.path)).stdout

        assert heads(here / "copy.mnem") == heads(store.path)
        assert mnem("verify", "-s", "copy.mnem", "--json").json["ok"]

    def test_json(self, mnem, store, here):
        made = mnem("backup", "copy.bak", "--json").json

        assert made == {"path": "copy.bak", "bytes": (here / "copy.bak").stat().st_size}

    def test_refusals(self, mnem, store, here):
        mnem("backup", str(store.path), code=11)
        mnem("backup", "nowhere/copy", code=9)
        mnem("backup", code=2)
        assert not list(here.iterdir())

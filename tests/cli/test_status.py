"""`mnem status`."""

from mnemosyne_vcs.ids import short_id


class TestStatus:
    def test_text(self, mnem, store):
        lines = mnem("status").lines

        assert lines[0] == f"store    sqlite:///{store.path}"
        assert "branch   main" in lines
        assert "records  3" in lines
        assert "commits  3" in lines
        assert any(short_id(store.poisoned) in line and "ago" in line for line in lines)
        assert "what-if  4 records" in lines[-1]

    def test_json(self, mnem, store):
        status = mnem("status", "--json").json

        assert status["head"]["id"] == store.poisoned
        assert status["branches"] == {"main": 3, "what-if": 4}
        assert status["bytes"] >= store.path.stat().st_size > 0

    def test_of_an_empty_store(self, mnem):
        mnem("init")

        assert "no commits yet" in mnem("status").stdout

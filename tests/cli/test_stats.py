"""`mnem stats`."""


class TestStats:
    def test_text(self, mnem, store):
        lines = mnem("stats").lines

        assert lines[0] == f"store     sqlite:///{store.path}"
        assert "branches  2" in lines and "commits   3" in lines
        assert lines[-2:] == ["main     3 records", "what-if  4 records"]

    def test_json(self, mnem, store):
        stats = mnem("stats", "--json").json

        assert (stats["branches"], stats["tags"], stats["commits"]) == (2, 0, 3)
        assert stats["records"] == {"main": 3, "what-if": 4}
        assert stats["objects"] > 10 and stats["bytes"] > 0

"""`mnem verify`."""

import sqlite3

from .conftest import PLAN, TEAM


class TestVerify:
    def test_a_sound_store(self, mnem, store):
        assert "all sound" in mnem("verify").stdout

        report = mnem("verify", "--json").json
        assert report["ok"] and report["problems"] == []
        assert report["commits"] == 4

    def test_a_damaged_store(self, mnem, store):
        with sqlite3.connect(store.path) as connection:
            [(number, data)] = connection.execute(
                "SELECT n, data FROM objects WHERE instr(data, '5120 is on Team') > 0"
            ).fetchall()
            damaged = data.replace(b"5120", b"5121")
            connection.execute("UPDATE objects SET data = ? WHERE n = ?", (damaged, number))
        connection.close()

        report = mnem("verify", "--json", code=6).json
        assert [problem["kind"] for problem in report["problems"]] == ["corrupt"]
        assert report["problems"][0]["object"] in mnem("verify", code=6).stdout
        assert mnem("show", TEAM, "--json", code=6).error["kind"] == "corrupt"

    def test_a_wrong_index_is_told_and_rebuilt(self, mnem, store):
        with sqlite3.connect(store.path) as connection:
            connection.execute("UPDATE commits SET made_by = made_by || 'x' WHERE n > 2")
        connection.close()

        assert PLAN in mnem("blame", PLAN).stdout
        assert "--repair-index" in mnem("verify", code=6).stdout
        report = mnem("verify", "--json", code=6).json
        assert {problem["kind"] for problem in report["problems"]} == {"index"}
        said = mnem("verify", "--repair-index").stdout
        assert "rebuilt the index of 4 commits" in said
        assert "all sound" in said
        assert mnem("verify", "--repair-index", "--json").json["ok"]

"""`mnem search`."""

import pytest

from .conftest import LONG, NOTE, PLAN, TEAM


class TestSearch:
    def test_nearest_first_without_the_record_itself(self, mnem, store):
        rows = [line.split(maxsplit=2) for line in mnem("search", "--like", PLAN).lines]

        assert [row[1] for row in rows] == [TEAM, NOTE]
        assert rows[0] == ["0.9939", TEAM, "5120 is on Team"]
        assert rows[1][2] == LONG

    def test_limits(self, mnem, store):
        assert len(mnem("search", "--like", PLAN, "-n", "1").lines) == 1
        [hit] = mnem("search", "--like", NOTE, "--prefix", TEAM, "--json").jsonl
        assert hit["record"]["key"] == TEAM
        assert hit["score"] == pytest.approx(0.11043, abs=1e-5)

    def test_a_record_without_embedding(self, mnem, store):
        assert "no embedding" in mnem("search", "--like", "x", "-b", "what-if", code=5).stderr

    def test_in_an_earlier_memory(self, mnem, store):
        hits = mnem("search", "--like", TEAM, "--at", "main~1", "--json").jsonl

        assert hits[0]["record"]["content"]["content"] == "4821 is on Enterprise"

"""`mnem search`."""

import pytest

from mnemosyne_vcs.ids import short_id

from .conftest import LONG, NOTE, PLAN, TEAM, head


def head_of_main(store):
    return head(store).id


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


def fields(hit):
    return hit["record"]["key"], [(each["path"], each["text"]) for each in hit["matches"]]


class TestWords:
    def test_the_words_in_their_place_and_who_wrote_them_from_what(self, mnem, store):
        lines = mnem("search", "Free", "plan").lines

        assert lines[0].split()[0] == PLAN
        assert lines[1] == "    content: 4821 is on Free"
        assert lines[2] == "    categories.0: plan"
        assert lines[3].split()[0] == short_id(head_of_main(store))
        assert "crewai  source note-118  agent Account reviewer  task Note 118" in lines[3]
        assert len([line for line in lines if not line.startswith(" ")]) == 3

    def test_words_need_no_quotes(self, mnem, store):
        assert mnem("search", "on", "Free").stdout == mnem("search", "on Free").stdout

    def test_as_json(self, mnem, store):
        first, second, _ = mnem("search", "team plan", "--json").jsonl

        assert fields(first) == (TEAM, [("content", "5120 is on Team"), ("categories.0", "plan")])
        assert first["matches"][0]["spans"] == [[11, 15]]
        assert first["score"] > second["score"] > 0
        assert first["commit"]["author"] == "crewai"
        assert first["record"]["provenance"]["source"] == "ticket-7731"

    def test_phrases_starts_of_words_and_keys(self, mnem, store):
        def found(*query):
            return [hit["record"]["key"] for hit in mnem("search", *query, "--json").jsonl]

        assert found('"is on team"') == [TEAM]
        assert found('"team on"') == []
        assert found("enterp*") == []
        assert found("enterp*", "--at", "main~1") == [PLAN]
        assert found("11112222-aaaa") == [TEAM]
        assert found("plan", "-n", "1", "--prefix", TEAM) == [TEAM]
        assert found("a", "-b", "what-if") == ["notes:1/x"]

    def test_long_texts_are_shown_where_the_words_are(self, mnem, store):
        lines = mnem("search", "end").lines

        assert lines[1].startswith("    content: …long")
        assert lines[1].endswith(" and to the end")
        assert len(lines[1]) < 200

    def test_where(self, mnem, store):
        def found(*conditions):
            options = [part for each in conditions for part in ("--where", each)]
            return [
                hit["record"]["key"] for hit in mnem("search", "plan", *options, "--json").jsonl
            ]

        assert found("importance>0.5") == [PLAN]
        assert sorted(found("importance <= 0.5")) == sorted([TEAM, NOTE])
        assert found("content=5120 is on Team") == [TEAM]
        assert found("categories.0!=plan") == []
        assert found("importance=0.5", "content!=5120 is on Team") == [NOTE]
        assert "is not a condition" in mnem("search", "x", "--where", "plan", code=2).stderr

    def test_like_and_words_together(self, mnem, store):
        hits = mnem("search", "team", "--like", PLAN, "--json").jsonl

        assert [hit["record"]["key"] for hit in hits] == [TEAM, NOTE]
        assert hits[0]["score"] == pytest.approx(1 / 61 + 1 / 62)

    def test_nothing(self, mnem, store):
        assert mnem("search", "unheard").stderr == "no record there fits\n"
        assert mnem("search", "?!").stdout == ""
        assert "give words" in mnem("search", code=2).stderr

    def test_text_from_elsewhere_makes_no_lines_of_its_own(self, mnem, store, here):
        mnem("put", "x", "--text", "found\n\x1b[31mhere\u202e", "-s", str(store.path))
        lines = mnem("search", "found here").lines

        assert lines[0].split()[0] == "x"
        assert lines[1] == r"    found \u001b[31mhere\u202e"

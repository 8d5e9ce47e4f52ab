"""Search by words, by vectors and by both, and what `find` finds."""

import numpy as np
import pytest

import mnemosyne_vcs
from mnemosyne_vcs import TextMatch, ValidationError


def keys(hits):
    return [hit.record.key for hit in hits]


def embed(texts):
    return [[float(text.count("a")), 1.0] for text in texts]


@pytest.fixture
def filled(tmp_path):
    def open_with(**options):
        repo = mnemosyne_vcs.open("memory://", create=True, author="a", **options)
        with repo.transaction() as tx:
            tx.put("rules/1", "Ask a lead for a refund over 200", embedding=[1, 0])
            tx.put("rules/2", "Every refund is logged", embedding=[0, 1])
            tx.put("facts/3", {"plan": "Enterprise", "seats": 40}, embedding=[3, 1])
            tx.put("facts/4", "no vector, but a refund")
        return repo

    return open_with


class TestModes:
    def test_text_means_words_without_an_embedder(self, filled):
        now = filled().at()

        assert keys(now.search("refund over 200")) == ["rules/1", "rules/2", "facts/4"]
        assert now.search("refund over 200") == now.search(text="refund over 200")
        assert now.search("refund") == now.search("refund", mode="words")
        assert keys(now.search("enterprise PLAN")) == ["facts/3"]
        assert keys(now.search("seats 40")) == ["facts/3"]
        assert keys(now.search("facts")) == ["facts/3", "facts/4"]
        assert now.search("") == now.search("nothing") == now.search("?") == []

    def test_text_means_vectors_with_an_embedder(self, filled):
        now = filled(embed=embed).at()

        assert now.search("aa") == now.search(text="aa") == now.search([2.0, 1.0])
        assert keys(now.search("refund", mode="words")) == ["rules/2", "facts/4", "rules/1"]

    def test_numbers_and_text_are_both(self, filled):
        now = filled().at()
        hits = now.search([1, 0], text="refund over 200")

        assert hits == now.search([1, 0], text="refund over 200", mode="both")
        words, vectors = ["rules/1", "rules/2", "facts/4"], ["rules/1", "facts/3", "rules/2"]
        scores = {}
        for ranking in (words, vectors):
            for rank, key in enumerate(ranking, 1):
                scores[key] = scores.get(key, 0.0) + 1 / (60 + rank)
        expected = sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))
        assert [(hit.record.key, hit.score) for hit in hits] == expected
        assert keys(now.search([1, 0], text="refund over 200", limit=2)) == keys(hits)[:2]
        tied = now.search([1, 0], text="refund", prefix="facts/")
        assert [(hit.record.key, hit.score) for hit in tied] == [
            ("facts/3", 1 / 61),
            ("facts/4", 1 / 61),
        ]
        assert now.search([1, 0], text="refund", limit=0) == []
        assert now.search([1, 0], text="refund", mode="words") == now.search("refund")

    def test_both_by_an_embedder(self, filled):
        now = filled(embed=embed).at()

        assert now.search("aa", mode="both") == now.search([2.0, 1.0], text="aa")

    def test_a_record_in_both_rankings_comes_before_one_in_one(self, filled):
        repo = filled()
        with repo.transaction() as tx:
            tx.put("x/b", "only here", embedding=[0, -1])
            tx.put("x/a", "nothing", embedding=[1, 5])
        hits = repo.at().search([1, 5], text="only", prefix="x/")

        assert keys(hits) == ["x/b", "x/a"]
        assert hits[0].score == 1 / 61 + 1 / 62

    def test_the_first_200_of_each_ranking_count_or_more_if_more_are_wanted(self, filled):
        repo = filled()
        with repo.transaction() as tx:
            for number in range(300):
                tx.put(f"many/{number:03}", "word", embedding=[1, number + 1])
        now = repo.at()

        assert len(now.search([1, 0], text="nothing", limit=200, prefix="many/")) == 200
        assert len(now.search([1, 0], text="nothing", limit=250, prefix="many/")) == 250
        whole = now.search([1, 400], text="word", limit=200, prefix="many/")
        assert now.search([1, 400], text="word", limit=7, prefix="many/") == whole[:7]

    def test_the_least_score_is_of_the_mode(self, filled):
        now = filled().at()

        best = now.search([1, 0], text="refund over")[0]
        assert best.score == 2 / 61
        assert now.search([1, 0], text="refund over", min_score=2 / 61) == [best]
        assert now.search([1, 0], text="refund over", min_score=0.5) == []

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({}, "needs a query"),
            ({"query": "a", "text": "b"}, "give the text once"),
            ({"text": 3}, "text is a string, not int"),
            ({"query": "a", "mode": "words and vectors"}, "mode is vectors, words or both"),
            ({"query": [1, 0], "mode": "words"}, "needs text"),
            ({"query": [1, 0], "mode": "both"}, "needs text"),
            ({"query": "a", "mode": "vectors"}, "without `embed`"),
            ({"query": "a", "mode": "both"}, "without `embed`"),
        ],
    )
    def test_what_is_not_valid(self, filled, arguments, message):
        with pytest.raises(ValidationError, match=message):
            filled().at().search(**arguments)

    def test_an_empty_memory(self, filled):
        with mnemosyne_vcs.open("memory://", create=True) as repo:
            assert repo.at().search("anything") == []
            assert repo.at().search([1, 0], text="anything") == []


class TestEveryCommit:
    def test_the_past_and_other_branches(self, filled):
        repo = filled()
        first = repo.resolve().id
        repo.create_branch("other")
        repo.put("rules/5", "A refund is a refund", branch="other")
        repo.delete("rules/1")

        assert "rules/5" in keys(repo.at("other").search("refund"))
        assert keys(repo.at("main").search("refund over")) == ["rules/2", "facts/4"]
        assert keys(repo.at(first).search("over")) == ["rules/1"]
        repo.undo(1)
        assert repo.at().search("refund over") == repo.at(first).search("refund over")

    def test_scores_do_not_depend_on_what_else_the_store_holds(self, filled):
        repo, alone = filled(), filled()
        repo.create_branch("other")
        for number in range(20):
            repo.put(f"refund/{number}", "refund over 200 " * number, branch="other")
            repo.at("other").search("refund")

        assert [(h.record.key, h.score) for h in repo.at().search("refund over")] == [
            (h.record.key, h.score) for h in alone.at().search("refund over")
        ]

    def test_a_moved_record_is_found_by_its_new_key(self, filled):
        repo = filled()
        with repo.transaction() as tx:
            tx.move("rules/1", "guides/one")

        assert keys(repo.at().search("guides")) == ["guides/one"]
        assert "guides/one" not in keys(repo.at().search("rules"))
        assert keys(repo.at("main~1").search("guides")) == []


class TestFind:
    def test_every_place(self, filled):
        now = filled().at()
        [match] = now.find("over 200")

        assert match == TextMatch(
            now["rules/1"], "", 1, "Ask a lead for a refund over 200", ((24, 32),)
        )
        assert [(m.record.key, m.path, m.line) for m in now.find("a", prefix="facts/3")] == [
            ("facts/3", None, "facts/3"),
            ("facts/3", "plan", "plan"),
            ("facts/3", "seats", "seats"),
        ]
        assert [(m.path, m.line) for m in now.find("40")] == [("seats", "40")]
        assert list(now.find("Over 200")) == []
        assert [m.spans for m in now.find("OVER 200", ignore_case=True)] == [((24, 32),)]
        assert list(now.find("refund.over")) == []

    def test_lines(self, filled):
        repo = filled()
        repo.put("lines", {"a": ["x\ntwo x and x\n\nlast", "no"]})
        found = [(m.path, m.line_number, m.line, m.spans) for m in repo.at().find("x", prefix="l")]

        assert found == [
            ("a.0", 1, "x", ((0, 1),)),
            ("a.0", 2, "two x and x", ((4, 5), (10, 11))),
        ]
        [(_, number, line, spans)] = [
            (m.path, m.line_number, m.line, m.spans) for m in repo.at().find("x\n\nl")
        ]
        assert (number, line, spans) == (2, "two x and x\n\nlast", ((10, 14),))

    def test_records_are_read_as_they_are_asked_for(self, filled):
        repo = filled()
        with repo.transaction() as tx:
            for number in range(3000):
                tx.put(f"many/{number:04}", "here")
        blocks, read = repo.at()._blocks, []
        of_many = blocks.read
        blocks.read = lambda ids: of_many(read.extend(ids) or ids)

        assert next(repo.at().find("here", prefix="many/")).record.key == "many/0000"
        assert len(read) < 1000

    @pytest.mark.parametrize("text", ["", 3, None])
    def test_what_is_not_a_text(self, filled, text):
        with pytest.raises(ValidationError):
            filled().at().find(text)


def test_arrays_as_queries_with_text(filled):
    now = filled().at()

    assert now.search(np.array([1, 0], np.float32), text="refund") == now.search(
        [1, 0], text="refund"
    )

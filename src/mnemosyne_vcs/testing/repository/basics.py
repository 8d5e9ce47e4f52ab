# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: records, branches and snapshots."""

import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    AlreadyExistsError,
    ConflictError,
    DimensionError,
    NotFoundError,
    Provenance,
    ReadOnlyError,
    Repository,
    TransactionDoneError,
    ValidationError,
)
from mnemosyne_vcs.format.objects import is_vector
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures, needs

__all__ = ["BasicsContract"]

Opened = Callable[..., Repository]


class BasicsContract(RepositoryFixtures):
    """What a repository promises of records, branches and snapshots."""

    def test_a_new_repository_has_an_empty_main(self, repo: Repository):
        assert list(repo.branches()) == ["main"]
        assert len(repo.at()) == 0
        assert list(repo.at()) == []
        assert list(repo.log()) == []

    def test_a_record_comes_back_as_it_was_put(self, repo: Repository):
        provenance = Provenance(
            source="ticket", agent="support", step=3, derived_from=(("a", "bafy"),), note="n"
        )
        content = {"plan": "Enterprise", "n": [1, 1.0, True, None, "é\u0000"]}
        commit = repo.put(
            "customers/1",
            content,
            embedding=[1.0, 0.5],
            vectors={"title": np.array([3, 4, 5], dtype=np.float32)},
            embedder="hash-2",
            provenance=provenance,
            event_time=1_700_000_000_000,
        )
        record = repo.at()["customers/1"]
        assert (record.key, record.content) == ("customers/1", content)
        assert [type(item) for item in record.content["n"]] == [int, float, bool, type(None), str]
        assert record.embedding is not None
        assert record.embedding.tolist() == [1.0, 0.5]
        assert record.vectors["title"].tolist() == [3.0, 4.0, 5.0]
        assert (record.embedder, record.provenance) == ("hash-2", provenance)
        assert record.event_time == 1_700_000_000_000
        assert record.transaction_id == commit.transaction_id

    def test_a_snapshot_never_changes(self, repo: Repository):
        repo.put("a", 1)
        before = repo.at()
        repo.put("a", 2)
        repo.put("b", 3)
        assert dict(before) == {"a": before["a"]}
        assert before["a"].content == 1
        assert repo.at()["a"].content == 2

    def test_changing_what_a_snapshot_returned_changes_nothing(self, repo: Repository):
        repo.put("a", {"list": [1]})
        repo.at()["a"].content["list"].append(2)
        assert repo.at()["a"].content == {"list": [1]}

    def test_scan_count_and_children(self, repo: Repository):
        with repo.transaction() as tx:
            for key in ("a", "a/1", "a/2", "a/b/3", "ab", "c/4"):
                tx.put(key, key)
        now = repo.at()
        assert [r.key for r in now.scan("a/")] == ["a/1", "a/2", "a/b/3"]
        assert [r.key for r in now.scan(start="a/2", limit=2)] == ["a/2", "a/b/3"]
        assert [r.key for r in now.scan(reverse=True, limit=2)] == ["c/4", "ab"]
        assert (now.count("a/"), now.count(), len(now), now.count("zz")) == (3, 6, 6, 0)
        assert list(now.children("a/")) == ["1", "2", "b/"]
        assert list(now.children()) == ["a", "a/", "ab", "c/"]
        assert "a/1" in now
        assert "a/3" not in now
        with pytest.raises(NotFoundError, match="'a/3'"):
            now["a/3"]

    def test_branches_start_where_they_are_told_and_go_their_own_way(self, repo: Repository):
        first = repo.put("a", 1)
        repo.put("a", 2)
        repo.create_branch("trial", revision="main~1")
        assert repo.branches()["trial"] == first.id
        repo.put("b", 3, branch="trial")
        assert {r.key: r.content for r in repo.at("trial").scan()} == {"a": 1, "b": 3}
        assert {r.key: r.content for r in repo.at().scan()} == {"a": 2}
        with pytest.raises(AlreadyExistsError, match="trial"):
            repo.create_branch("trial")
        repo.delete_branch("trial")
        assert list(repo.branches()) == ["main"]
        with pytest.raises(NotFoundError, match="trial"):
            repo.delete_branch("trial")

    def test_tags_name_a_commit_for_good(self, repo: Repository):
        commit = repo.put("a", 1)
        repo.create_tag("v1")
        repo.put("a", 2)
        assert repo.tags() == {"v1": commit.id}
        assert repo.at("v1")["a"].content == 1
        repo.delete_tag("v1")
        assert repo.tags() == {}

    @pytest.mark.parametrize(
        "name", ["", "a b", "a~1", "a^", "a@{1}", "/a", "a/", "a//b", "a..b", "-a"]
    )
    def test_a_bad_branch_name_is_refused_and_shown(self, repo: Repository, name: str):
        with pytest.raises(ValidationError):
            repo.create_branch(name)
        assert list(repo.branches()) == ["main"]

    def test_an_unknown_branch_is_named(self, repo: Repository):
        with pytest.raises(NotFoundError, match="'none'"):
            repo.put("a", 1, branch="none")

    def test_a_put_of_the_present_value_makes_no_commit(self, repo: Repository):
        first = repo.put("a", {"x": 1}, embedding=[1, 2])
        assert repo.put("a", {"x": 1}, embedding=[1, 2]).id == first.id
        assert repo.put("a", {"x": 1.0}, embedding=[1, 2]).id != first.id
        assert repo.put("a", {"x": True}, embedding=[1, 2]).generation == 3
        assert repo.put("a", {"x": True}, embedding=[1, 3]).generation == 4
        assert repo.put("a", {"x": True}).generation == 5

    def test_a_transaction_sees_its_own_writes(self, repo: Repository):
        repo.put("a", 1, embedding=[1])
        repo.put("b", 2)
        with repo.transaction() as tx:
            tx.put("c", 3, embedding=[5, 6])
            tx.delete("b")
            assert tx["c"].content == 3
            assert tx["c"].embedding.tolist() == [5.0, 6.0]
            assert "b" not in tx
            assert tx.get("b", "gone") == "gone"
            assert [r.key for r in tx.scan()] == ["a", "c"]
            assert list(tx.scan_keys("c")) == ["c"]
            assert "c" not in repo.at()
        assert sorted(repo.at()) == ["a", "c"]

    def test_a_transaction_left_by_an_exception_writes_nothing(self, repo: Repository):
        with pytest.raises(ZeroDivisionError), repo.transaction() as tx:
            tx.put("a", 1)
            raise ZeroDivisionError
        assert list(repo.log()) == []

    def test_bad_input_is_named_and_writes_nothing(self, repo: Repository):
        with repo.transaction() as tx:
            tx.put("good", 1)
            with pytest.raises(ValidationError, match=r"content of 'bad'\.a\[1\]"):
                tx.put("bad", {"a": [1, float("nan")]})
            with pytest.raises(ValidationError, match="not finite"):
                tx.put("bad", 1, embedding=[float("inf")])
            with pytest.raises(ValidationError, match="control character"):
                tx.put("b\nd", 1)
            with pytest.raises(ValidationError, match="embed"):
                tx.put("bad", 1, embedding="text")
            with pytest.raises(ValidationError, match=r"provenance\.agent"):
                tx.put("bad", 1, provenance=Provenance(agent=3))  # type: ignore[arg-type]
            with pytest.raises(NotFoundError, match="'none'"):
                tx.delete("none")
        assert list(repo.at()) == ["good"]

    def test_disjoint_writes_of_an_old_base_land_on_the_new_head(self, repo: Repository):
        tx = repo.transaction()
        tx.put("mine", 1)
        repo.put("theirs", 2)
        commit = tx.commit()
        assert sorted(repo.at()) == ["mine", "theirs"]
        assert commit.generation == 2

    @pytest.mark.parametrize("touch", ["write", "read", "scan", "absent"])
    def test_a_clash_raises_with_the_conflict_and_writes_nothing(
        self, repo: Repository, touch: str
    ):
        repo.put("k/a", 1)
        tx = repo.transaction()
        match touch:
            case "write":
                tx.put("k/a", 10)
            case "read":
                assert tx["k/a"].content == 1
            case "scan":
                assert len(list(tx.scan("k/"))) == 1
            case _:
                assert tx.get("k/a2") is None
        tx.put("other", 1)
        theirs = repo.put("k/a2" if touch == "absent" else "k/a", 2)
        with pytest.raises(ConflictError) as caught:
            tx.commit()
        assert [c.key for c in caught.value.conflicts] == ["k/a2" if touch == "absent" else "k/a"]
        assert caught.value.conflicts[0].theirs.content == 2
        assert repo.resolve().id == theirs.id

    def test_a_transaction_that_only_reads_never_clashes(self, repo: Repository):
        repo.put("a", 1)
        with repo.transaction() as tx:
            assert tx["a"].content == 1
            theirs = repo.put("a", 2)
        assert tx.committed.id == theirs.id

    def test_both_sides_writing_the_same_value_is_no_clash(self, repo: Repository):
        tx = repo.transaction()
        tx.put("a", {"x": 1}, embedding=[1, 2])
        repo.put("a", {"x": 1}, embedding=[1, 2])
        tx.commit()
        assert repo.at()["a"].content == {"x": 1}

    def test_transact_runs_again_until_it_lands(self, repo: Repository):
        repo.put("n", 0)
        runs: list[int] = []

        def increment(tx: mnemosyne_vcs.Transaction) -> None:
            runs.append(1)
            seen = tx["n"].content
            if len(runs) < 6:
                repo.put("n", seen + 10) if len(runs) < 3 else None
            tx.put("n", seen + 1)

        repo.transact(increment)
        assert repo.at()["n"].content == 21
        assert len(runs) == 3

    def test_threads_that_increment_lose_nothing(self, repo: Repository):
        repo.put("n", 0)

        def work() -> None:
            for _ in range(10):
                repo.transact(lambda tx: tx.put("n", tx["n"].content + 1))

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert repo.at()["n"].content == 60
        assert len(list(repo.log(key="n"))) == 61

    def test_a_committed_transaction_is_done(self, repo: Repository):
        tx = repo.transaction()
        tx.put("a", 1)
        tx.commit()
        with pytest.raises(TransactionDoneError, match="committed"):
            tx.commit()

    def test_a_move_keeps_identity(self, repo: Repository):
        repo.put("old", {"x": 1}, embedding=[1, 2])
        with repo.transaction(message="rename") as tx:
            tx.move("old", "new")
        record = repo.at()["new"]
        assert (record.content, record.moved_from) == ({"x": 1}, "old")
        assert record.embedding.tolist() == [1.0, 2.0]
        assert "old" not in repo.at()
        (change,) = repo.diff("main~1")
        assert (change.key, change.kind, change.before.key) == ("new", "moved", "old")
        assert [b.commit.message for b in repo.history("new")] == ["rename", "put old"]
        with repo.transaction() as tx:
            tx.put("other", 1)
            with pytest.raises(AlreadyExistsError, match="'other'"):
                tx.move("new", "other")
            with pytest.raises(NotFoundError, match="'none'"):
                tx.move("none", "x")

    def test_a_moved_record_can_be_rewritten_in_the_same_commit(self, repo: Repository):
        repo.put("old", 1)
        with repo.transaction() as tx:
            tx.move("old", "new")
            tx.put("new", 2)
        assert repo.at()["new"].moved_from == "old"
        assert [b.record.content for b in repo.history("new")] == [2, 1]

    def test_search_filters_before_it_cuts(self, repo: Repository):
        rng = np.random.default_rng(7)
        with repo.transaction() as tx:
            for i, vector in enumerate(rng.standard_normal((300, 8))):
                tx.put(
                    f"{'x' if i % 2 else 'y'}/{i}", {"n": i, "rare": i % 100 == 0}, embedding=vector
                )
            tx.put("x/plain", {"n": -1})
        query = rng.standard_normal(8)
        now = repo.at()
        hits = now.search(query, prefix="y/", where={"rare": True}, limit=3)
        assert sorted(hit.record.content["n"] for hit in hits) == [0, 100, 200]
        assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
        expected = sorted(
            (
                -float(np.dot(r.embedding.astype(float), query))
                / float(np.linalg.norm(r.embedding.astype(float)) * np.linalg.norm(query)),
                r.key,
            )
            for r in now.scan()
            if r.embedding is not None
        )[:10]
        assert [hit.record.key for hit in now.search(query)] == [key for _, key in expected]
        assert now.search(query, where=lambda record: record.content["n"] > 500) == []
        assert now.search(query, limit=0) == []
        with pytest.raises(DimensionError, match="3 dimensions"):
            now.search([1, 2, 3])

    def test_text_is_embedded_where_the_repository_can(self, url: str, opened: Opened):
        def embed(texts: list[str]) -> list[list[float]]:
            return [[float(len(text)), 1.0] for text in texts]

        repo = opened(url, create=True, embed=embed)
        repo.put("a", "aaaa", embedding="aaaa")
        assert repo.at()["a"].embedding.tolist() == [4.0, 1.0]
        assert repo.at().search("aaaa")[0].score == pytest.approx(1.0)

    def test_words_are_found_at_every_commit(self, repo: Repository):
        repo.put("rules/refund", "A refund over 200 needs a lead")
        repo.create_branch("trial")
        repo.put("rules/other", {"退款": ["Every Refund is logged"]}, branch="trial")
        repo.put("rules/refund", "A refund over 300 needs a lead")
        assert [h.record.key for h in repo.at().search("over 200")] == ["rules/refund"]
        assert repo.at().search('"over 200"') == []
        assert [h.record.key for h in repo.at("main~1").search('"over 200"')] == ["rules/refund"]
        hits = repo.at("trial").search("退款 logged refund")
        assert [h.record.key for h in hits] == ["rules/other", "rules/refund"]
        assert hits[0].score > hits[1].score > 0

    def test_the_past_of_every_branch_is_searchable(self, repo: Repository):
        repo.put("a", 1, embedding=[1, 0])
        repo.put("b", 2, embedding=[0, 1])
        repo.create_branch("trial")
        repo.put("c", 3, embedding=[1, 1], branch="trial")
        assert [h.record.key for h in repo.at("trial").search([1, 1])] == ["c", "a", "b"]
        assert [h.record.key for h in repo.at("main").search([1, 1])] == ["a", "b"]
        assert [h.record.key for h in repo.at("main~1").search([1, 1])] == ["a"]
        assert repo.at("main~2").search([1, 1]) == []

    def test_a_read_only_repository_refuses_writes(self, shared_url: str, opened: Opened):
        opened(shared_url, create=True).put("a", 1)
        reader = opened(shared_url, read_only=True)
        assert reader.at()["a"].content == 1
        for write in (
            lambda: reader.put("b", 1),
            lambda: reader.create_branch("x"),
            reader.undo,
            reader.transaction,
        ):
            with pytest.raises(ReadOnlyError, match=re.escape(reader.url)):
                write()

    def test_a_closed_repository_opens_again_when_used(self, shared_url: str, opened: Opened):
        repo = opened(shared_url, create=True)
        repo.put("a", 1)
        repo.close()
        repo.close()
        assert repo.at()["a"].content == 1

    def test_two_repositories_on_one_store_see_each_other(self, shared_url: str, opened: Opened):
        one = opened(shared_url, create=True)
        two = opened(shared_url)
        one.put("a", 1, embedding=[1, 0])
        assert [h.record.key for h in two.at().search([1, 0])] == ["a"]
        two.put("b", 2, embedding=[1, 0])
        assert [h.record.key for h in one.at().search([1, 0])] == ["a", "b"]
        assert one.url == two.url

    @needs("enumerate")
    def test_backup_is_a_store_of_its_own(self, repo: Repository, tmp_path: Path):
        repo.put("a", 1, embedding=[1, 2])
        repo.create_tag("v1")
        copy = tmp_path / "copy.mnem"
        repo.backup(copy)
        repo.put("a", 2)
        restored = mnemosyne_vcs.open(copy)
        assert restored.at()["a"].content == 1
        assert restored.at()["a"].embedding.tolist() == [1.0, 2.0]
        assert restored.tags() == {"v1": restored.resolve().id}
        assert restored.verify().ok
        with pytest.raises(AlreadyExistsError, match=r"copy\.mnem"):
            repo.backup(copy)

    def test_stats_count(self, repo: Repository):
        repo.put("a", 1)
        repo.put("b", 2)
        repo.create_branch("trial", revision="main~1")
        stats = repo.stats()
        assert (stats.branches, stats.tags, stats.commits) == (2, 0, 2)
        assert stats.records == {"main": 2, "trial": 1}
        assert stats.url == repo.url

    def test_a_record_that_was_read_in_a_transaction_outlives_what_is_written_over_it(
        self,
        repo: Repository,
    ):
        with repo.transaction() as tx:
            tx.put("a", "first", embedding=[1.0, 2.0], vectors={"other": [3.0]})
            first = tx["a"]
            tx.put("a", "second", embedding=[1.0, 2.0])
            second = tx["a"]
            tx.put("a", "third", embedding=[4.0, 5.0])
            assert first.vectors["other"].tolist() == [3.0]
            assert second.content == "second"
        assert first.embedding.tolist() == second.embedding.tolist() == [1.0, 2.0]

    @needs("enumerate")
    def test_a_transaction_writes_only_what_stands_at_its_end(self, repo: Repository):
        engine = repo.blocks.engine
        before = set(engine.ids())
        with repo.transaction() as tx:
            for number in range(5):
                tx.put("a", number, embedding=[1.0], vectors={"other": [number]})
            tx.put("gone", 1, embedding=[2.0])
            tx.delete("gone")
            tx.put("b", 1, embedding=[3.0])
            tx.move("b", "c")
        record, moved = repo.at()["a"], repo.at()["c"]
        new = set(engine.ids()) - before
        vectors = {*record.vectors.ids.values(), *moved.vectors.ids.values()}
        assert {block for block in new if is_vector(block)} == vectors
        tree, commit = 1, 1
        assert len(new) == len(vectors) + 2 + tree + commit

    def test_a_store_whose_main_was_deleted_opens_without_it(self, shared_url: str):
        with mnemosyne_vcs.open(shared_url, create=True) as repo:
            repo.create_branch("kept")
            repo.delete_branch("main")
        with mnemosyne_vcs.open(shared_url, create=True) as repo:
            assert repo.branches().keys() == {"kept"}

# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: history, blame of deletions and undo."""

import pytest

from mnemosyne_vcs import ConflictError, NotFoundError, Provenance, Repository, ValidationError
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures, needs

__all__ = ["HistoryContract"]


def messages(commits: object) -> list[str]:
    return [commit.message for commit in commits]  # type: ignore[attr-defined]


class HistoryContract(RepositoryFixtures):
    """What a repository promises of history, blame of deletions and undo."""

    def test_log_is_newest_first(self, repo: Repository):
        for i in range(5):
            repo.put("a", i, message=f"m{i}")
        assert messages(repo.log()) == ["m4", "m3", "m2", "m1", "m0"]
        assert messages(repo.log(limit=2)) == ["m4", "m3"]
        assert messages(repo.log("main~3")) == ["m1", "m0"]

    def test_blame_names_the_writer_from_any_commit(self, repo: Repository):
        repo.put("a", 1, author="ann", provenance=Provenance(source="doc"))
        repo.put("b", 1, author="bob")
        repo.put("a", 2, author="cid")
        assert repo.blame("a").commit.author == "cid"
        assert repo.blame("b").commit.author == "bob"
        old = repo.blame("a", "main~1")
        assert (old.commit.author, old.record.provenance.source) == ("ann", "doc")
        with pytest.raises(NotFoundError, match="'none'"):
            repo.blame("none")

    def test_blame_of_a_deleted_key_names_who_deleted_it(self, repo: Repository):
        repo.put("a", 1)
        deletion = repo.delete("a", author="ann")
        repo.put("b", 1)
        blame = repo.blame("a")
        assert (blame.record, blame.commit.id) == (None, deletion.id)

    def test_history_holds_every_value_through_deletion_and_return(self, repo: Repository):
        repo.put("a", 1)
        repo.put("a", 2)
        repo.delete("a")
        repo.put("a", 3)
        found = [b.record.content if b.record else None for b in repo.history("a")]
        assert found == [3, None, 2, 1]
        assert [b.record.content for b in repo.history("a", "main~2")] == [2, 1]

    def test_history_is_that_of_the_branch(self, repo: Repository):
        repo.put("a", 1)
        repo.create_branch("trial")
        repo.put("a", 2, branch="trial")
        repo.put("a", 3)
        assert [b.record.content for b in repo.history("a")] == [3, 1]
        assert [b.record.content for b in repo.history("a", "trial")] == [2, 1]

    def test_diff_compares_values(self, repo: Repository):
        repo.put("a", 1)
        repo.put("b", 1)
        before = repo.resolve().id
        repo.put("a", 2)
        repo.put("a", 1)
        repo.delete("b")
        repo.put("c", 3)
        changes = {c.key: c.kind for c in repo.diff(before)}
        assert changes == {"b": "removed", "c": "added"}
        assert [c.key for c in repo.diff(before, prefix="c")] == ["c"]
        assert {c.key: c.kind for c in repo.diff("main", before)} == {"b": "added", "c": "removed"}

    def test_undo_takes_back_the_newest(self, repo: Repository):
        repo.put("a", 1, author="ann")
        repo.put("a", 2)
        repo.put("b", 3)
        commit = repo.undo(2, author="lead", message="wrong")
        assert {r.key: r.content for r in repo.at().scan()} == {"a": 1}
        assert (commit.author, commit.message) == ("lead", "wrong")
        assert len(commit.trailers["Undoes"].split()) == 2
        assert repo.blame("a").commit.author == "ann"
        assert [b.record.content for b in repo.history("a")] == [1, 2, 1]
        repo.undo()
        assert {r.key: r.content for r in repo.at().scan()} == {"a": 2, "b": 3}

    def test_undo_of_a_run_leaves_the_rest(self, repo: Repository):
        repo.put("good", 1)
        for i in range(3):
            with repo.transaction(trailers={"Run-Id": "r1"}) as tx:
                tx.put(f"bad/{i}", i)
                tx.put("shared", i)
            repo.put(f"later/{i}", i)
        repo.undo(trailer=("Run-Id", "r1"))
        assert sorted(repo.at()) == ["good", "later/0", "later/1", "later/2"]
        head = repo.resolve().id
        assert repo.undo(trailer=("Run-Id", "r1")).id == head
        with pytest.raises(NotFoundError, match="r2"):
            repo.undo(trailer=("Run-Id", "r2"))

    def test_undo_of_what_was_changed_since_is_a_conflict(self, repo: Repository):
        with repo.transaction(trailers={"Save-Id": "s"}) as tx:
            tx.put("a", 1)
            tx.put("b", 1)
        repo.put("a", 2)
        head = repo.resolve().id
        with pytest.raises(ConflictError) as caught:
            repo.undo(trailer=("Save-Id", "s"))
        (conflict,) = caught.value.conflicts
        assert (conflict.key, conflict.ours.content, conflict.base.content) == ("a", 2, 1)
        assert repo.resolve().id == head

    def test_undo_of_a_move_puts_the_record_back(self, repo: Repository):
        repo.put("old", 1, embedding=[1, 2])
        with repo.transaction() as tx:
            tx.move("old", "new")
        repo.undo()
        assert list(repo.at()) == ["old"]
        assert repo.at()["old"].embedding.tolist() == [1.0, 2.0]

    def test_undo_of_more_than_there_is(self, repo: Repository):
        repo.put("a", 1)
        with pytest.raises(NotFoundError, match="there are 1"):
            repo.undo(2)
        with pytest.raises(ValidationError):
            repo.undo(0)

    @needs("history")
    def test_the_history_index_can_be_rebuilt(self, repo: Repository):
        from mnemosyne_vcs.history.index import complete_index

        for i in range(5):
            repo.put("a", i)
        repo.put("b", 1)
        expected = [b.commit.id for b in repo.history("a")]
        repo.blocks.engine.clear_index()  # type: ignore[attr-defined]
        assert complete_index(repo.blocks, repo.blocks.engine.refs().values()) == 7
        assert [b.commit.id for b in repo.history("a")] == expected
        repo.blocks.engine.clear_index()  # type: ignore[attr-defined]
        assert repo.blame("b").commit.message == "put b"
        assert [b.commit.id for b in repo.history("a")] == expected

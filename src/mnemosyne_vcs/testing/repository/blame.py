# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: who wrote a record, and when."""

import pytest

from mnemosyne_vcs import NotFoundError, Provenance, Repository
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures, needs

__all__ = ["BlameContract"]


def told(repo: Repository, key: str, at: str = "main") -> list[tuple[str, object]]:
    """The history of a key as messages and contents."""
    return [
        (each.commit.message, each.record.content if each.record else None)
        for each in repo.history(key, at)
    ]


class BlameContract(RepositoryFixtures):
    """What a repository promises of who wrote a record, and when."""

    def test_history_goes_through_merges(self, repo: Repository):
        repo.put("a", {"x": 1, "y": 1}, message="first")
        repo.create_branch("side")
        repo.put("a", {"x": 2, "y": 1}, branch="side", message="on side")
        repo.put("b", 1)
        repo.merge("side", message="merge 1")
        assert told(repo, "a") == [("on side", {"x": 2, "y": 1}), ("first", {"x": 1, "y": 1})]
        repo.put("a", {"x": 3, "y": 1}, branch="side", message="x")
        repo.put("a", {"x": 2, "y": 4}, message="y")
        merge = repo.merge("side", message="merge 2")
        assert told(repo, "a")[0] == ("merge 2", {"x": 3, "y": 4})
        assert {message for message, _ in told(repo, "a")} == {
            "merge 2",
            "x",
            "y",
            "on side",
            "first",
        }
        assert repo.blame("a").commit.id == merge.id
        assert repo.blame("a", field="x").commit.message == "x"
        assert repo.blame("a", field="y").commit.message == "y"

    def test_history_goes_through_moves_merged_with_edits(self, repo: Repository):
        repo.put("old", {"x": 1, "y": 1}, message="first")
        repo.create_branch("side")
        repo.put("old", {"x": 2, "y": 1}, branch="side", message="edit")
        with repo.transaction(message="move") as tx:
            tx.move("old", "new")
        repo.merge("side", message="merge")
        assert repo.at()["new"].content == {"x": 2, "y": 1}
        messages = [message for message, _ in told(repo, "new")]
        assert messages[0] == "merge"
        assert sorted(messages) == ["edit", "first", "merge", "move"]
        assert repo.blame("new", field="x").commit.message == "edit"
        assert repo.blame("new", field="y").commit.message == "first"

    def test_history_goes_through_reverts_and_undone_moves(self, repo: Repository):
        repo.put("old", 1, message="first")
        with repo.transaction(message="move") as tx:
            tx.move("old", "new")
        repo.undo(message="undo")
        assert told(repo, "old") == [("undo", 1), ("move", None), ("first", 1)]
        assert repo.blame("old").commit.message == "first"
        repo.revert("main", message="again")
        assert repo.blame("new").commit.message == "move"
        assert told(repo, "new")[0] == ("again", 1)
        assert told(repo, "new")[-1] == ("first", 1)

    def test_a_key_that_a_merge_left_out(self, repo: Repository):
        repo.put("a", 1)
        repo.create_branch("side")
        with repo.transaction("side", message="move") as tx:
            tx.move("a", "b")
        repo.delete("a", message="delete")
        merge = repo.merge("side", on_conflict="ours")
        repo.put("c", 1)
        assert "b" not in repo.at()
        assert (repo.blame("b").record, repo.blame("b").commit.id) == (None, merge.id)
        assert repo.blame("a").commit.message in ("move", "delete")

    def test_the_commit_that_last_changed_a_field(self, repo: Repository):
        repo.put("a", {"plan": {"tier": 1, "seats": 1}}, message="first", embedding=[1, 0])
        repo.put("a", {"plan": {"tier": 2, "seats": 1}}, message="tier", embedding=[1, 0])
        repo.put("a", {"plan": {"tier": 2, "seats": 2}}, message="seats", embedding=[0, 1])
        with repo.transaction(message="move") as tx:
            tx.move("a", "b")
        repo.put(
            "b",
            {"plan": {"tier": 2, "seats": 2}, "note": ["n"]},
            message="note",
            embedding=[0, 1],
            provenance=Provenance(source="doc"),
        )
        found = {
            field: repo.blame("b", field=field).commit.message
            for field in ("plan.tier", "plan.seats", "plan", "note", "note.0", "", "(embedding)")
        }
        assert found == {
            "plan.tier": "tier",
            "plan.seats": "seats",
            "plan": "seats",
            "note": "note",
            "note.0": "note",
            "": "note",
            "(embedding)": "seats",
        }
        assert repo.blame("b", field="(provenance.source)").commit.message == "note"
        assert repo.blame("a", "main~2", field="plan.seats").commit.message == "seats"
        assert repo.blame("b", field="plan.tier").record.key == "a"

    def test_a_field_that_was_removed_or_never_there(self, repo: Repository):
        repo.put("a", {"x": 1, "y": 1}, message="first")
        repo.put("a", {"y": 1}, message="removed")
        repo.put("a", {"y": 2}, message="other")
        assert repo.blame("a", field="x").commit.message == "removed"
        with pytest.raises(NotFoundError, match="'z'"):
            repo.blame("a", field="z")
        repo.delete("a", message="deleted")
        assert repo.blame("a", field="y").commit.message == "deleted"

    def test_a_field_that_was_put_back_is_of_who_wrote_it(self, repo: Repository):
        repo.put("a", {"x": 1, "y": 1}, message="first")
        wrong = repo.put("a", {"x": 2, "y": 1}, message="wrong")
        repo.revert(wrong.id)
        assert repo.blame("a", field="x").commit.message == "first"

    def test_blame_of_a_subtree(self, repo: Repository):
        repo.put("t/a", 1, author="ann")
        repo.put("t/b", 1, author="bob")
        repo.put("u", 1)
        repo.create_branch("side")
        repo.put("t/c", 1, author="cid", branch="side")
        repo.put("t/a", 2, author="dan")
        repo.merge("side")
        found = {blame.key: blame.commit.author for blame in repo.blame_all("t/")}
        assert found == {"t/a": "dan", "t/b": "bob", "t/c": "cid"}
        assert [blame.key for blame in repo.blame_all()] == ["t/a", "t/b", "t/c", "u"]
        assert [blame.commit.author for blame in repo.blame_all("t/", "main~4")] == ["ann"]

    @needs("delete", "enumerate")
    def test_blame_of_a_picked_record_whose_writer_is_gone(self, repo: Repository):
        from datetime import timedelta

        clock = iter(range(10**12, 10**13, 1000))
        repo = Repository(repo.blocks.engine, clock=clock.__next__)
        repo.create_branch("side")
        written = repo.put("a", 1, branch="side")
        repo.put("b", 1)
        picked = repo.cherry_pick("side")
        assert repo.blame("a").commit.id == written.id
        repo.delete_branch("side")
        repo.gc(keep_reflog=timedelta(0))
        assert repo.blame("a").commit.id == picked.id
        assert [blame.commit.id for blame in repo.blame_all("a")] == [picked.id]

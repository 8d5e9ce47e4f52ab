# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: revert, cherry-pick and restore."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    ConflictError,
    NotFoundError,
    Repository,
    ValidationError,
)
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures

__all__ = ["RevertContract"]


def contents(repo: Repository, revision: str = "main") -> dict[str, object]:
    return {record.key: record.content for record in repo.at(revision).scan()}


class RevertContract(RepositoryFixtures):
    """What a repository promises of revert, cherry-pick and restore."""

    def test_a_revert_takes_back_one_commit_and_leaves_the_rest(self, repo: Repository):
        repo.put("a", {"plan": "Free", "phone": 1}, author="ann")
        wrong = repo.put("a", {"plan": "Pro", "phone": 1}, message="misread")
        repo.put("a", {"plan": "Pro", "phone": 2})
        repo.put("b", 1)
        commit = repo.revert(wrong.id, author="lead")
        assert contents(repo) == {"a": {"plan": "Free", "phone": 2}, "b": 1}
        assert (commit.author, commit.message) == ("lead", "revert: misread")
        assert commit.trailers == {"Reverts": wrong.id}
        assert repo.blame("a").commit.id == commit.id

    def test_a_reverted_record_comes_back_as_it_was_written(self, repo: Repository):
        first = repo.put("a", 1, author="ann", embedding=[1, 2])
        repo.put("a", 2)
        repo.revert("main")
        assert repo.blame("a").commit.id == first.id
        assert repo.at()["a"].embedding.tolist() == [1.0, 2.0]
        repo.revert(first.id)
        assert "a" not in repo.at()

    def test_a_revert_of_what_was_changed_since_needs_a_resolution(self, repo: Repository):
        first = repo.put("a", 1)
        second = repo.put("a", 2)
        head = repo.put("a", 3)
        with pytest.raises(ConflictError, match="'a' \\(edit/edit\\)") as caught:
            repo.revert(second.id)
        (conflict,) = caught.value.conflicts
        found = [side.content for side in (conflict.base, conflict.ours, conflict.theirs)]
        assert found == [2, 3, 1]
        assert repo.resolve().id == head.id
        commit = repo.revert(second.id, resolutions={"a": "theirs"})
        assert repo.blame("a").commit.id == first.id
        assert commit.trailers["Resolved"] == '{"a":"theirs"}'
        repo.put("a", 5)
        repo.revert(second.id, on_conflict=lambda conflict: mnemosyne_vcs.Replacement(9))
        assert contents(repo) == {"a": 9}
        with pytest.raises(ValidationError, match="no conflict"):
            repo.revert(first.id, resolutions={"b": "ours"})

    def test_a_revert_of_what_is_gone_changes_nothing(self, repo: Repository):
        wrong = repo.put("a", 1)
        head = repo.delete("a")
        assert repo.revert(wrong.id).id == head.id

    def test_a_merge_is_reverted_to_either_parent(self, repo: Repository):
        repo.create_branch("side")
        repo.put("m", 1)
        repo.put("s", 1, branch="side")
        merge = repo.merge("side")
        repo.put("later", 1)
        repo.create_branch("other")
        repo.revert(merge.id)
        assert contents(repo) == {"m": 1, "later": 1}
        repo.revert(merge.id, branch="other", parent=2)
        assert contents(repo, "other") == {"s": 1, "later": 1}
        with pytest.raises(ValidationError, match="no number 3"):
            repo.revert(merge.id, parent=3)

    def test_a_cherry_pick_takes_over_one_commit(self, repo: Repository):
        repo.put("a", {"x": 1, "y": 1})
        repo.create_branch("side")
        repo.put("unwanted", 1, branch="side")
        picked = repo.put("a", {"x": 2, "y": 1}, branch="side", author="ann", message="x is 2")
        repo.put("a", {"x": 1, "y": 2})
        commit = repo.cherry_pick(picked.id)
        assert contents(repo) == {"a": {"x": 2, "y": 2}}
        assert (commit.message, commit.trailers) == ("x is 2", {"Cherry-Picked-From": picked.id})
        assert len(commit.parents) == 1
        assert repo.cherry_pick(picked.id).id == commit.id

    def test_a_picked_record_keeps_its_writer(self, repo: Repository):
        repo.create_branch("side")
        written = repo.put("a", 1, branch="side", author="ann")
        picked = repo.cherry_pick("side")
        assert repo.blame("a").commit.id == written.id
        assert [blame.commit.id for blame in repo.history("a")] == [picked.id]

    def test_a_pick_that_does_not_fit_writes_nothing(self, repo: Repository):
        repo.put("a", 1)
        repo.create_branch("side")
        repo.put("a", 2, branch="side")
        head = repo.put("a", 3)
        with pytest.raises(ConflictError):
            repo.cherry_pick("side")
        assert repo.resolve().id == head.id
        repo.cherry_pick("side", on_conflict="theirs")
        assert contents(repo) == {"a": 2}

    def test_restore_makes_a_subtree_as_it_was(self, repo: Repository):
        first = repo.put("t/a", 1, author="ann")
        repo.put("t/gone", 1)
        then = repo.put("other", 1)
        repo.put("t/a", 2)
        repo.delete("t/gone")
        repo.put("t/new", 1)
        repo.put("other", 2)
        commit = repo.restore("t/", source=then.id)
        assert contents(repo) == {"t/a": 1, "t/gone": 1, "other": 2}
        assert commit.trailers == {"Restored-From": then.id}
        assert repo.blame("t/a").commit.id == first.id
        assert repo.restore("t/", source=then.id).id == commit.id
        repo.restore(source="main~5")
        assert contents(repo) == contents(repo, "main~6")

    def test_every_action_can_be_looked_at_first(self, url: str):
        with mnemosyne_vcs.open(url, create=True) as repo:
            repo.put("a", {"x": 1})
            head = repo.put("a", {"x": 2})
            plans = [
                repo.plan_undo(),
                repo.plan_revert("main"),
                repo.plan_restore(source="main~1"),
            ]
            for plan in plans:
                assert (plan.branch, plan.kind) == ("main", "commit")
                (change,) = plan.changes
                assert (change.key, change.kind, plan.head.id) == ("a", "changed", head.id)
                assert [c.content for c in (change.before, change.after)] == [{"x": 2}, {"x": 1}]
                assert plan.conflicts == ()
            pick = repo.plan_cherry_pick("main")
            assert (pick.changes, [c.id for c in pick.commits]) == ((), [head.id])
            repo.put("a", {"x": 3})
            plan = repo.plan_revert(head.id)
            assert [conflict.fields for conflict in plan.conflicts] == [("x",)]
            assert repo.plan_revert(head.id, on_conflict="ours").resolved == {"a": "ours"}
            assert len(list(repo.log())) == 3

    def test_a_plan_of_a_merged_record_shows_the_record(self, repo: Repository):
        repo.put("a", {"x": 1, "y": 1})
        wrong = repo.put("a", {"x": 2, "y": 1})
        repo.put("a", {"x": 2, "y": 2})
        (change,) = repo.plan_revert(wrong.id).changes
        assert change.after.content == {"x": 1, "y": 2}

    def test_what_is_not_there_cannot_be_acted_on(self, repo: Repository):
        repo.put("a", 1)
        with pytest.raises(NotFoundError, match="'nowhere'"):
            repo.revert("main", branch="nowhere")
        with pytest.raises(NotFoundError, match="nothing"):
            repo.restore(source="nothing")
        with pytest.raises(ValidationError, match="0 parents"):
            repo.revert("main~1")

    def test_undo_leaves_what_later_commits_changed_in_other_fields(self, repo: Repository):
        repo.put("a", {"plan": "Free", "phone": 1})
        with repo.transaction(trailers={"Run-Id": "r"}) as tx:
            tx.put("a", {"plan": "Pro", "phone": 1})
        repo.put("a", {"plan": "Pro", "phone": 2})
        with repo.transaction(trailers={"Run-Id": "r"}) as tx:
            tx.put("a", {"plan": "Max", "phone": 2})
        commit = repo.undo(trailer=("Run-Id", "r"))
        assert contents(repo) == {"a": {"plan": "Free", "phone": 2}}
        assert commit.message == "undo Run-Id r (2 commits)"

    def test_undo_of_a_merge_takes_back_all_that_it_brought(self, repo: Repository):
        repo.create_branch("side")
        repo.put("m", 1)
        repo.put("s", 1, branch="side")
        repo.put("t", 1, branch="side")
        repo.merge("side")
        repo.undo()
        assert contents(repo) == {"m": 1}

    def test_undo_of_what_is_as_before_is_no_conflict(self, repo: Repository):
        with repo.transaction(trailers={"Run-Id": "r"}) as tx:
            tx.put("a", 1)
        repo.put("b", 1)
        with repo.transaction(trailers={"Run-Id": "r"}) as tx:
            tx.put("a", 2)
        head = repo.delete("a")
        assert repo.undo(trailer=("Run-Id", "r")).id == head.id

    def test_reverts_by_many_threads_all_land(self, repo: Repository):
        commits = [repo.put(f"k{number}", number) for number in range(6)]
        with ThreadPoolExecutor(6) as pool:
            done = list(pool.map(lambda commit: repo.revert(commit.id), commits))
        assert contents(repo) == {}
        assert len({commit.id for commit in done}) == 6

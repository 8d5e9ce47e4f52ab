# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: the history index, right or wrong."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from mnemosyne_vcs import EngineError, NotFoundError, Repository
from mnemosyne_vcs.engine.protocol import IndexEntry
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.ids import parse_id
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures, needs

__all__ = ["HistoryIndexContract"]

KEYS = ("a", "a/1", "a/2", "a/3", "b", "c", "d")


Change = Callable[[IndexEntry], IndexEntry | None]


def entries(repo: Repository) -> list[IndexEntry]:
    return list(repo.blocks.can.list_history.index_entries())


def forge(repo: Repository, change: Change) -> None:
    """Change the rows of the index, as damage or somebody with access to the store would."""
    index = repo.blocks.can.history
    changed = [change(entry) for entry in entries(repo)]
    index.clear_index()
    index.add_to_index(entry for entry in changed if entry is not None)


def answers(repo: Repository, *branches: str) -> list[object]:
    """What blame, history and log say of everything."""
    places = [(key, branch) for branch in branches or ("main",) for key in KEYS]
    return [
        [answer(repo, *place) for place in places],
        [
            [c.id for c in repo.log(branch, prefix=key + end)]
            for key, branch in places
            for end in ("", "/")
        ],
        [(b.key, b.commit.id) for b in repo.blame_all("")],
    ]


def answer(repo: Repository, key: str, branch: str) -> object:
    try:
        blame = repo.blame(key, branch).commit.id
    except NotFoundError as error:
        return str(error)
    log = [c.id for c in repo.log(branch, key=key)]
    return blame, log, [(b.key, b.commit.id) for b in repo.history(key, branch)]


@needs("history", "list_history")
class HistoryIndexContract(RepositoryFixtures):
    """What a repository promises of the history index, right or wrong."""

    @pytest.fixture
    def written(self, repo: Repository) -> Repository:
        """Two authors, a deletion, an undo and a move, on one line."""
        repo.put("a/1", 1, author="ann")
        repo.put("b", 1, author="bob")
        repo.put("a/1", 2, author="bob")
        repo.put("a/2", 1, author="ann")
        repo.delete("b")
        repo.undo()
        repo.put("a/1", 3, author="ann")
        with repo.transaction(author="bob") as tx:
            tx.move("a/2", "a/3")
        repo.put("c", 1, author="ann")
        return repo

    def test_two_rows_that_were_swapped_blame_nobody_else(self, written: Repository):
        guilty, innocent = written.blame("a/1").commit, written.blame("b").commit
        swapped = {
            guilty.transaction_id: innocent.transaction_id,
            innocent.transaction_id: guilty.transaction_id,
        }
        expected = answers(written)
        forge(
            written,
            lambda e: replace(e, transaction=swapped.get(e.transaction, e.transaction)),
        )
        assert written.blame("a/1").commit == guilty
        assert written.blame("b").commit == innocent
        assert answers(written) == expected
        problems = written.verify().problems
        assert {problem.object for problem in problems} == {guilty.id, innocent.id}
        assert {problem.kind for problem in problems} == {"index"}
        assert all("--repair-index" in problem.message for problem in problems)
        assert written.rebuild_index() == len(entries(written))
        assert written.verify().ok
        assert answers(written) == expected

    def test_any_row_that_is_lost_or_too_much_changes_no_answer(self, written: Repository):
        expected, whole = answers(written), {entry.commit: entry for entry in entries(written)}
        for entry in whole.values():
            keys = set(entry.keys)
            for forged in (keys | {"a/1"}, keys | {"b"}, *(keys - {key} for key in keys), set()):
                if forged != keys:
                    changed = replace(entry, keys=forged)
                    forge(written, lambda e, c=changed: c if e.commit == c.commit else e)
                    [problem] = written.verify().problems
                    assert parse_id(problem.object) == entry.commit
                    assert answers(written) == expected
                    forge(written, lambda e: whole[e.commit])

    def test_a_commit_that_the_index_lacks_is_found(self, written: Repository):
        expected, whole = answers(written), entries(written)
        newest = parse_id(written.resolve().id)
        for entry in whole:
            if entry.commit != newest:
                forge(written, lambda e, lost=entry: None if e.commit == lost.commit else e)
                [problem] = written.verify().problems
                assert "lacks this commit" in problem.message
                assert answers(written) == expected
                assert written.rebuild_index() == len(whole)
        assert written.verify().ok

    def test_an_index_that_is_not_made_yet_is_not_wrong(self, written: Repository):
        expected = answers(written)
        written.blocks.engine.clear_index()
        assert written.verify().ok
        assert written.rebuild_index() == 10
        assert answers(written) == expected

    @pytest.mark.parametrize("what", ["nothing", "a record", "a node", "not an id"])
    def test_rows_that_name_no_commit(self, written: Repository, what: str):
        expected = answers(written)
        head = written.resolve()
        root = head.tree_cid
        named = {
            "nothing": object_id(b"nothing"),
            "a record": written.blocks.node(root).links[0],
            "a node": root,
            "not an id": b"\x01\x02\x03",
        }[what]
        made = written.blame("a/1").commit
        forge(written, lambda e: replace(e, commit=named) if e.commit == made.cid else e)
        assert len(written.verify().problems) == 2
        assert answers(written) == expected
        written.rebuild_index()
        assert written.verify().ok

    def test_what_was_never_there_is_not_made_up(self, written: Repository):
        forge(written, lambda e: replace(e, keys=[*e.keys, "never"]))
        assert list(written.log(prefix="never")) == []
        with pytest.raises(NotFoundError, match="had a record 'never'"):
            written.blame("never")
        with pytest.raises(NotFoundError, match="had a record 'never'"):
            list(written.history("never"))

    def test_a_record_of_another_branch_is_not_taken_for_the_one_that_came_here(
        self, repo: Repository
    ):
        repo.put("a", 1)
        repo.create_branch("side")
        picked = repo.put("a", 2, branch="side", author="side")
        here = repo.cherry_pick(picked.id)
        forge(repo, lambda e: replace(e, keys=()) if e.commit == picked.cid else e)
        assert next(b.commit.id for b in repo.history("a")) == here.id
        assert repo.blame("a").commit.id == picked.id

    def test_it_is_rebuilt_of_what_refs_reach(self, written: Repository):
        written.create_branch("trial")
        written.put("x", 1, branch="trial")
        written.delete_branch("trial")
        assert written.rebuild_index() == 10
        assert written.verify().ok
        written.gc(keep_reflog=timedelta(0))
        assert written.verify().ok

    def test_rows_of_commits_that_are_gone_are_told(self, repo: Repository):
        repo.create_branch("trial")
        lost = repo.put("a", 1, branch="trial").id
        kept = entries(repo)
        repo.delete_branch("trial")
        repo.gc(keep_reflog=timedelta(0))
        assert repo.verify().ok
        repo.blocks.engine.add_to_index(kept)
        [problem] = repo.verify().problems
        assert problem.object == lost
        assert "not a commit in the store" in problem.message

    def test_a_rebuild_that_fails_leaves_the_index(self, written: Repository):
        before = {(e.commit, e.transaction, frozenset(e.keys)) for e in entries(written)}
        engine = written.blocks.engine
        add = engine.add_to_index

        def fail(_: object) -> None:
            raise EngineError("lost")

        engine.add_to_index = fail
        with pytest.raises(EngineError, match="lost"):
            written.rebuild_index()
        engine.add_to_index = add
        assert {(e.commit, e.transaction, frozenset(e.keys)) for e in entries(written)} == before

# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: garbage collection."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    NotFoundError,
    Repository,
    Transaction,
)
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.ids import parse_id
from mnemosyne_vcs.testing._children import Child, go
from mnemosyne_vcs.testing._races import race
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures, needs

__all__ = ["GcContract"]

AT_ONCE = timedelta(0)


def stored(repo: Repository) -> set[bytes]:
    return set(repo.blocks.can.enumerate.ids())


def abandon(repo: Repository, name: str = "trial", count: int = 3) -> str:
    """Commits on a branch that is then deleted; returns the last one's id."""
    repo.create_branch(name)
    for i in range(count):
        head = repo.put(f"{name}/{i}", i, branch=name, embedding=[1.0, i]).id
    repo.delete_branch(name)
    return head


@needs("delete", "enumerate", "lock")
class GcContract(RepositoryFixtures):
    """What a repository promises of garbage collection."""

    def test_a_store_without_garbage_is_left_as_it_is(self, repo: Repository):
        repo.put("a", 1, embedding=[1, 2])
        repo.put("a", 2)
        repo.create_tag("v1")
        before = stored(repo)
        report = repo.gc(keep_reflog=AT_ONCE)
        assert (report.objects, report.bytes, report.kept) == (0, 0, len(before))
        assert stored(repo) == before

    def test_what_only_a_deleted_branch_reached_goes(self, repo: Repository):
        repo.put("a", 1, embedding=[1, 2])
        before = stored(repo)
        head = abandon(repo)
        garbage = stored(repo) - before
        dry = repo.gc(keep_reflog=AT_ONCE, dry_run=True)
        assert stored(repo) - before == garbage
        report = repo.gc(keep_reflog=AT_ONCE)
        assert (dry.objects, dry.bytes, dry.kept) == (report.objects, report.bytes, report.kept)
        assert (dry.dry_run, report.dry_run) == (True, False)
        assert report.objects == len(garbage) == 12
        assert stored(repo) == before
        assert repo.verify().ok
        with pytest.raises(NotFoundError, match=head):
            repo.at(head)
        assert repo.at()["a"].embedding.tolist() == [1, 2]
        assert repo.gc(keep_reflog=AT_ONCE).objects == 0

    def test_a_tag_keeps_its_commit(self, repo: Repository):
        repo.create_branch("trial")
        repo.put("a", 1, branch="trial")
        repo.create_tag("v1", revision="trial")
        repo.delete_branch("trial")
        repo.gc(keep_reflog=AT_ONCE)
        assert repo.at("v1")["a"].content == 1
        repo.delete_tag("v1")
        repo.gc(keep_reflog=AT_ONCE)
        with pytest.raises(NotFoundError):
            repo.at("v1")

    def test_the_first_commit_stays_without_any_ref(self, repo: Repository):
        repo.put("a", 1)
        first = repo.resolve("main~1").id
        repo.delete_branch("main")
        repo.gc(keep_reflog=AT_ONCE)
        assert len(stored(repo)) == 2
        repo.create_branch("main", revision=first)
        repo.put("a", 2)
        assert repo.verify().ok

    def test_blame_and_history_of_what_was_put_back_from_collected_commits(self, repo: Repository):
        repo.put("other", 0)
        repo.create_branch("trial")
        written = repo.put("a", 1, branch="trial", author="ann")
        block = next(iter(repo.blocks.node(written.tree_cid).links))
        Transaction(repo._writer, "main", author="bob", changes={"a": block}).commit()
        repo.delete_branch("trial")
        repo.gc(keep_reflog=AT_ONCE)
        assert repo.at()["a"].content == 1
        assert repo.blame("a").commit.author == "bob"
        assert repo.verify().ok

    def test_a_transaction_puts_back_what_is_collected_before_it_lands(self, repo: Repository):
        repo.create_branch("trial")
        written = repo.put("a", {"kept": True}, branch="trial", embedding=[3, 4])
        block = next(iter(repo.blocks.node(written.tree_cid).links))
        repo.delete_branch("trial")
        tx = Transaction(repo._writer, "main", changes={"a": block})
        put_back = repo.blocks.read
        write = repo.blocks.engine.write

        def collect_then_write(objects, update=None):
            repo.blocks.engine.write = write
            assert repo.gc(keep_reflog=AT_ONCE).objects == 4
            write(objects, update)

        repo.blocks.engine.write = collect_then_write
        tx.commit()
        assert put_back([block])
        assert repo.at()["a"].embedding.tolist() == [3, 4]
        assert repo.verify().ok

    def test_no_branch_is_made_at_a_commit_that_was_collected_meanwhile(self, repo: Repository):
        head = abandon(repo)
        assert repo.resolve(head).id == head
        with (
            mnemosyne_vcs.open(repo.url)
            if repo.url.startswith("sqlite")
            else Repository(repo.blocks.engine) as other
        ):
            other.gc(keep_reflog=AT_ONCE)
        assert repo.resolve(head).id == head, "still decoded here"
        for create in (repo.create_branch, repo.create_tag):
            with pytest.raises(NotFoundError, match=head):
                create("again", revision=head)
        assert repo.branches().keys() == {"main"}

    def test_a_transaction_on_a_branch_that_was_made_again_begins_again(self, repo: Repository):
        repo.create_branch("trial")
        repo.put("a", 1, branch="trial", embedding=[1, 2])
        base = repo.branches()["trial"]
        runs: list[str] = []

        def write(tx: mnemosyne_vcs.Transaction) -> None:
            runs.append(tx.base.id)
            tx.put("a", len(runs), embedding=[1, 2])
            tx.put("b", 1, embedding=[1, 2])
            if len(runs) == 1:
                repo.delete_branch("trial")
                repo.create_branch("trial", revision="main")
                repo.gc(keep_reflog=AT_ONCE)

        commit = repo.transact(write, "trial")
        assert runs == [base, repo.branches()["main"]]
        assert commit.parents == (runs[1],)
        assert repo.at("trial")["a"].embedding.tolist() == [1, 2]
        assert repo.verify().ok

    def test_a_commit_that_was_collected_meanwhile_is_not_merged(self, repo: Repository):
        repo.put("a", 1)
        repo.create_branch("trial")
        repo.put("b", 1, branch="trial")
        head = repo.undo(branch="trial").id
        repo.delete_branch("trial")
        assert list(repo.diff("main", head)) == []
        assert next(repo.log(head)).id == head
        Repository(repo.blocks.engine).gc(keep_reflog=AT_ONCE)
        before = repo.branches()
        with pytest.raises(NotFoundError, match="missing"):
            repo.merge(head)
        assert repo.branches() == before
        assert repo.verify().ok

    @pytest.mark.parametrize("act", ["restore", "cherry_pick"])
    def test_what_is_taken_from_a_commit_outlives_it(self, repo: Repository, act: str):
        repo.put("a", {"x": 1, "y": 1}, embedding=[1, 2])
        repo.create_branch("trial")
        repo.put("a", {"x": 2, "y": 1}, branch="trial", embedding=[3, 4])
        head = repo.put("b", 1, branch="trial", embedding=[5, 6]).id
        repo.put("a", {"x": 1, "y": 2}, embedding=[1, 2])
        repo.delete_branch("trial")
        engine = repo.blocks.engine
        write = engine.write

        def collect_then_write(objects, update=None):
            engine.write = write
            assert repo.gc(keep_reflog=AT_ONCE).objects > 0
            write(objects, update)

        engine.write = collect_then_write
        if act == "restore":
            repo.restore(source=head)
            assert repo.at()["b"].embedding.tolist() == [5, 6]
            assert repo.at()["a"].embedding.tolist() == [3, 4]
        else:
            repo.cherry_pick(f"{head}~1")
            assert repo.at()["a"].content == {"x": 2, "y": 2}
            assert repo.at()["a"].embedding.tolist() == [3, 4]
        assert engine.write == write
        assert repo.verify().ok

    def test_a_branch_made_at_a_lost_commit_while_it_runs_keeps_it(self, repo: Repository):
        head = abandon(repo)
        engine = repo.blocks.engine
        exclusive = engine.exclusive

        def late():
            engine.exclusive = exclusive
            repo.create_branch("again", revision=head)
            return exclusive()

        engine.exclusive = late
        assert repo.gc(keep_reflog=AT_ONCE).objects == 0
        assert repo.at("again")["trial/2"].embedding.tolist() == [1, 2]
        assert repo.verify().ok

    def test_what_is_stored_while_it_runs_is_kept_with_all_that_it_leads_to(self, repo: Repository):
        head = parse_id(abandon(repo))
        garbage = stored(repo)
        engine = repo.blocks.engine
        block = engine.read([head])[head]
        ids, reads = engine.ids, iter(["before", "after"])

        def listed(prefix=b""):
            found = list(ids(prefix))
            if next(reads) == "before":
                engine.write({newer: data})
            return iter(found)

        data = block.replace(b"trial/2", b"trial/9")
        assert data != block
        newer = object_id(data)
        engine.ids = listed
        report = repo.gc(keep_reflog=AT_ONCE)
        assert report.objects == 4 - 3
        assert set(ids()) == garbage - {head} | {newer}

    def test_threads_that_write_restore_and_branch_beside_it(self, repo: Repository):
        repo.put("total", 0)

        def write(name: str) -> None:
            for i in range(25):
                repo.put(f"{name}/{i}", i, embedding=[1.0, i], author=name)
                abandoned = f"{name}-{i}"
                repo.create_branch(abandoned)
                repo.put(f"{name}/lost", i, branch=abandoned, embedding=[2.0, i])
                repo.undo(branch=abandoned)
                repo.delete_branch(abandoned)
                with repo.transaction(trailers={"Save-Id": abandoned}) as tx:
                    tx.put(f"{name}/back", i)
                repo.undo(trailer=("Save-Id", abandoned))

        collect = partial(repo.gc, keep_reflog=AT_ONCE)
        race([partial(write, f"w{i}") for i in range(3)], [collect, collect])
        repo.gc(keep_reflog=AT_ONCE)
        now = repo.at()
        assert {f"w{i}/{j}" for i in range(3) for j in range(25)} <= set(now)
        assert all(
            now[f"w{i}/{j}"].embedding.tolist() == [1.0, j] for i in range(3) for j in range(25)
        )
        assert repo.verify().ok
        assert repo.branches().keys() == {"main"}

    def test_processes_write_while_collectors_are_killed(
        self, counted_url: str, opened: Callable[..., Repository], start: Callable[..., Child]
    ):
        repo = opened(counted_url)
        kept = abandon(repo, "kept")
        repo.create_tag("kept", revision=kept)
        writers = [start("save", counted_url, f"w{i}", 60) for i in range(2)]
        go(writers)
        removed = 0
        for round_ in range(5):
            for i in range(10):
                abandon(repo, f"trial-{round_}-{i}")
            collector = start("collect", counted_url, "gc", 1000)
            go([collector])
            for _ in range(round_):
                removed += int(collector.line())
            collector.kill()
            assert repo.at("kept")["kept/2"].content == 2
        acknowledged = [line.split() for child in writers for line in child.finish()]
        assert len(acknowledged) == 120
        repo.gc(keep_reflog=AT_ONCE)
        assert removed > 0
        now = repo.at()
        assert {key for key, _ in acknowledged} <= set(now)
        assert now["total"].content == 120
        assert {commit.id for commit in repo.log()} >= {commit for _, commit in acknowledged}
        assert repo.verify().ok
        assert repo.gc(keep_reflog=AT_ONCE).objects == 0

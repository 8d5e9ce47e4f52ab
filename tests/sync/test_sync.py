"""Clone, fetch, push and pull: both sides agree, and nobody is overwritten."""

import re
from datetime import timedelta
from itertools import count
from pathlib import Path
from threading import Barrier, Thread

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import (
    AlreadyExistsError,
    ConflictError,
    EngineError,
    NotFoundError,
    ReadOnlyError,
    RefConflictError,
    Repository,
    ValidationError,
)
from mnemosyne_vcs.cli.app import mnem as app
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.shared import without_password
from mnemosyne_vcs.testing._peers import Disturbed, fresh
from peers import Plain, Watched, assert_complete, filled, refs

KEYS = ["a", "b/1", "b/2", "c"]


@pytest.fixture(params=["memory", "sqlite"])
def other_url(request, tmp_path):
    return "memory://" if request.param == "memory" else str(tmp_path / "other.mnem")


step = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(KEYS), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("delete"), st.sampled_from(KEYS)),
    st.tuples(st.just("branch"), st.sampled_from(["x", "y"])),
    st.tuples(st.just("merge"), st.sampled_from(["x", "y"])),
    st.tuples(st.just("undo")),
    st.tuples(st.just("tag")),
)


def act(repo, steps, names):
    for kind, *arguments in steps:
        if kind == "put":
            key, value, vector = arguments
            branch = sorted(repo.branches())[value % len(repo.branches())]
            repo.put(key, value, embedding=[value, 1] if vector else None, branch=branch)
        elif kind == "delete" and arguments[0] in repo.at():
            repo.delete(arguments[0])
        elif kind == "branch" and arguments[0] not in repo.branches():
            repo.create_branch(arguments[0])
        elif kind == "merge" and arguments[0] in repo.branches():
            repo.merge(arguments[0], on_conflict="ours")
        elif kind == "undo" and next(repo.log(), None):
            repo.undo()
        elif kind == "tag":
            repo.create_tag(f"t{next(names)}")


class TestBothSidesAgree:
    @given(st.lists(step, max_size=12), st.lists(step, max_size=12))
    @settings(max_examples=40)
    def test_whatever_was_done(self, first, later):
        repo, names = fresh(), count()
        act(repo, first, names)
        copy = mnemosyne_vcs.clone(repo, "memory://")
        assert refs(copy) == refs(repo)
        assert copy.verify().ok

        act(repo, later, names)
        watched = Watched(copy.blocks.engine)
        fetched = Repository(watched).fetch(repo)
        assert fetched.branches == repo.branches()
        assert copy.tags() == repo.tags()
        assert not watched.again
        assert len(watched.new) == fetched.objects
        for name, head in repo.branches().items():
            copy.create_branch(f"their/{name}", revision=head)
            assert dict(copy.at(head)) == dict(repo.at(name))
            assert list(copy.log(head)) == list(repo.log(name))
            for key in repo.at(name):
                assert [b.commit for b in copy.history(key, head)] == [
                    b.commit for b in repo.history(key, name)
                ]
        assert copy.verify().ok

    def test_a_store_without_commits_of_its_own(self):
        repo = mnemosyne_vcs.clone(fresh(), "memory://")
        assert repo.branches() == fresh().branches()
        empty = mnemosyne_vcs.clone(Repository(MemoryEngine()), "memory://")
        assert empty.branches() == fresh().branches()


class TestBetweenStores:
    def test_each_has_what_the_other_has(self, url, other_url):
        with mnemosyne_vcs.open(url, create=True) as repo:
            repo.pull(first := filled())
            with mnemosyne_vcs.clone(repo, other_url, author="reader") as copy:
                assert refs(copy) == refs(repo)
                assert copy.at()["k/001"] == first.at()["k/001"]
                assert copy.author == "reader"
                assert copy.verify().ok
                copy.put("new", 1, embedding=[1, 2])
                assert copy.push(repo).commits == 1
                assert repo.at()["new"].vectors[""].tolist() == [1, 2]
                assert repo.branches() == copy.branches()
                assert repo.blame("new").commit.author == "reader"
                assert next(repo.reflog()).message == f"push from {copy.url}"

    def test_of_two_pushes_at_once_one_lands(self, shared_url):
        with mnemosyne_vcs.clone(filled(), shared_url) as shared:
            clones = [
                mnemosyne_vcs.clone(shared_url, "memory://", author=name) for name in ("one", "two")
            ]
            for copy in clones:
                copy.put(f"by/{copy.author}", 1)
            start, refused, landed = Barrier(2), [], []

            def push(copy):
                start.wait(60)
                try:
                    copy.push()
                    landed.append(copy)
                except RefConflictError:
                    refused.append(copy)

            threads = [Thread(target=push, args=(copy,)) for copy in clones]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert len(landed) == len(refused) == 1
            assert shared.branches()["main"] == landed[0].branches()["main"]
            refused[0].pull()
            refused[0].push()
            assert {"by/one", "by/two"} <= set(shared.at())
            assert shared.verify().ok

    def test_a_store_for_reading_takes_nothing(self, shared_url):
        repo = filled()
        mnemosyne_vcs.clone(repo, shared_url).close()
        with mnemosyne_vcs.open(shared_url, read_only=True) as target:
            with pytest.raises(ReadOnlyError):
                repo.push(target)
            with pytest.raises(ReadOnlyError):
                target.pull(repo)

    def test_a_clone_into_a_repository_is_refused(self, shared_url):
        with mnemosyne_vcs.open(shared_url, create=True) as there:
            there.put("mine", 1)
            with pytest.raises(AlreadyExistsError, match=re.escape(there.url)):
                mnemosyne_vcs.clone(filled(), shared_url)
            assert list(there.at()) == ["mine"]


class TestPush:
    def test_what_is_no_fast_forward_is_refused(self):
        repo = filled()
        ours, theirs = (
            mnemosyne_vcs.clone(repo, "memory://"),
            mnemosyne_vcs.clone(repo, "memory://"),
        )
        ours.put("ours", 1)
        theirs.put("theirs", 1)
        ours.push(repo)
        before = refs(repo)
        with pytest.raises(RefConflictError, match=r"'main'.*pull first"):
            theirs.push(repo)
        assert refs(repo) == before
        merged = theirs.pull(repo)
        assert len(merged.parents) == 2
        theirs.push(repo)
        assert {"ours", "theirs"} <= set(repo.at())
        assert ours.pull(repo) == merged

    def test_a_branch_that_moves_while_objects_travel(self):
        repo = filled()
        engine = MemoryEngine()
        target = fresh(engine)
        disturbed = Disturbed(engine, lambda: target.put("mine", 1), {3})
        with pytest.raises(RefConflictError, match="pull"):
            repo.push(Repository(disturbed))
        assert list(target.at()) == ["mine"]
        assert_complete(engine)

    def test_a_new_branch_and_tags_that_fit(self):
        repo, target = filled(), fresh()
        repo.put("elsewhere", 1, branch="side")
        repo.create_tag("elsewhere", revision="side")
        pushed = repo.push(target, "main")
        assert target.tags().keys() == pushed.tags.keys() == {"v1"}
        assert repo.push(target, "side").branches == {"side": repo.branches()["side"]}
        assert target.tags() == repo.tags()
        with pytest.raises(NotFoundError, match="none"):
            repo.push(target, "none")

    def test_a_tag_that_names_something_else(self):
        repo, target = filled(), fresh()
        target.create_tag("v1")
        with pytest.raises(ConflictError, match=r"'v1'.*delete one of them"):
            repo.push(target)
        assert refs(target) == (fresh().branches(), {"v1": fresh().resolve().id})


class TestPull:
    def test_it_moves_on_if_it_can(self):
        repo = filled()
        copy = mnemosyne_vcs.clone(repo, "memory://")
        assert copy.pull(repo) == repo.resolve()
        repo.put("new", 1)
        assert copy.pull(repo) == repo.resolve()
        copy.put("mine", 1)
        assert copy.pull(repo) == copy.resolve()
        assert copy.resolve().message == "put mine"

    def test_conflicts_are_settled_as_in_a_merge(self):
        repo = filled()
        copy = mnemosyne_vcs.clone(repo, "memory://", author="me")
        repo.put("k/005", {"n": "theirs"})
        copy.put("k/005", {"n": "ours"})
        with pytest.raises(ConflictError) as caught:
            copy.pull(repo)
        assert [conflict.key for conflict in caught.value.conflicts] == ["k/005"]
        assert copy.resolve().message == "put k/005"
        merged = copy.pull(repo, resolutions={"k/005": "theirs"}, trailers={"Run-Id": "7"})
        assert copy.at()["k/005"].content == {"n": "theirs"}
        assert (merged.author, merged.trailers["Run-Id"]) == ("me", "7")
        assert merged.message == "merge main of memory:// into main"

    def test_into_another_branch(self):
        copy = fresh()
        assert copy.pull(filled(), "side", into="theirs").id == copy.branches()["theirs"]
        assert copy.branches().keys() == {"main", "theirs"}

    def test_what_has_nothing_in_common_is_refused_unless_it_is_asked_for(self):
        ours, theirs = filled(), fresh()
        theirs.put("theirs", 1)
        before = refs(ours)
        for pull in (ours.pull, ours.plan_pull):
            with pytest.raises(ValidationError, match=r"nothing in common.*allow_unrelated"):
                pull(theirs)
        assert refs(ours) == before
        assert len(ours.pull(theirs, allow_unrelated=True).parents) == 2
        assert "theirs" in ours.at()
        theirs.put("theirs", 2)
        assert len(ours.pull(theirs).parents) == 2

    def test_an_empty_side_is_related_to_everything(self):
        ours, theirs = fresh(), filled()
        assert theirs.pull(ours) == theirs.resolve()
        assert ours.pull(theirs) == theirs.resolve()

    def test_a_plan_moves_no_branch(self):
        repo = filled()
        copy = mnemosyne_vcs.clone(repo, "memory://")
        copy.put("mine", 1)
        repo.put("k/005", "new")
        before = copy.branches()
        plan = copy.plan_pull(repo)
        assert [change.key for change in plan.changes] == ["k/005"]
        assert (plan.kind, plan.head.id, plan.commits) == (
            "merge",
            before["main"],
            (repo.resolve(),),
        )
        made = copy.plan_pull(repo, into="theirs")
        assert (made.kind, len(made.changes)) == ("new-branch", len(repo.at()))
        assert copy.branches() == before
        assert made.apply() == repo.resolve() == copy.resolve("theirs")
        assert plan.apply().parents == (before["main"], repo.resolve().id)


class TestRemotes:
    @pytest.fixture
    def origin(self, shared_url):
        with mnemosyne_vcs.clone(filled(), shared_url) as origin:
            yield origin

    @pytest.fixture
    def copy(self, origin, other_url):
        with mnemosyne_vcs.clone(origin.url, other_url, author="copier") as copy:
            yield copy

    def test_a_clone_remembers_where_it_came_from(self, origin, copy):
        assert copy.remotes() == {"origin": origin.url}
        assert copy.remote_branches() == origin.branches()
        assert copy.resolve("origin/main~1") == origin.resolve("main~1")
        assert origin.remotes() == {}

    def test_fetch_notes_and_pull_moves(self, origin, copy):
        old = origin.resolve()
        origin.put("new", 1)
        assert copy.fetch().branches == origin.branches()
        assert copy.resolve("origin/main") == origin.resolve()
        assert copy.resolve("origin/main@{1}") == old
        assert copy.resolve() == old
        copy.pull()
        assert copy.resolve() == origin.resolve()
        origin.put("theirs", 1)
        copy.put("mine", 1)
        assert copy.pull().message == "merge origin/main into main"
        copy.push()
        assert origin.resolve() == copy.resolve("origin/main") == copy.resolve()

    def test_branches_that_are_gone_are_forgotten_when_asked(self, origin, copy):
        origin.create_branch("trial")
        origin.create_branch("kept")
        assert copy.fetch().branches.keys() == copy.remote_branches().keys() >= {"trial", "kept"}
        origin.delete_branch("trial")
        assert copy.fetch().pruned == ()
        assert copy.fetch(branches=["main"], prune=True).pruned == ()
        assert "trial" in copy.remote_branches()
        assert copy.fetch(prune=True).pruned == ("trial",)
        assert copy.remote_branches() == origin.branches()
        assert copy.fetch(prune=True).pruned == ()

    def test_what_a_remote_names_is_no_garbage(self, origin, copy):
        origin.put("new", 1)
        copy.fetch()
        copy.gc(keep_reflog=timedelta(0))
        assert dict(copy.at("origin/main")) == dict(origin.at())
        assert copy.verify().ok

    def test_naming_and_forgetting(self, origin, copy, tmp_path):
        kept = copy.add_remote("backup", tmp_path / "backup.mnem")
        assert kept == f"sqlite:///{tmp_path}/backup.mnem"
        assert copy.remotes() == {"backup": kept, "origin": origin.url}
        with pytest.raises(AlreadyExistsError, match="'backup'"):
            copy.add_remote("backup", "elsewhere.mnem")
        with pytest.raises(NotFoundError, match=r"backup\.mnem"):
            copy.fetch("backup")
        copy.remove_remote("origin")
        assert copy.remotes().keys() == {"backup"}
        assert copy.remote_branches() == {}
        with pytest.raises(NotFoundError, match="'origin'"):
            copy.remove_remote("origin")
        with pytest.raises(NotFoundError, match=r"no remote 'origin'.*no store"):
            copy.fetch()

    def test_an_open_store_for_reading_keeps_none(self, origin):
        with mnemosyne_vcs.open(origin.url, read_only=True) as reader:
            assert reader.remotes() == {}
            with pytest.raises(ReadOnlyError):
                reader.add_remote("a", "x.mnem")

    def test_progress_is_told(self, origin):
        seen = []
        fresh().fetch(origin, progress=seen.append)
        assert seen == sorted(seen)
        assert seen[-1] > 60


class TestByMnem:
    def test_it_carries_memory_there_and_back(self, new_url, other_url):
        url = new_url()
        if "memory://" in (url, other_url):
            pytest.skip("a store in memory is gone after a command")

        def mnem(*arguments):
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, result.output
            return result.output

        mnem("-s", url, "init")
        mnem("-s", url, "put", "theirs", "1")
        mnem("clone", url, other_url)
        assert mnem("-s", other_url, "remote").split()[0] == "origin"
        mnem("-s", other_url, "put", "ours", "2")
        assert "1 commit" in mnem("-s", other_url, "push")
        mnem("-s", url, "put", "later", "3")
        mnem("-s", other_url, "pull")
        assert mnem("-s", other_url, "ls") == mnem("-s", url, "ls")
        assert mnem("-s", other_url, "log") == mnem("-s", url, "log")
        assert "all sound" in mnem("-s", other_url, "verify")


class TestWhatIsNoRemote:
    @pytest.mark.parametrize(
        ("name", "url"), [("a/b", "x.mnem"), ("", "x.mnem"), ("a", "memory://"), ("a", "what://x")]
    )
    def test_what_is_no_remote(self, name, url):
        with pytest.raises(ValidationError):
            fresh().add_remote(name, url)

    @pytest.mark.parametrize(
        ("url", "kept"),
        [
            ("postgresql://me:secret@h:1,i:2/db?x=1", "postgresql://me@h:1,i:2/db?x=1"),
            ("postgresql://me:s:e@c@h/db", "postgresql://me@h/db"),
            ("postgresql://me@h/db?password=secret&x=1", "postgresql://me@h/db?x=1"),
            ("postgresql://me@h/db?x=1&password=secret", "postgresql://me@h/db?x=1"),
            ("postgresql://h/db?password=secret", "postgresql://h/db"),
            ("sqlite:////a:b@c/d.mnem", "sqlite:////a:b@c/d.mnem"),
        ],
    )
    def test_passwords_are_not_kept(self, url, kept):
        assert without_password(url) == kept

    def test_an_engine_that_can_do_nothing_more(self):
        repo, plain = filled(), Repository(Plain())
        repo.push(plain)
        assert dict(plain.at()) == dict(repo.at())
        assert plain.remotes() == {}
        with pytest.raises(EngineError, match="give the URL"):
            plain.add_remote("a", "x.mnem")


class TestClone:
    def test_a_name_that_is_none_makes_nothing(self, tmp_path):
        with pytest.raises(ValidationError, match="remote"):
            mnemosyne_vcs.clone(filled(), tmp_path / "copy.mnem", remote="a/b")
        assert list(Path(tmp_path).iterdir()) == []

    def test_from_nothing_makes_nothing(self, tmp_path):
        with pytest.raises(NotFoundError, match=r"none\.mnem"):
            mnemosyne_vcs.clone(tmp_path / "none.mnem", tmp_path / "copy.mnem")
        assert list(Path(tmp_path).iterdir()) == []

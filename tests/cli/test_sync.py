"""`mnem clone`, `fetch`, `pull`, `push`, `remote` and `bundle`."""

import json

import pytest

import mnemosyne_vcs
from conversation import converse
from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.app import mnem as app
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.refs import ROOT_COMMIT
from mnemosyne_vcs.tree import EMPTY_ROOT

from .conftest import NOTE, PLAN


@pytest.fixture
def copy(mnem, store, here):
    """A clone of the store, in the directory to be in."""
    mnem("clone", str(store.path), "copy.mnem")
    return here / "copy.mnem"


def head(path, branch="main"):
    with mnemosyne_vcs.open(path, read_only=True) as repo:
        return repo.branches()[branch]


class TestClone:
    def test_it_has_all_and_knows_where_from(self, mnem, store, copy):
        assert head(copy) == store.poisoned
        assert head(copy, "what-if") == head(store.path, "what-if")
        assert mnem("remote", "--json").json["url"] == f"sqlite:///{store.path}"
        assert mnem("verify", "--json").json["ok"]
        assert PLAN in mnem("blame", PLAN).stdout

    def test_what_it_prints(self, mnem, store, here):
        ran = mnem("clone", str(store.path))
        assert ran.lines[0] == f"copied {store.path} to memory.mnem"
        assert [line.split()[:2] for line in ran.lines[1:]] == [
            ["branch", "main"],
            ["branch", "what-if"],
        ]
        shown = mnem("clone", str(store.path), "b.mnem", "--only", "main", "--json").json
        assert shown["branches"] == {"main": store.poisoned}
        assert shown["url"] == f"sqlite:///{here}/b.mnem"

    def test_refusals(self, mnem, store, copy):
        assert "holds a repository" in mnem("clone", str(store.path), "copy.mnem", code=11).stderr
        assert "none.mnem" in mnem("clone", "none.mnem", "new.mnem", code=3).stderr
        assert "lost at once" in mnem("clone", str(store.path), "memory://", code=5).stderr
        assert not (copy.parent / "new.mnem").exists()


class TestKeepingUp:
    def test_there_and_back(self, mnem, store, copy):
        mnem("put", "mine", "1")
        pushed = mnem("push")
        assert pushed.lines[0].startswith(f"pushed to sqlite:///{store.path}: 1 commit, ")
        assert head(store.path) == head(copy)

        mnem("-s", str(store.path), "put", "theirs", "1")
        fetched = mnem("fetch", "--json").json
        assert (fetched["remote"], fetched["commits"]) == ("origin", 1)
        assert fetched["branches"]["main"] == head(store.path)
        assert mnem("show", "origin/main", "--json").json["id"] == head(store.path)
        assert head(copy) != head(store.path)

        assert mnem("pull", "--json").json["id"] == head(copy) == head(store.path)
        assert mnem("pull").lines == ["nothing new: main has every commit of origin/main"]

    def test_fetch_forgets_what_is_gone(self, mnem, store, copy):
        mnem("-s", str(store.path), "branch", "trial")
        mnem("fetch")
        mnem("-s", str(store.path), "branch", "--delete", "trial", "--yes")
        assert not any("forgot" in line for line in mnem("fetch").lines)
        assert mnem("fetch", "--prune").lines[-1] == "forgot origin/trial, which is gone there"
        assert "--only" in mnem("fetch", "--prune", "--only", "main", code=2).stderr

    def test_a_clone_of_a_branch_that_is_not_there_leaves_nothing(self, mnem, store, tmp_path):
        target = tmp_path / "new.mnem"
        args = ("clone", str(store.path), str(target), "--only", "nowhere")
        assert "no branch 'nowhere'" in mnem(*args, code=3).stderr
        assert not target.exists()

    def test_a_push_that_is_behind_says_what_to_do(self, mnem, store, copy):
        mnem("-s", str(store.path), "put", "theirs", "1")
        mnem("put", "mine", "1")
        before = head(store.path)
        assert "pull first, then push again" in mnem("push", code=4).stderr
        assert mnem("push", "--json", code=4).error["kind"] == "ref-conflict"
        assert head(store.path) == before
        assert mnem("pull", "--json").json["message"] == "merge origin/main into main"
        mnem("push")
        assert head(store.path) == head(copy)

    @pytest.fixture
    def apart(self, mnem, store, copy):
        mnem("-s", str(store.path), "put", NOTE, '{"content": "theirs"}')
        mnem("put", NOTE, '{"content": "ours"}')
        return head(copy)

    def test_conflicts_are_shown_and_settled(self, mnem, copy, apart):
        ran = mnem("pull", code=4)
        assert "theirs, origin/main:" in ran.stderr
        assert f"--resolve {NOTE}=theirs" in ran.stderr
        assert head(copy) == apart
        mnem("pull", "--resolve", f"{NOTE}=theirs", "-m", "settle it")
        shown = mnem("show", "main", "--json").json
        assert (shown["message"], len(shown["parents"])) == ("settle it", 2)
        with mnemosyne_vcs.open(copy, read_only=True) as repo:
            assert repo.at()[NOTE].content["content"] == "theirs"

    def test_conflicts_are_asked_about_on_a_terminal(self, copy, apart):
        said, code = converse(["ours"], "pull", "-s", str(copy))
        assert code == 0, said
        assert "settled" in said
        assert head(copy) != apart

    def test_branches_and_stores_without_a_name(self, mnem, store, copy):
        mnem("-b", "what-if", "put", "n", "1")
        mnem("push", "origin", "what-if")
        assert head(store.path, "what-if") == head(copy, "what-if")
        mnem("-s", "new.mnem", "init", "new.mnem")
        ran = mnem("-s", "new.mnem", "-b", "trial", "pull", str(copy), "what-if")
        assert "put n" in ran.stdout
        assert head(copy.parent / "new.mnem", "trial") == head(copy, "what-if")
        fetched = mnem("-s", "new.mnem", "fetch", str(copy), "--only", "main")
        assert fetched.lines[1].split()[:4] == ["branch", "main", "of", f"sqlite:///{copy}"]

    def test_a_wrong_store_is_not_merged_unasked(self, mnem, store, copy):
        mnem("init", "wrong.mnem")
        mnem("-s", "wrong.mnem", "put", "theirs", "1")
        before = head(copy)
        for more in ((), ("--dry-run",)):
            ran = mnem("pull", "wrong.mnem", *more, "-s", str(copy), code=5)
            assert "nothing in common" in ran.stderr and "--allow-unrelated" in ran.stderr
        assert head(copy) == before
        mnem("pull", "wrong.mnem", "--allow-unrelated", "-s", str(copy))
        assert mnem("show", "theirs", "-s", str(copy)).stdout

    def test_a_pull_can_be_tried(self, mnem, store, copy, apart):
        assert "nothing was written" in mnem("pull", "--dry-run", code=4).stderr
        plan = mnem("pull", "--dry-run", "--on-conflict", "theirs", "--json").json
        assert [change["key"] for change in plan["changes"]] == [NOTE]
        assert head(copy) == apart
        made = mnem("-b", "new", "pull", "origin", "what-if", "--dry-run")
        assert "branch new would be created at" in made.stdout
        tried = mnem("-b", "new", "pull", "origin", "what-if", "--dry-run", "--json").json
        assert tried["theirs"]["id"] == head(store.path, "what-if")
        with mnemosyne_vcs.open(copy, read_only=True) as repo:
            assert "new" not in repo.branches()

    def test_what_is_not_there(self, mnem, store, copy):
        assert "no remote 'elsewhere'" in mnem("fetch", "elsewhere", code=3).stderr
        assert "'none'" in mnem("pull", "origin", "none", code=3).stderr
        assert "'none'" in mnem("push", "origin", "none", code=3).stderr


class TestRemote:
    def test_naming_listing_and_forgetting(self, mnem, copy):
        assert "backup" in mnem("remote", "backup", "backup.mnem").stdout
        listed = {line["name"]: line["url"] for line in mnem("remote", "--json").jsonl}
        assert listed.keys() == {"backup", "origin"}
        assert listed["backup"] == f"sqlite:///{copy.parent}/backup.mnem"
        assert [line.split()[0] for line in mnem("remote").lines] == ["backup", "origin"]
        mnem("remote", "backup", "again.mnem", code=11)
        assert mnem("remote", "-d", "backup").lines == ["forgot the remote backup"]
        mnem("remote", "-d", "backup", code=3)
        assert mnem("remote", "-d", "origin", "--json").json == {"name": "origin", "url": None}
        assert "no remotes" in mnem("remote").stderr
        mnem("show", "origin/main", code=3)

    @pytest.mark.parametrize(
        "arguments", [["name"], ["-d"], ["-d", "name", "x.mnem"], ["a/b", "x.mnem"]]
    )
    def test_refusals(self, mnem, copy, arguments):
        mnem("remote", *arguments, code=5 if "a/b" in arguments else 2)

    def test_completion(self, copy, monkeypatch):
        import click

        from mnemosyne_vcs.cli.session import Session

        context = click.Context(app, obj=Session(url=str(copy)))
        argument = click.Argument(["remote"])
        assert [item.value for item in completion.remotes(context, argument, "o")] == ["origin"]
        found = [item.value for item in completion.revisions(context, argument, "origin/")]
        assert found == ["origin/main", "origin/what-if"]


class TestBundle:
    def test_it_is_checked_without_a_store(self, mnem, store, here):
        mnem("-s", str(store.path), "export", "all.car")
        ran = mnem("bundle", "all.car")
        assert ran.lines[0].startswith("checked all.car: ")
        assert mnem("bundle", "all.car", "--json").json["branches"]["main"] == store.poisoned
        data = bytearray((here / "all.car").read_bytes())
        data[-1] ^= 1
        (here / "bad.car").write_bytes(data)
        assert "bad.car is damaged" in mnem("bundle", "bad.car", code=6).stderr
        mnem("bundle", "none.car", code=3)
        (here / "x.json").write_text(json.dumps({}))
        mnem("bundle", "x.json", code=5)


class TestIncompleteStores:
    @pytest.fixture
    def half(self, store, tmp_path):
        """A clone that broke off after the first commit."""
        path = tmp_path / "half" / "half.mnem"
        path.parent.mkdir()
        with mnemosyne_vcs.open(store.path) as source:
            sent = source.blocks.read([EMPTY_ROOT, ROOT_COMMIT.cid])
        open_engine(path, create=True).write(sent)
        return path

    def test_a_half_clone_is_not_sound(self, mnem, half):
        said = mnem("verify", "-s", str(half), code=6).stdout
        assert "incomplete" in said
        assert "run the same clone again" in said
        stats = mnem("stats", "-s", str(half), "--json").json
        assert (stats["branches"], stats["commits"]) == (0, 0)
        assert "there is already a store" in mnem("init", str(half), code=11).stderr

    def test_the_same_clone_goes_on(self, mnem, store, half):
        mnem("clone", str(store.path), str(half))
        assert "all sound" in mnem("verify", "-s", str(half)).stdout

    def test_an_empty_file(self, mnem, tmp_path):
        path = tmp_path / "a.mnem"
        path.touch()
        assert "empty file" in mnem("verify", "-s", str(path), code=6).stderr
        mnem("init", str(path))
        assert "all sound" in mnem("verify", "-s", str(path)).stdout

    def test_empty_files_are_not_taken_for_stores(self, mnem, store, tmp_path):
        (store.path.parent / "aborted.mnem").touch()
        assert mnem("status", "--json").json

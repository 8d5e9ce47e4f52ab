"""Which store and branch `mnem` works on, and how it fails."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import errors
from mnemosyne_vcs.cli.failures import EXIT_CODES, exit_code


def make(path):
    mnemosyne_vcs.open(path, create=True).close()


class TestStore:
    def test_init_makes_an_empty_store_here(self, mnem, here):
        assert "memory.mnem" in mnem("init").stdout

        assert (here / "memory.mnem").is_file()
        assert mnem("status", "--json").json["commits"] == 0

    def test_init_goes_where_it_is_told(self, mnem, here, monkeypatch):
        monkeypatch.setenv("MNEMOSYNE_URL", str(here / "environment.mnem"))

        for arguments in (("init",), ("init", "-s", "option.mnem"), ("init", "argument.mnem")):
            mnem(*arguments)
        made = {path.name for path in here.glob("*.mnem")}
        assert made == {"environment.mnem", "option.mnem", "argument.mnem"}

    def test_init_refuses_what_is_there(self, mnem, here):
        mnem("init", "mine.mnem")

        assert "mine.mnem" in mnem("init", "mine.mnem", code=11).stderr

    def test_init_does_not_touch_a_file_that_is_no_store(self, mnem, here):
        (here / "notes.mnem").write_text("my notes, and nothing else")

        mnem("init", "notes.mnem", code=9)
        assert (here / "notes.mnem").read_text() == "my notes, and nothing else"

    @pytest.mark.parametrize("arguments", [("init", "memory://"), ("log", "-s", "memory://")])
    def test_a_store_in_memory_would_be_of_no_use(self, mnem, arguments):
        assert "name a file" in mnem(*arguments, code=5).stderr

    def test_the_only_file_here_or_above_is_found(self, mnem, store):
        url = mnem("status", "--json").json["url"]

        assert url == f"sqlite:///{store.path}"

    def test_the_nearest_directory_with_any_counts(self, mnem, store, here):
        make(here / "nearer.mnem")

        assert mnem("status", "--json").json["url"].endswith("/nearer.mnem")

    def test_several_must_be_chosen_from(self, mnem, here):
        make(here / "one.mnem")
        make(here / "two.mnem")

        assert "one.mnem, two.mnem" in mnem("log", code=2).stderr
        assert mnem("log", "-s", "two.mnem").stdout == ""

    def test_none_says_what_to_do(self, mnem, monkeypatch):
        monkeypatch.chdir("/")

        assert "mnem init" in mnem("log", code=3).stderr

    def test_the_environment_comes_before_files(self, mnem, store, here, monkeypatch):
        make(here / "nearer.mnem")
        monkeypatch.setenv("MNEMOSYNE_URL", str(store.path))

        assert mnem("status", "--json").json["records"] == 3
        assert mnem("status", "--json", "-s", "nearer.mnem").json["records"] == 0

    def test_a_named_store_that_is_not_there_is_not_made(self, mnem, here):
        assert "nope.mnem" in mnem("log", "-s", "nope.mnem", code=3).stderr
        assert not list(here.iterdir())


class TestSharedOptions:
    def test_they_may_stand_before_or_after_the_verb(self, mnem, store):
        options = ("-s", str(store.path), "-b", "what-if", "--json")

        before, after = mnem(*options, "status"), mnem("status", *options)
        assert before.json == after.json
        assert after.json["branch"] == "what-if"
        assert after.json["records"] == 4

    def test_the_later_one_has_the_last_word(self, mnem, store):
        assert mnem("-b", "nope", "status", "-b", "main", "--json").json["branch"] == "main"

    @pytest.mark.parametrize("arguments", [("--version",), ("log", "--version")])
    def test_version(self, mnem, arguments):
        assert mnem(*arguments).stdout == f"mnem {mnemosyne_vcs.__version__}\n"

    def test_help_lists_every_verb_and_exit_code(self, mnem):
        text = mnem("--help").stdout

        for verb in ("init", "status", "log", "show", "ls", "search", "why", "undo", "verify"):
            assert f"  {verb} " in text
        for code, meaning in EXIT_CODES.items():
            assert f"{code} " in text and meaning in text


def every_error(kind=errors.MnemosyneError):
    yield kind
    for below in kind.__subclasses__():
        yield from every_error(below)


class TestFailures:
    @pytest.mark.parametrize("kind", set(every_error()), ids=lambda kind: kind.kind)
    def test_every_kind_of_error_has_an_exit_code(self, kind):
        code = exit_code(kind("as a test"))

        assert code in EXIT_CODES
        no_verb_raises = (errors.MnemosyneError, errors.TransactionDoneError)
        assert (code == 1) == (kind in no_verb_raises)

    def test_an_error_is_json_where_json_is_asked_for(self, mnem, store):
        error = mnem("log", "nope", "--json", code=3).error

        assert error["kind"] == "not-found"
        assert "'nope'" in error["message"]

    def test_so_is_a_wrong_command_line(self, mnem, store):
        assert mnem("log", "--bogus", "--json", code=2).error["kind"] == "usage"

    def test_a_branch_that_is_not_there(self, mnem, store):
        assert "nope" in mnem("status", "-b", "nope", code=3).stderr

    def test_a_revision_that_is_none(self, mnem, store):
        assert mnem("log", "main~~{", "--json", code=5).error["kind"] == "invalid-revision"

    def test_a_file_that_is_no_store(self, mnem, here):
        (here / "notes.mnem").write_text("no store " * 1000)

        assert "notes.mnem" in mnem("log", code=9).stderr

    def test_a_word_that_is_no_verb(self, mnem):
        assert "frobnicate" in mnem("frobnicate", code=2).stderr

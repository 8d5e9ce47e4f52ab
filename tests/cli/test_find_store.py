"""Which store a command works on, and `mnem init`."""

import pytest

import mnemosyne_vcs


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

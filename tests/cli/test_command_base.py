"""Options that every verb takes."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs.cli.failures import EXIT_CODES


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

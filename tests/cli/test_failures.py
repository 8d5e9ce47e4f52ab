"""Exit codes, and how errors are told."""

import pytest

from mnemosyne_vcs import errors
from mnemosyne_vcs.cli.failures import EXIT_CODES, exit_code


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

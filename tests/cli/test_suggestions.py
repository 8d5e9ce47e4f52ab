"""Words of git and of other tools, and what `mnem` says instead."""

import pytest

from mnemosyne_vcs.cli.app import SECTIONS
from mnemosyne_vcs.cli.suggestions import GIT_WORDS, OTHER_WORDS

VERBS = {verb for verbs in SECTIONS.values() for verb in verbs}


WORDS = {**GIT_WORDS, **OTHER_WORDS}


class TestWordsFromElsewhere:
    @pytest.mark.parametrize("word", sorted(WORDS.keys() - VERBS))
    def test_each_is_answered_in_one_line(self, mnem, here, word):
        ran = mnem(word, "--whatever", code=2)

        assert ran.stdout == ""
        assert len(ran.stderr.splitlines()) == 1
        assert WORDS[word] in ran.stderr

    def test_json(self, mnem, here):
        assert mnem("commit", "-m", "x", "--json", code=2).error["kind"] == "usage"

    def test_they_are_no_verbs(self, mnem, here):
        listed = {line.split()[0] for line in mnem("--help").lines if line.startswith("  ")}

        assert listed >= VERBS
        assert not listed & (WORDS.keys() - VERBS)

    @pytest.mark.parametrize("word", sorted(WORDS))
    def test_what_they_are_sent_to_exists(self, word):
        parts = WORDS[word].split("`")[1::2]
        named = {part.split()[1] for part in parts if part.startswith("mnem ")}

        assert named <= VERBS

"""`mnem completions`, and what a shell then completes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mnemosyne_vcs.ids import short_id

from .conftest import NOTE, PLAN, TEAM

MNEM = f'#!/bin/sh\nexec "{sys.executable}" -m mnemosyne_vcs "$@"\n'
TAB = """
eval "$(mnem completions bash)"
COMP_WORDS=({words})
COMP_CWORD=$(({count} - 1))
_mnem_completion mnem
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def complete(process):
    """What is offered in place of the last of some words."""

    def run(*words):
        ran = process(
            _MNEM_COMPLETE="bash_complete",
            COMP_WORDS=" ".join(["mnem", *words]),
            COMP_CWORD=str(len(words)),
        )
        assert ran.stderr == ""
        return [line.partition(",")[2] for line in ran.lines if line]

    return run


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script(process, here, shell):
    script = process("completions", shell).stdout

    assert f"_MNEM_COMPLETE={shell}_complete" in script
    assert process("completions", shell, "--json").json["script"] in script


def test_an_unknown_shell(mnem, here):
    assert "bash" in mnem("completions", "tcsh", code=2).stderr
    mnem("completions", code=2)


def test_verbs(complete, here):
    assert complete("bac") == ["backup"]
    assert "checkout" not in complete("")


@pytest.mark.parametrize("words", [("-b", ""), ("log", "-b", ""), ("branch", "-d", "")])
def test_branches(complete, store, words):
    assert complete(*words) == ["main", "what-if"]


def test_tags(complete, mnem, store):
    mnem("tag", "v1")

    assert complete("tag", "-d", "") == ["v1"]


def test_keys(complete, store):
    assert complete("why", "/crew/s") == [PLAN, TEAM]
    assert complete("rm", NOTE, "/crew/support/1111222") == [TEAM]
    assert complete("ls", "-b", "what-if", "n") == ["notes:1/x"]


def test_commits(complete, store):
    short, whole = short_id(store.learned), store.learned

    assert complete("diff", "") == ["main", "what-if", short_id(store.poisoned), short]
    assert complete("diff", "main", short[:4]) == [short]
    assert complete("diff", whole[:12]) == [whole]
    assert complete("show", short[:4]) == [short]


def test_the_store_that_is_named_counts(complete, store, tmp_path):
    (tmp_path / "second.mnem").write_bytes(b"another store")

    assert complete("why", "/crew/s") == []
    assert complete("-s", str(store.path), "why", "/crew/s") == [PLAN, TEAM]


def test_without_a_store_nothing_is_offered(complete, here):
    assert complete("why", "x") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    "words, offered", [(("why", "/crew/3"), [NOTE]), (("tag", "x", "what"), ["what-if"])]
)
def test_in_bash(store, here, words, offered):
    command = here / "bin" / "mnem"
    command.parent.mkdir()
    command.write_text(MNEM)
    command.chmod(0o755)
    script = TAB.format(words=" ".join(["mnem", *words]), count=len(words) + 1)
    done = subprocess.run(
        [str(shutil.which("bash")), "--norc", "-c", script],
        capture_output=True, text=True, check=True, cwd=Path.cwd(),
        env={"PATH": f"{command.parent}:/usr/bin:/bin"},
    )  # fmt: skip

    assert done.stdout.splitlines() == offered
    assert done.stderr == ""

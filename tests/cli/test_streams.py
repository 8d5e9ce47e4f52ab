"""`mnem` where stdin, stdout or stderr is closed or full, and in locales that are not UTF-8."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mnemosyne_vcs

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
MNEM = [sys.executable, "-m", "mnemosyne_vcs"]


def run(redirections, *arguments, **environment):
    """`mnem` by a shell with redirections: exit code, stdout and stderr as far as they are open."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirections}', "sh", *MNEM, *arguments],
        capture_output=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    stdout, stderr = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    assert "Traceback" not in stderr and "Exception ignored" not in stderr, stderr
    return done.returncode, stdout, stderr


def head(store):
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        assert repo.verify().ok
        return repo.resolve().id


@pytest.mark.parametrize("redirection, why", [(">&-", "closed"), (">/dev/full", "No space left")])
@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize("verb", [("log",), ("ls", "-l"), ("verify",)])
def test_a_result_that_cannot_be_written_is_an_error(here, store, redirection, why, form, verb):
    code, _, stderr = run(redirection, *verb, *form, "-s", str(store.path))

    assert code == 9
    [line] = stderr.splitlines()
    message = json.loads(line)["error"]["message"] if form else line.removeprefix("Error: ")
    assert message.startswith("standard output cannot be written: ") and why in message


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full", "<&- >&-"])
@pytest.mark.parametrize(
    "verb",
    [
        ("put", "k", "1"), ("put", "k", "1", "--json"), ("undo", "--yes"), ("merge", "what-if"),
    ],
)  # fmt: skip
def test_a_commit_that_was_made_is_told_with_the_error(here, store, redirection, verb):
    code, _, stderr = run(redirection, *verb, "-s", str(store.path))

    assert code == 9
    assert f"; commit {head(store)} was made" in stderr
    assert head(store) != store.poisoned


@pytest.mark.parametrize(
    "verb, what",
    [
        (("branch", "new"), "branch new was made"),
        (("tag", "new"), "tag new was made"),
        (("init", "new.mnem"), "new.mnem was created"),
        (("backup", "new.mnem"), "the backup new.mnem was made"),
        (("export", "new.car"), "new.car was written"),
        (("clone", "STORE", "new.mnem"), "new.mnem was created"),
        (("remote", "new", "new.mnem"), "the remote new was added"),
        (("gc", "--yes"), "objects were removed"),
        (("push", "other.mnem"), "commits were pushed to"),
    ],
)
def test_other_things_that_were_done_are_told_too(here, store, verb, what):
    mnemosyne_vcs.open("other.mnem", create=True).close()
    words = [str(store.path) if word == "STORE" else word for word in verb]
    code, _, stderr = run(">&-", *words, "-s", str(store.path))

    assert code == 9
    assert what in stderr


def test_all_streams_are_closed(here, store):
    code, *_ = run("<&- >&- 2>&-", "put", "k", "1", "-s", str(store.path))

    assert code == 9
    assert head(store) != store.poisoned


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_an_error_without_a_place_for_it_still_has_its_exit_code(here, store, redirection):
    assert run(redirection, "show", "nope", "-s", str(store.path))[:2] == (3, "")
    assert run(redirection, "log", "-s", str(store.path))[0] == 0
    assert run(redirection, "nope")[:2] == (2, "")


@pytest.mark.parametrize("arguments", [("put", "k"), ("put", "k", "-"), ("put", "k", "--text")])
def test_no_standard_input(here, store, arguments):
    code, _, stderr = run("<&-", *arguments, "-s", str(store.path))

    assert (code, stderr.count("\n")) == (9, 1)
    assert "standard input is closed" in stderr
    assert run("<&-", "import", "-", "-s", str(store.path))[0] == 9
    assert run("<&-", "put", "k", "1", "-s", str(store.path))[0] == 0
    assert run("<&-", "rm", "k", "-s", str(store.path))[0] == 2


def test_what_cannot_be_read_as_standard_input(here, store):
    code, _, stderr = run("0>nothing", "put", "k", "-s", str(store.path))
    assert (code, "standard input cannot be read" in stderr) == (9, True)

    (here / "bytes").write_bytes(b'"\xff"')
    code, _, stderr = run("< bytes", "put", "k", "-s", str(store.path))
    assert (code, "standard input is not UTF-8" in stderr) == (5, True)


@pytest.mark.parametrize("arguments", [("--help",), ("log", "--help"), ("--version",)])
def test_help_that_cannot_be_written(here, arguments):
    code, _, stderr = run(">/dev/full", *arguments)

    assert code in (1, 9)
    assert "No space left" in stderr and len(stderr.splitlines()) == 1


def test_the_files_that_are_opened_do_not_take_the_place_of_the_streams(here, store):
    run("<&- >&- 2>&-", "export", "new.car", "-s", str(store.path))
    run("<&- >&- 2>&-", "log", "-s", str(store.path))

    assert head(store) == store.poisoned
    assert run("", "bundle", "new.car")[0] == 0


PLAIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
LOCALES = [
    PLAIN,
    {"LC_ALL": "nonsense"},
    {"PYTHONIOENCODING": "latin-1"},
    {**PLAIN, "PYTHONIOENCODING": "utf-16"},
]


@pytest.mark.parametrize("environment", LOCALES, ids=lambda env: ",".join(env.values()))
def test_no_locale_makes_a_verb_stumble(here, store, environment):
    with mnemosyne_vcs.open(store.path) as repo:
        repo.put("é🧠", "naïve → 🧠", author="Zoë", message="naïve")
        repo.create_branch("größe")

    for arguments in (
        ("log", "--graph"), ("ls", "-rl"), ("why", "é🧠"), ("show", b"\xff\xfe"), ("nö",),
        ("put", "ключ", '"значение"', "--author", "ё"), ("log", "größe", "--json"),
        ("backup", "copié.mnem"), ("export", "ключ.jsonl"),
    ):  # fmt: skip
        code, *_ = run("", "-s", str(store.path), *arguments, **environment)
        assert code in (0, 2, 3, 5, 9), arguments
    assert head(store)

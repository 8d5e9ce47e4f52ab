"""Every verb with hostile arguments: a documented exit code and a clear line, never a traceback."""

import json
import os
import shutil
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import Provenance
from mnemosyne_vcs.cli.app import mnem
from mnemosyne_vcs.cli.failures import EXIT_CODES
from mnemosyne_vcs.visible import printable

GROUP = click.Context(mnem, info_name="mnem")
VERBS = [verb for verb in mnem.list_commands(GROUP) if verb != "demo"]
STORE = "store.mnem"
EXAMPLES = 120 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 15

SENSIBLE = [
    "main", "side", "v1", "k", "a/1", "a/", "main~1", "main^2", "main@{1}", "main@{yesterday}",
    "main..side", "main:k", ":k", "1", "0", "2", '{"a": 1}', "[1, 2]", '"text"', "k=ours", "k=1",
    "ours", "delete", "car", "jsonl", "bash", "origin", "2026-11-01", "a", "run-1", "new.mnem",
    "all.car", "all.jsonl", "source", STORE, "gone", "r1",
]  # fmt: skip
HOSTILE = [
    "", " ", "-", "--", "~", ".", "..", "/", "//", ":", "\n", "\x00", "a\x00b", "\x1b[2J", "\ud83d",
    "\udcff", "k\udcff", "\u202e\u2066", "\u2028", "\ufeff", "a\u200b", "é", "😀", "٣", "x" * 5000,
    "k" * 300, "-1", "-0", "99999999999999999999", "9" * 5000, "1e309", "nan", "inf", "-inf", "1.5",
    "main~", f"main~{'9' * 30}", "main^0", "main@{", "main@{}", "main@{-1}", "main@{999999}",
    f"main@{{{'9' * 5000}}}", "main@{9999-12-31T23:59:59.999999-23:59}", "main@{0001-01-01+23:59}",
    f"{'9' * 30} days ago", "@{1}", "^", "~1", "main~1~1~1~1^2", "{", "[" * 5000, "[1" * 70, "NaN",
    "Infinity", "1e400", f"{2**63}", '{"a": 1, "a": 2}', '"\\ud83d"', '[true]', "[]", "[[1]]",
    "k=", "=", "k=nonsense", '="x"', "nowhere.mnem", "nowhere/at/all.mnem", "sqlite:///", "memory:",
    "memory://x", "sqlite:///%ff", "http://x", "file\nname", "bafyrei", "bafyreiaaa", "z" * 59,
    "9999-12-31T23:59:59.999999Z", "0000-01-01", "10000-01-01", "0001-01-01T00:00:00", "*", "%s",
    "[red]", "{0}", "$HOME", "'", '"', "\\", "HEAD", "a b", "1" * 60,
]  # fmt: skip
NUMBERS = [
    "1", "1", "2", "0", "-1", "99", "9999999", f"{2**31}", f"{2**63}", "9" * 30, "9" * 5000, "nan",
    "inf", "1e9", "1.5", "-0", "", "٣", "1_000", "\ud83d",
]  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A store with branches that clash, a tag, vectors, provenance and a deleted record."""
    path = tmp_path_factory.mktemp("fuzz") / STORE
    with mnemosyne_vcs.open(path, create=True, author="tester") as repo:
        origin = Provenance(source="source", agent="a", run="run-1")
        with repo.transaction(trailers={"Run-Id": "run-1", "Save-Id": "s"}) as tx:
            tx.put("k", {"a": 1}, embedding=[1, 0], provenance=origin)
            tx.put("a/1", "text", embedding=[0, 1])
            tx.put("a/r10", None)
        repo.put("a/r1", 1)
        repo.delete("a/r1")
        repo.create_branch("side")
        repo.create_branch("gone")
        repo.create_tag("v1")
        repo.put("k", {"a": 2}, branch="side")
        repo.put("k", {"a": 3}, provenance=Provenance(derived_from=(("k", "main~1"),)))
        repo.export_bundle(path.with_name("all.car"))
        repo.export_jsonl(path.with_name("all.jsonl"))
        repo.delete_branch("gone")
    return path.parent


def value(parameter):
    """Values for an argument or option, most of them not meant for it."""
    kinds = [st.sampled_from(SENSIBLE), st.sampled_from(HOSTILE)]
    if parameter.name != "test":  # which is started as a program
        kinds.append(st.text(max_size=8))
    if isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType):
        kinds = [st.sampled_from(NUMBERS)]
    if isinstance(parameter.type, click.Choice):
        kinds.append(st.sampled_from([str(choice) for choice in parameter.type.choices]))
    return st.one_of(*kinds)


@st.composite
def words(draw, verb):
    """The words of a command line with one verb."""
    command = mnem.get_command(GROUP, verb)
    said = [verb]
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            most = 3 if parameter.nargs == -1 else 1
            for _ in range(draw(st.integers(0 if not parameter.required else 1, most))):
                said.append(draw(value(parameter)))
        elif parameter.name != "store" and (parameter.required or draw(st.integers(0, 5)) == 0):
            said.append(draw(st.sampled_from(parameter.opts)))
            if not parameter.is_flag:
                said.append(draw(value(parameter)))
    if any(parameter.name == "yes" for parameter in command.params) and draw(st.booleans()):
        said.append("--yes")
    store = draw(st.sampled_from(HOSTILE)) if draw(st.integers(0, 9)) == 9 else STORE
    return [*said, "-s", store]


@pytest.mark.parametrize("verb", VERBS)
@settings(max_examples=EXAMPLES, derandomize=EXAMPLES == 15, deadline=None)
@given(data=st.data())
def test_no_arguments_make_a_verb_stumble(template, verb, data):
    arguments = data.draw(words(verb), label="mnem")
    stdin = data.draw(st.sampled_from([b"", b"1", b"\xff", b'{"key": "k", "content": 1}\n']))
    with TemporaryDirectory() as directory, chdir(directory):
        shutil.copytree(template, directory, dirs_exist_ok=True)
        ran = CliRunner().invoke(mnem, arguments, input=stdin)

    check(ran, arguments)


def check(ran, arguments):
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    assert ran.exit_code in EXIT_CODES
    assert "Traceback" not in ran.stderr
    for line in (ran.stderr + ran.stdout if "-" not in arguments else ran.stderr).split("\n"):
        assert printable(line) == line
    errors = [line for line in ran.stderr.splitlines() if line.startswith("Error: ")]
    found_nothing = arguments[:1] == ["grep"] and ran.exit_code == 1 and not ran.stderr
    if ran.exit_code in (0, 6) or found_nothing:
        return
    if errors:
        assert len(errors) == 1 and len(errors[0]) > len("Error: ")
    else:
        assert json.loads(ran.stderr.splitlines()[-1])["error"]["message"]


@settings(max_examples=200 if EXAMPLES == 15 else 2000, derandomize=EXAMPLES == 15, deadline=None)
@given(arguments=st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=5)), max_size=4))
def test_no_words_make_the_command_stumble(arguments):
    with TemporaryDirectory() as directory, chdir(directory):
        check(CliRunner().invoke(mnem, arguments), arguments)
        assert not list(Path(directory).iterdir())


@pytest.mark.parametrize("name", ["MNEMOSYNE_URL", "MNEMOSYNE_AUTHOR", "PAGER", "MNEM_PAGER"])
@pytest.mark.parametrize("hostile", ["\udcff", "'", "\x1b", "\u202e", "x" * 5000, " ", "\n"])
def test_no_variable_makes_the_command_stumble(template, tmp_path, monkeypatch, name, hostile):
    monkeypatch.setenv(name, hostile)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    for arguments in (["log"], ["put", "k", "1"], ["branch", "new"], ["init", "x.mnem"]):
        check(CliRunner().invoke(mnem, arguments), arguments)

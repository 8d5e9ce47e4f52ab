"""`mnem` on a PostgreSQL URL: the same verbs, and one clear line when something is wrong."""

import re

import pytest
from click.testing import CliRunner

from mnemosyne.cli.app import mnem
from postgres.server import free_port


def run(url, *arguments):
    result = CliRunner().invoke(mnem, ["-s", url, *arguments])
    return result.exit_code, result.output


def test_the_verbs_work_as_on_a_file(url, tmp_path):
    assert run(url, "log")[0] == 3
    assert run(url, "init") == (0, f"made an empty store: {url}\n")
    for value in ("1", "2"):
        assert run(url, "put", "a/b", value)[0] == 0
    assert len(run(url, "log")[1].splitlines()) == 2
    assert run(url, "undo", "--yes")[0] == 0
    assert "1" in run(url, "show", "a/b")[1]
    assert run(url, "gc", "--compact", "--yes")[0] == 0
    assert "all sound" in run(url, "verify")[1]
    copy = str(tmp_path / "copy.mnem")
    assert run(url, "backup", copy)[0] == 0
    assert run(copy, "log") == run(url, "log")


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (lambda url: url.replace("postgres@", "postgres:wrong@"), 9, "check the user"),
        (lambda url: url.replace("/mnemosyne?", "/nowhere?"), 3, "createdb"),
        (lambda url: url.replace("/mnemosyne?", "/postgres?"), 3, "no schema 'mnemosyne'"),
        (lambda url: url + "-other", 3, "create=True makes one"),
        (lambda url: re.sub(r":\d+/", f":{free_port()}/", url), 9, "check host and port"),
        (lambda url: url.partition("?")[0], 5, "names no repository"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(url, monkeypatch, change, code, said):
    run(url, "init")
    if "wrong" in (wrong := change(url)):
        monkeypatch.delenv("PGPASSWORD")
    found, output = run(wrong, "log")
    assert (found, output.count("\n")) == (code, 1)
    assert said in output

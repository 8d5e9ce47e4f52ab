"""`mnem` on a PostgreSQL URL: the same verbs, and one clear line when something is wrong."""

import json
import re

import pytest

from postgres.server import PASSWORD, free_port
from verb_walk import run, walk


def test_every_verb_says_what_it_says_on_a_file(url, tmp_path):
    (tmp_path / "server").mkdir()
    (tmp_path / "file").mkdir()
    on_server = walk(url, tmp_path / "server")
    on_file = walk(f"sqlite:///{tmp_path}/memory.mnem", tmp_path / "file")
    assert [step for step, _, _ in on_server if step.startswith("verify")]
    for there, here in zip(on_server, on_file, strict=True):
        assert there == here


def test_a_backup_is_a_store_of_its_own(url, tmp_path):
    copy = str(tmp_path / "copy.mnem")
    run("-s", url, "init")
    run("-s", url, "put", "a/b", "1")
    assert run("-s", url, "gc", "--compact", "--yes")[0] == 0
    assert run("-s", url, "backup", copy)[0] == 0
    assert run("-s", copy, "log") == run("-s", url, "log")


WRONG = {
    "scheme": (lambda url: url.replace("postgresql:", "mysql:"), 5, "use a plain path, sqlite"),
    "no repository": (lambda url: url.partition("?")[0], 5, "write postgresql://USER@HOST:PORT"),
    "host": (lambda url: url.replace("127.0.0.1", "no-host.invalid"), 9, "check host and port"),
    "port": (lambda url: re.sub(r":\d+/", f":{free_port()}/", url), 9, "check host and port"),
    "no port": (lambda url: re.sub(r":\d+/", ":mnem/", url), 5, "correct that part of it"),
    "user": (lambda url: url.replace("postgres@", "nobody@"), 9, "check the user"),
    "database": (lambda url: url.replace("/mnemosyne?", "/nowhere?"), 3, "createdb"),
    "schema": (lambda url: url.replace("/mnemosyne?", "/postgres?"), 3, "`mnem init`"),
    "repository": (lambda url: url + "-other", 3, "`mnem init`"),
    "parameter": (lambda url: url + "&color=blue", 5, "correct that part of it"),
    "value": (lambda url: url + "&sslmode=maybe", 5, "correct that part of it"),
    "encryption": (lambda url: url + "&sslmode=require", 9, "check sslmode"),
}
KINDS = {3: "not-found", 5: "validation", 9: "engine", 10: "format-version"}


def require_one_line(code, said, *arguments):
    """The same line from a verb that reads, one that writes, and as JSON."""
    for verb in (("log",), ("put", "a", "1"), ("verify",)):
        found, output = run(*arguments, *verb)
        assert (found, output.count("\n"), output[:7]) == (code, 1, "Error: "), output
        assert said in output
        assert PASSWORD not in output
    found, output = run(*arguments, "log", "--json")
    error = json.loads(output)["error"]
    assert (found, error["kind"]) == (code, KINDS[code])
    assert said in error["message"]


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_in_a_url_is_said_in_one_line(url, what):
    change, code, said = WRONG[what]
    run("-s", url, "init")
    require_one_line(code, said, "-s", change(url))


@pytest.mark.parametrize("user", ["postgres", "postgres:wrong"])
def test_a_missing_or_wrong_password(url, monkeypatch, user):
    run("-s", url, "init")
    monkeypatch.delenv("PGPASSWORD")
    wrong = url.replace("postgres@", f"{user}@")
    require_one_line(9, "PGPASSWORD or the password file", "-s", wrong)
    for verb in (("init",), ("clone", wrong, "copy.mnem")):
        found, output = run("-s", wrong, *verb)
        assert (found, output.count("\n"), "wrong" in output) == (9, 1, False)


@pytest.fixture
def ours(server):
    """The URL of a store in a database of its own."""
    server.execute("postgres", "CREATE DATABASE ours")
    url = server.url("r", "ours")
    run("-s", url, "init")
    yield url
    server.execute("postgres", "DROP DATABASE ours WITH (FORCE)")


def test_tables_of_a_newer_version(server, ours):
    server.execute("ours", "INSERT INTO mnemosyne.migrations VALUES (99, 'later')")
    require_one_line(10, "upgrade Mnemosyne", "-s", ours)


def test_tables_that_are_missing(server, ours):
    server.execute("ours", "DROP TABLE mnemosyne.objects")
    require_one_line(3, "from a backup", "-s", ours)
    server.execute("ours", "DROP SCHEMA mnemosyne CASCADE")
    require_one_line(3, "`mnem init`", "-s", ours)
    assert run("-s", ours, "init")[0] == 0
    assert run("-s", ours, "put", "a", "1")[0] == 0


def test_a_password_is_never_shown(url, tmp_path, monkeypatch):
    monkeypatch.delenv("PGPASSWORD")
    secret = url.replace("postgres@", f"postgres:{PASSWORD}@")
    here = str(tmp_path / "here.mnem")
    for arguments in (
        ("-s", secret, "init"),
        ("-s", secret, "init"),
        ("-s", secret, "status"),
        ("-s", secret, "put", "k", "1"),
        ("-s", secret, "log", "nope"),
        ("clone", secret, here),
        ("-s", here, "remote"),
        ("-s", here, "pull", secret),
        ("-s", here, "put", "k", "2"),
        ("-s", here, "push", secret),
        ("-s", here, "fetch", secret),
        ("-s", here, "fetch", secret + "-other"),
        ("-s", here, "log"),
        ("-s", here, "reflog"),
        ("-s", secret, "reflog"),
        ("clone", here, secret + "-copy"),
    ):
        assert PASSWORD not in run(*arguments)[1], arguments

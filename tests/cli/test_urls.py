"""A URL or a file that is wrong: one line that says what to do, and an exit code; warnings too."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import apsw
import pytest

from mnemosyne_vcs.engine.sqlite import filesystems

NOBODY = 65534
KINDS = {3: "not-found", 5: "validation", 6: "corrupt", 9: "engine", 10: "format-version"}


def require_one_line(mnem, url, code, said):
    """The same line from verbs that read and verbs that write, and as JSON."""
    for verb in (("log",), ("put", "k", "1"), ("verify",)):
        ran = mnem("-s", str(url), *verb, code=code)
        assert ran.stdout == ""
        assert len(ran.stderr.splitlines()) == 1 and ran.stderr.startswith("Error: ")
        assert said in ran.stderr
    error = mnem("-s", str(url), "log", "--json", code=code).error
    assert error["kind"] == KINDS[code]
    assert said in error["message"]


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("ftp://host/x", 5, "use a plain path, sqlite:///path"),
        ("postgresq://host/db?repository=r", 5, "use a plain path, sqlite:///path"),
        ("mysql://u:s3cret@host/db", 5, "'mysql://u@host/db': the scheme mysql:// is unknown"),
        ("sqlite://host/x", 5, "write sqlite:///relative/path"),
        ("sqlite:///", 5, "use a plain path"),
        ("sqlite:///a?mode=ro", 5, "write '?' as %3F"),
        ("memory://", 5, "name a file instead"),
        ("postgresql://host/db", 5, "write postgresql://USER@HOST:PORT/DATABASE?repository=NAME"),
        ("~/a.mnem", 5, "os.path.expanduser"),
        ("'a.mnem'", 5, "pass it without the quotes"),
        ("a.mnem\r", 5, "pass it without"),
        ("data/", 5, "name a file in it"),
        ("s3://", 5, "write s3://BUCKET/PREFIX"),
        ("s3://bucket/prefix?color=blue", 5, "there are endpoint, region"),
        ("nowhere.mnem", 3, "`mnem init`"),
        ("no/such/directory/a.mnem", 3, "`mnem init`"),
        (".", 9, "a store is one file: name a file in it"),
        ("/dev/null", 9, "a store is one file: name a file in it"),
    ],
)
def test_what_is_wrong_with_a_url(mnem, url, code, said):
    require_one_line(mnem, url, code, said)


@pytest.mark.parametrize("url", ["~/a.mnem", "'a.mnem'", "$HOME/a.mnem", "a.mnem\r"])
def test_nothing_is_made_of_a_path_that_was_meant_otherwise(mnem, store, here, url, monkeypatch):
    before = sorted(here.iterdir())
    for arguments in (
        ("init", url),
        ("init", "-s", url),
        ("clone", url, "copy.mnem"),
        ("clone", str(store.path), url),
        ("remote", "other", url),
        ("push", url),
        ("backup", url),
        ("export", url),
        ("export", url, "--format", "jsonl"),
        ("import", url),
        ("bundle", url),
    ):
        mnem(*arguments, code=5)
    monkeypatch.setenv("MNEMOSYNE_URL", url)
    mnem("init", code=5)
    mnem("log", code=5)
    assert sorted(here.iterdir()) == before


def test_the_current_directory_is_gone(mnem, store, here, monkeypatch):
    gone = here / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        assert "directory, which is gone" in mnem("log", code=3).stderr
        for arguments in (("init", "x.mnem"), ("log", "-s", "x.mnem"), ("clone", "x.mnem")):
            assert "'x.mnem' is relative" in mnem(*arguments, code=3).stderr
        assert (
            "'x.car' is relative" in mnem("-s", str(store.path), "export", "x.car", code=3).stderr
        )
        assert mnem("-s", str(store.path), "status", "--json").json["records"] == 3
    finally:
        os.chdir(here)


def test_a_file_of_something_else(mnem, here):
    (here / "text").write_text("hello" * 1000)

    require_one_line(mnem, "text", 9, "name another file")
    require_one_line(mnem, "text/below.mnem", 3, "there is no store")
    assert "is not a directory" in mnem("init", "text/below.mnem", code=9).stderr


def test_a_damaged_file(mnem, store, here):
    whole = store.path.read_bytes()
    (here / "zeros.mnem").write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    (here / "short.mnem").write_bytes(whole[: len(whole) // 2])

    for name in ("zeros.mnem", "short.mnem"):
        require_one_line(mnem, name, 6, "restore it from a backup or a clone")


def test_a_file_of_a_newer_version(mnem, store):
    connection = apsw.Connection(str(store.path))
    connection.pragma("user_version", 999)
    connection.close()

    require_one_line(mnem, store.path, 10, "upgrade Mnemosyne")


def test_a_file_that_may_not_be_read(mnem):
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        mnem("init", f"{directory}/a.mnem")
        mnem("-s", f"{directory}/a.mnem", "verify")
        (directory / "a.mnem").chmod(0)
        directory.chmod(0o755)
        user = os.geteuid()
        if user == 0:
            os.seteuid(NOBODY)
        try:
            require_one_line(mnem, directory / "a.mnem", 9, "check that this user can read")
        finally:
            os.seteuid(user)


POSTGRES = "postgresql://u:s3cret@host/db?repository=r", "install mnemosyne-vcs[postgres]"
BUCKET = "s3://bucket/prefix", "install mnemosyne-vcs[objectstore]"


@pytest.mark.parametrize(
    ("module", "url", "said"),
    [("psycopg", *POSTGRES), ("obstore", *BUCKET)],
)
@pytest.mark.parametrize("arguments", [("log",), ("init",), ("log", "--json")])
def test_a_missing_extra(here, module, url, said, arguments):
    code = (
        f"import sys; sys.modules[{module!r}] = None; from mnemosyne_vcs.cli import main; "
        f"sys.argv = ['mnem', '-s', {url!r}, *sys.argv[1:]]; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (9, "", 1)
    assert said in done.stderr
    assert "s3cret" not in done.stderr


@pytest.fixture
def on_nfs(here, monkeypatch):
    """Be in a directory whose device is listed as NFS's, as it would be if it were mounted so."""
    found = here.stat().st_dev
    mounts = here / "mountinfo"
    device = f"{os.major(found)}:{os.minor(found)}"
    mounts.write_text(f"97 27 {device} / {here} rw - nfs4 nas:/team rw\n")
    monkeypatch.setattr(filesystems, "MOUNTS", mounts)
    return here


@pytest.mark.filterwarnings("default")
def test_a_network_file_system_is_warned_of_in_one_line(mnem, on_nfs):
    ran = mnem("init", "a.mnem")

    assert ran.stdout == "created an empty store: a.mnem\n"
    [line] = ran.stderr.splitlines()
    assert line.startswith(f"Warning: {on_nfs}/a.mnem lies on a network file system (nfs4)")
    assert line.endswith("or share the memory at a postgresql:// or s3:// URL")
    assert mnem("log").stderr == "no commits yet up to main\n"


@pytest.mark.filterwarnings("default")
def test_the_warning_as_json(mnem, on_nfs):
    ran = mnem("init", "a.mnem", "--json")

    assert ran.json["url"].endswith("/a.mnem")
    warning = json.loads(ran.stderr)["warning"]
    assert warning["kind"] == "network-file-system"
    assert warning["message"].startswith(f"{on_nfs}/a.mnem lies on")


@pytest.mark.filterwarnings("ignore")
def test_the_warning_can_be_turned_off(mnem, on_nfs):
    assert mnem("init", "a.mnem").stderr == ""

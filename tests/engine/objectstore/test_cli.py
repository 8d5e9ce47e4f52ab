"""`mnem` on an object store: the same verbs, and one clear line when something is wrong."""

import json
import re
import subprocess
import sys

import pytest

from objectstore.server import ACCESS, SECRET, free_ports
from verb_walk import run, walk


def test_every_verb_says_what_it_says_on_a_file(url, tmp_path):
    (tmp_path / "bucket").mkdir()
    (tmp_path / "file").mkdir()
    in_bucket = walk(url, tmp_path / "bucket")
    in_file = walk(f"sqlite:///{tmp_path}/memory.mnem", tmp_path / "file")
    for there, here in zip(in_bucket, in_file, strict=True):
        assert there == here


def elsewhere(url):
    """The same where nothing listens."""
    return re.sub(r":\d+$", f":{free_ports(1)[0]}", url) + "&retry_for=0.1"


WRONG = {
    "bucket": (lambda url: url.replace("//agents/", "//nowhere/"), 3, "there is no bucket"),
    "prefix": (lambda url: url.replace("?", "-other?"), 3, "there is no repository"),
    "endpoint": (elsewhere, 9, "check the endpoint"),
    "no endpoint": (lambda url: url.replace("=http:", "=ftp:"), 5, "begins with http://"),
    "no bucket": (lambda url: "s3://", 5, "write s3://BUCKET/PREFIX"),
    "option": (lambda url: url + "&color=blue", 5, "there are endpoint, region"),
    "keys": (lambda url: url.replace("//", "//me:s3cret@", 1), 5, "AWS_SECRET_ACCESS_KEY alone"),
    "key": (lambda url: url + "&secret=s3cret", 5, "AWS_SECRET_ACCESS_KEY alone"),
    "value": (lambda url: url + "&timeout=soon", 5, "a number above 0"),
}
KINDS = {3: "not-found", 5: "validation", 9: "engine"}


def require_one_line(url, code, said):
    """The same line from a verb that reads, one that writes, and as JSON."""
    for verb in (("log",), ("put", "a", "1"), ("verify",)):
        found, output = run("-s", url, *verb)
        assert (found, output.count("\n"), output[:7]) == (code, 1, "Error: "), output
        assert said in output
        assert "s3cret" not in output
    found, output = run("-s", url, "log", "--json")
    error = json.loads(output)["error"]
    assert (found, error["kind"]) == (code, KINDS[code])
    assert said in error["message"]


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_in_a_url_is_said_in_one_line(url, what):
    change, code, said = WRONG[what]
    run("-s", url, "init")
    require_one_line(change(url), code, said)


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_wrong_keys(url, monkeypatch, name):
    run("-s", url, "init")
    monkeypatch.setenv(name, "wrong")
    require_one_line(url, 9, "check AWS_ACCESS_KEY_ID")


def test_what_cannot_be_made_or_cloned_is_said_in_one_line(seaweedfs, url, folder, tmp_path):
    nowhere = seaweedfs.url(folder, bucket="nowhere")
    for arguments in (
        ("-s", nowhere, "init"),
        ("clone", nowhere, str(tmp_path / "copy.mnem")),
        ("clone", url, str(tmp_path / "copy.mnem")),
        ("-s", url, "push", nowhere),
    ):
        found, output = run(*arguments)
        assert (found, output.count("\n")) == (3, 1), output
    assert list(tmp_path.iterdir()) == []
    assert seaweedfs.keys(folder) == []


def test_making_it_twice_changes_nothing(url):
    assert run("-s", url, "init")[0] == 0
    run("-s", url, "put", "a", "1")
    code, output = run("-s", url, "init")
    assert (code, output.count("\n")) == (11, 1)
    assert run("-s", url, "show", "a")[0] == 0


def test_the_keys_are_never_shown(seaweedfs, url, folder, tmp_path):
    here = str(tmp_path / "here.mnem")
    run("-s", url, "init")
    for arguments in (
        ("-s", url, "put", "k", "1"),
        ("-s", url, "status"),
        ("-s", url, "stats"),
        ("clone", url, here),
        ("-s", here, "remote"),
        ("-s", here, "reflog"),
        ("-s", here, "log", "--json"),
    ):
        code, output = run(*arguments)
        assert code == 0, output
        assert not any(secret in output for secret in (ACCESS, SECRET))
    for key in seaweedfs.keys(folder):
        assert SECRET.encode() not in seaweedfs.get(key)


def test_without_the_extra_the_line_says_what_to_install(url):
    code = (
        "import sys; sys.modules['obstore'] = None\n"
        "from mnemosyne_vcs.cli import main\n"
        "sys.argv = ['mnem', '-s', sys.argv[1], 'log']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, url], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (9, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("install mnemosyne-vcs[objectstore]\n")

"""Which store an `s3://` URL opens, and what is said of one that cannot be opened or written."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import EngineError, NotFoundError, ReadOnlyError, ValidationError
from mnemosyne_vcs.engine import canonical_url, open_engine
from mnemosyne_vcs.engine.objectstore.url import parse_url
from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.format.objects import object_id
from objectstore.conditionless import Conditionless
from objectstore.server import ENVIRONMENT, free_ports

BLOCK = object_id(b"data")


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("s3://bucket", "s3://bucket"),
        ("S3://bucket/?", "s3://bucket"),
        ("s3://bucket//a/b/", "s3://bucket/a/b"),
        ("s3://a.b-c_9/x=1/+@,-", "s3://a.b-c_9/x=1/+@,-"),
        (
            "s3://b/p?region=eu-1&endpoint=http://127.0.0.1:9000",
            "s3://b/p?endpoint=http://127.0.0.1:9000&region=eu-1",
        ),
        (
            "s3://b/p?endpoint=https%3A%2F%2Fhost%2Fpath&backoff=.5",
            "s3://b/p?backoff=.5&endpoint=https://host/path",
        ),
    ],
)
def test_the_canonical_url_has_one_form(url, canonical):
    for secrets in (False, True):
        assert canonical_url(url, secrets=secrets) == canonical
        assert canonical_url(canonical, secrets=secrets) == canonical
    assert parse_url(canonical) == parse_url(url)


def test_options_are_taken_and_have_defaults():
    options = "timeout=5&retry_for=1.5&backoff=0.2&cache_mb=8"
    found = parse_url(f"s3://b/p/q?endpoint=http://h:1&region=r&{options}")
    assert (found.bucket, found.prefix, found.endpoint, found.region) == (
        "b",
        "p/q",
        "http://h:1",
        "r",
    )
    assert (found.timeout, found.retry_for, found.backoff, found.cache_mb) == (5, 1.5, 0.2, 8)
    plain = parse_url("s3://b")
    here = parse_url("s3://b/p?cache=near%20by")
    assert here.cache == str(Path("near by").absolute())
    assert here.canonical == f"s3://b/p?cache={quote(here.cache)}"
    assert (plain.prefix, plain.endpoint, plain.region) == ("", None, None)
    assert min(plain.timeout, plain.retry_for, plain.backoff, plain.cache_mb) > 0


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://", "names no bucket"),
        ("s3:///p", "names no bucket"),
        ("s3://?region=r", "names no bucket"),
        ("s3://b#f", "names no bucket"),
        ("s3://b/p#f", "names no bucket"),
        ("s3://-b/p", "names no bucket"),
        ("s3://bü/p", "names no bucket"),
        ("s3://b/p//q", "is not a valid prefix"),
        ("s3://b/../q", "is not a valid prefix"),
        ("s3://b/a b", "is not a valid prefix"),
        ("s3://b/é", "is not a valid prefix"),
        ("s3://b/p?region", "NAME=VALUE"),
        ("s3://b/p?=1", "no option ''"),
        ("s3://b/p?region=", "region is empty"),
        ("s3://b/p?region=a&region=b", "twice"),
        ("s3://b/p?colour=blue", "no option 'colour'; there are endpoint, region"),
        ("s3://b/p?endpoint=host:1", "begins with http:// or https://"),
        ("s3://b/p?endpoint=http://", "begins with http:// or https://"),
        ("s3://b/p?timeout=soon", "timeout is a number above 0, not 'soon'"),
        ("s3://b/p?timeout=0", "number above 0"),
        ("s3://b/p?backoff=-1", "number above 0"),
        ("s3://b/p?retry_for=inf", "number above 0"),
        ("s3://b/p?cache_mb=nan", "number above 0"),
    ],
)
def test_a_url_that_is_none_is_refused(url, said):
    for act in (canonical_url, open_engine, lambda url: mnemosyne_vcs.open(url, create=True)):
        with pytest.raises(ValidationError) as caught:
            act(url)
        assert said in caught.value.message


@pytest.mark.parametrize(
    "url",
    [
        "s3://me:s3cret@bucket/p",
        "s3://b/p?endpoint=http://me:s3cret@host",
        "s3://b/p?aws_secret_access_key=s3cret",
        "s3://b/p?timeout=1&aws_secret_access_key=s3cret&timeout=2",
    ],
)
def test_keys_in_a_url_are_refused_and_not_told(url):
    with pytest.raises(ValidationError, match="AWS_SECRET_ACCESS_KEY") as caught:
        open_engine(url)
    assert "s3cret" not in caught.value.message


def test_what_is_missing_is_named(seaweedfs, url, folder):
    with pytest.raises(NotFoundError, match=r"no repository at .*create=True") as caught:
        open_engine(url)
    assert url in caught.value.message
    with pytest.raises(NotFoundError, match="no repository"):
        open_engine(url, create=True, read_only=True)
    nowhere = seaweedfs.url(folder, bucket="nowhere")
    for create in (False, True):
        with pytest.raises(NotFoundError, match="no bucket 'nowhere'; make it, or correct the URL"):
            open_engine(nowhere, create=create)
    assert seaweedfs.keys(folder) == []


def test_a_prefix_may_be_called_anything(seaweedfs, folder):
    url = seaweedfs.url(f"{folder}/a-bucket/NoSuchBucket")
    mnemosyne_vcs.open(url, create=True).close()
    with mnemosyne_vcs.open(url) as repo:
        repo.put("a", 1)
        assert repo.verify().ok


def test_what_is_there_is_opened_as_it_is(url):
    first = open_engine(url, create=True)
    first.write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
    second = open_engine(url, create=True)
    assert second.ref("r") == BLOCK
    assert first.url == second.url == canonical_url(url)


def test_one_repository_may_lie_below_another(seaweedfs, folder):
    outer = open_engine(seaweedfs.url(folder), create=True)
    inner = open_engine(seaweedfs.url(f"{folder}/packs"), create=True)
    inner.write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
    assert outer.ref("r") is None
    assert list(outer.ids()) == []


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_a_wrong_key_is_told_and_not_shown(url, monkeypatch, name):
    engine = open_engine(url, create=True)
    with monkeypatch.context() as wrong:
        wrong.setenv(name, "wr0ng")
        for create in (False, True):
            with pytest.raises(EngineError, match=f"check {name}|{name}") as caught:
                open_engine(url, create=create)
            assert type(caught.value) is EngineError
            assert "\n" not in caught.value.message
            assert not any(
                secret in caught.value.message
                for secret in ENVIRONMENT.values()
                if secret != ENVIRONMENT["AWS_REGION"]
            )
    assert engine.ref("r") is None


@pytest.mark.parametrize(
    "names",
    [
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
        ("AWS_ACCESS_KEY_ID",),
        ("AWS_SECRET_ACCESS_KEY",),
    ],
)
def test_a_missing_key_is_told(url, monkeypatch, names):
    open_engine(url, create=True)
    for name in names:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", f"http://127.0.0.1:{free_ports(1)[0]}")
    with pytest.raises(EngineError, match=r"a key is missing .*; check AWS_ACCESS_KEY_ID"):
        open_engine(f"{url}&retry_for=0.1&timeout=1")


def test_nothing_listens_at_the_endpoint(seaweedfs, folder):
    (port,) = free_ports(1)
    url = seaweedfs.url(folder, port=port, retry_for=0.1, timeout=1, backoff=0.01)
    with pytest.raises(EngineError, match=r"cannot be reached: .*check the endpoint") as caught:
        open_engine(url, create=True)
    assert "\n" not in caught.value.message
    assert str(port) in caught.value.message


def test_reading_only_is_just_that(seaweedfs, url, folder):
    open_engine(url, create=True).write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
    before = {key: seaweedfs.get(key) for key in seaweedfs.keys(folder)}
    reader = open_engine(url, read_only=True)
    for act in (
        lambda: reader.write({}),
        lambda: reader.set_setting("a", "b"),
        lambda: reader.add_to_index([IndexEntry(BLOCK, "t", [])]),
        reader.clear_index,
        lambda: reader.delete([BLOCK]),
        reader.compact,
        lambda: reader.exclusive().__enter__(),
    ):
        with pytest.raises(ReadOnlyError, match="opened for reading"):
            act()
    assert dict(reader.read([BLOCK])) == {BLOCK: b"data"}
    assert reader.ref("r") == BLOCK
    assert {key: seaweedfs.get(key) for key in seaweedfs.keys(folder)} == before


@pytest.mark.parametrize("heeds", [(), ("If-None-Match",)])
def test_a_store_without_conditions_is_refused(keys, heeds):
    store = Conditionless(*heeds)
    url = f"s3://agents/p?endpoint=http://127.0.0.1:{store.port}"
    try:
        with pytest.raises(EngineError, match="ignores If-None-Match and If-Match"):
            open_engine(url, create=True)
        assert store.objects == {}
    finally:
        store.close()


def python(code, *arguments):
    said = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | ENVIRONMENT,
    )
    return said.stdout


def test_without_the_extra_the_line_says_what_to_install():
    code = (
        "import sys; sys.modules['obstore'] = None\n"
        "import mnemosyne_vcs\n"
        "try: mnemosyne_vcs.open('s3://bucket/p')\n"
        "except mnemosyne_vcs.EngineError as error: print(error)"
    )
    assert python(code).endswith("install mnemosyne-vcs[objectstore]\n")
    assert python(code).count("\n") == 1


def test_a_plain_store_never_imports_obstore(tmp_path):
    code = (
        "import sys, mnemosyne_vcs; mnemosyne_vcs.open(sys.argv[1], create=True)\n"
        "print('obstore' in sys.modules)"
    )
    assert python(code, tmp_path / "a.mnem") == "False\n"


def test_two_processes_may_make_it_at_once(url):
    code = (
        "import sys, mnemosyne_vcs\n"
        "with mnemosyne_vcs.open(sys.argv[1], create=True) as repo:\n"
        "    repo.put(sys.argv[2], 1)"
    )
    programs = [
        subprocess.Popen([sys.executable, "-c", code, url, name]) for name in ("a", "b", "c")
    ]
    assert [program.wait() for program in programs] == [0, 0, 0]
    with mnemosyne_vcs.open(url) as repo:
        assert list(repo.at()) == ["a", "b", "c"]
        assert repo.verify().ok

"""Which store a URL opens, and what is said of one that cannot be opened."""

import os
import re
import sqlite3
from functools import partial
from pathlib import Path

import apsw
import pytest

from mnemosyne_vcs.engine import canonical_url, open_engine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.errors import (
    CorruptObjectError,
    EngineError,
    FormatVersionError,
    MnemosyneError,
    NotFoundError,
    ValidationError,
)
from mnemosyne_vcs.format.objects import object_id

DATA = b"data"
BLOCK = object_id(DATA)
NAMES = ["plain.mnem", "with space", "記憶 é.mnem", "100%", "%20", "what?", "a#b", "a'b", "file:x"]


def names_in(directory):
    return sorted(path.name for path in directory.iterdir())


def fill(engine):
    engine.write({BLOCK: DATA}, RefUpdate("r", None, BLOCK))
    engine.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_path_is_taken_literally_and_its_url_opens_the_same_store(tmp_path, monkeypatch, name):
    engine = open_engine(tmp_path / name, create=True)
    fill(engine)
    assert names_in(tmp_path) == [name]
    assert re.fullmatch(r"sqlite:////[A-Za-z0-9_.~/%:-]+", engine.url)
    monkeypatch.chdir("/")
    for url in (engine.url, str(tmp_path / name), tmp_path / name):
        for read_only in (False, True):
            again = open_engine(url, read_only=read_only)
            assert again.url == engine.url
            assert again.ref("r") == BLOCK
            again.close()


def test_relative_paths_and_urls_are_of_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fill(open_engine("here.mnem", create=True))
    elsewhere = open_engine("sqlite:///here.mnem")
    monkeypatch.chdir("/")
    assert elsewhere.ref("r") == BLOCK
    assert elsewhere.url == open_engine(f"sqlite:///{tmp_path}/here.mnem").url
    elsewhere.close()


def test_a_percent_encoded_url_is_decoded_and_a_path_is_not(tmp_path):
    fill(open_engine(f"sqlite:///{tmp_path}/a%20b", create=True))
    assert names_in(tmp_path) == ["a b"]
    with pytest.raises(NotFoundError):
        open_engine(f"{tmp_path}/a%20b")


@pytest.mark.parametrize("options", [{}, {"read_only": True}, {"create": True, "read_only": True}])
def test_what_is_not_there_is_named_and_not_made(tmp_path, options):
    with pytest.raises(NotFoundError, match=r"sqlite:///.*no%20where/x\.mnem"):
        open_engine(tmp_path / "no where" / "x.mnem", **options)
    assert names_in(tmp_path) == []


def test_a_link_opens_the_store_that_it_leads_to(tmp_path):
    store = open_engine(tmp_path / "store.mnem", create=True)
    (tmp_path / "link").symlink_to(tmp_path / "store.mnem")
    linked = open_engine(tmp_path / "link")
    fill(linked)
    assert store.ref("r") == BLOCK
    assert linked.url.endswith("/link")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    with pytest.raises(NotFoundError, match="dangling"):
        open_engine(tmp_path / "dangling")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(EngineError, match="loop"):
        open_engine(tmp_path / "loop", create=True)


def test_create_makes_directories_and_opens_what_exists(tmp_path):
    path = tmp_path / "a" / "b" / "x.mnem"
    fill(open_engine(path, create=True))
    assert open_engine(path, create=True).ref("r") == BLOCK


def test_create_uses_an_empty_file_and_nothing_else_does(tmp_path):
    path = tmp_path / "empty"
    path.touch()
    with pytest.raises(CorruptObjectError, match="empty file"):
        open_engine(path)
    assert path.read_bytes() == b""
    fill(open_engine(path, create=True))
    assert open_engine(path).ref("r") == BLOCK


def test_each_memory_store_is_a_new_one():
    first, second = open_engine("memory://"), open_engine("MEMORY://")
    first.write({BLOCK: DATA})
    assert dict(second.read([BLOCK])) == {}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://host/x", "unknown.*sqlite:///path"),
        ("postgresql://host/x", "names no repository"),
        ("s3:///x", "names no bucket"),
        ("sqlite://host/x", "host"),
        ("sqlite:///a?b=c", "%3F"),
        ("sqlite:///a#b", "%23"),
        ("sqlite:///%ff", "UTF-8"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("memory://name", "no name"),
        ("postgresql:/host/x", r"behind the scheme.*\./postgresql:/host/x"),
        ("S3:bucket", "behind the scheme"),
        ("sqlite:a.mnem", "behind the scheme"),
        (":memory:", "memory://"),
        ("", "names no file"),
        ("a\0b", "NUL"),
        ("a\udcff", "UTF-8"),
        ("~/memory.mnem", r"expanduser.*\./~"),
        ("~", "expanduser"),
        ("~bob/memory.mnem", "expanduser"),
        ("sqlite:///~/memory.mnem", "expanduser"),
        ("$HOME/memory.mnem", "expandvars"),
        ("${HOME}/memory.mnem", "expandvars"),
        ("/srv/${TENANT}/memory.mnem", "expandvars"),
        ("sqlite:////srv/${TENANT}/memory.mnem", "expandvars"),
        ("%USERPROFILE%\\memory.mnem", "expandvars"),
        ('"postgresql://agent@db/memory?repository=support"', "begins with a quotation mark"),
        ("postgresql://agent@db/memory?repository=support'", "ends with a quotation mark"),
        ("“memory.mnem”", "begins with a quotation mark"),
        (" s3://bucket/prefix", "begins with white space"),
        ("memory.mnem\r", "ends with white space"),
        ("postgresql://agent@db/memory?repository=support\r\n", "ends with white space"),
        ("\ufeffmemory.mnem", "begins with white space"),
        ("memory:// ", "ends with white space"),
        ("memo\try.mnem", "control character"),
        ("url=sqlite:///memory.mnem", "holds '://'"),
        ("data/http://host/x", "holds '://'"),
        ("data/", "names a directory"),
        ("/", "names a directory"),
        ("sqlite:///data/", "names a directory"),
    ],
)
def test_urls_that_are_none(url, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for use in (partial(open_engine, create=True), canonical_url):
        with pytest.raises(ValidationError, match=said) as raised:
            use(url)
        assert repr(url) in str(raised.value)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("url", [None, 3, b"x.mnem", os.DirEntry, ["x.mnem"]])
def test_what_is_not_a_text_is_not_a_url(url):
    for use in (open_engine, canonical_url):
        with pytest.raises(ValidationError, match=r"must be a str or a pathlib\.Path, not"):
            use(url)


def test_a_password_is_not_shown_of_what_is_refused():
    for url in ('"postgresql://u:s3cret@db/m?repository=r"', " x=postgresql://u:s3cret@db/m"):
        with pytest.raises(ValidationError, match="u@db") as raised:
            open_engine(url)
        assert "s3cret" not in str(raised.value)


def test_odd_names_can_still_be_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for url in ("./~/x", "./$HOME/x", "sqlite:///%7E/y", "sqlite:///%24HOME/y", "~x.mnem", "a$b"):
        fill(open_engine(url, create=True))
    assert names_in(tmp_path) == ["$HOME", "a$b", "~", "~x.mnem"]
    assert names_in(tmp_path / "~") == names_in(tmp_path / "$HOME") == ["x", "y"]


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Be in a directory that is gone."""
    directory = tmp_path / "gone"
    directory.mkdir()
    monkeypatch.chdir(directory)
    directory.rmdir()
    yield
    os.chdir(tmp_path)


@pytest.mark.usefixtures("nowhere")
def test_a_relative_path_where_the_current_directory_is_gone(tmp_path):
    for url in ("x.mnem", Path("x.mnem"), "sqlite:///x.mnem"):
        for use in (partial(open_engine, create=True), canonical_url):
            with pytest.raises(
                NotFoundError, match=r"'x\.mnem'.*directory, which is gone.*absolute"
            ):
                use(url)
    engine = open_engine(tmp_path / "x.mnem", create=True)
    fill(engine)
    with pytest.raises(NotFoundError, match="which is gone"):
        engine.backup("copy.mnem")
    engine.backup(str(tmp_path / "copy.mnem"))
    assert open_engine(tmp_path / "copy.mnem").ref("r") == BLOCK


@pytest.mark.parametrize(
    "options",
    [{"durability": "some"}, {"busy_timeout": -1}, {"busy_timeout": float("nan")}],
)
def test_arguments_out_of_range(options):
    with pytest.raises(ValidationError, match=next(iter(options))):
        open_engine("memory://", **options)


def snapshot(directory):
    return {path: path.read_bytes() for path in Path(directory).iterdir() if path.is_file()}


def foreign_database(path, journal_mode):
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode={journal_mode}")
    connection.execute("CREATE TABLE refs (name)")
    connection.execute("INSERT INTO refs VALUES ('theirs')")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_bytes(b"not a database" * 1000),
        lambda path: path.write_bytes(b"x"),
        lambda path: path.write_bytes(bytes(10_000)),
        lambda path: foreign_database(path, "delete"),
        lambda path: foreign_database(path, "wal"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"create": True}, {"read_only": True}])
def test_a_file_of_something_else_is_refused_and_not_touched(tmp_path, make, options):
    path = tmp_path / "theirs"
    make(path)
    before = snapshot(tmp_path)
    with pytest.raises(EngineError, match="not a Mnemosyne store") as raised:
        open_engine(path, **options)
    assert str(path) in str(raised.value)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("options", [{}, {"create": True}, {"read_only": True}])
def test_directories_and_special_files_are_refused(tmp_path, options):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"x")
    for path, said in [
        (tmp_path, "directory"),
        (tmp_path / "pipe", "regular file"),
        (Path("/dev/null"), "regular file"),
        (tmp_path / ("x" * 300), "too long"),
        (tmp_path / "file" / "below", "below"),
    ]:
        with pytest.raises(MnemosyneError, match=said) as raised:
            open_engine(path, **options)
        assert str(path) in str(raised.value)
        assert isinstance(raised.value, EngineError | NotFoundError)


@pytest.mark.parametrize("options", [{}, {"create": True}, {"read_only": True}])
def test_a_newer_format_is_named_with_what_to_do(tmp_path, options):
    engine = open_engine(tmp_path / "newer.mnem", create=True)
    fill(engine)
    connection = apsw.Connection(str(tmp_path / "newer.mnem"))
    connection.pragma("user_version", 999)
    connection.close()
    before = snapshot(tmp_path)
    with pytest.raises(FormatVersionError, match=r"999.*upgrade") as raised:
        open_engine(tmp_path / "newer.mnem", **options)
    assert engine.url in str(raised.value)
    assert snapshot(tmp_path) == before


def test_a_damaged_file_is_corrupt_and_named(tmp_path):
    path = tmp_path / "store.mnem"
    engine = open_engine(path, create=True)
    objects = {object_id(data := b"%d" % n * 100): data for n in range(500)}
    engine.write(objects, RefUpdate("r", None, BLOCK))
    engine.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    with pytest.raises(CorruptObjectError, match=r"store\.mnem.*backup"):
        open_engine(path).read(list(objects))
    path.write_bytes(whole[:20_480])
    with pytest.raises(CorruptObjectError, match=r"store\.mnem.*backup"):
        open_engine(path).read(list(objects))

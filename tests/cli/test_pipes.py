"""`-` and pipes in place of files, and JSON that both ways of writing take alike."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import AlreadyExistsError, ValidationError
from mnemosyne_vcs.sync.bundles import check_bundle

MNEM = [sys.executable, "-m", "mnemosyne_vcs"]


def run(*arguments, stdin=b"", code=0):
    done = subprocess.run([*MNEM, *arguments], input=stdin, capture_output=True, check=False)
    assert done.returncode == code, done.stderr.decode()
    return done


@pytest.mark.parametrize("form", ["car", "jsonl"])
def test_a_dash_is_a_pipe_out_and_in(here, store, form):
    arguments = ("-", "--format", form, "-s", str(store.path))
    exported = run("export", *arguments)
    run("init", "other.mnem")

    imported = run("import", "-", "--format", form, "-s", "other.mnem", stdin=exported.stdout)

    assert b"wrote" in exported.stderr and b"wrote" not in exported.stdout
    assert not Path("-").exists()
    assert imported.returncode == 0
    with mnemosyne_vcs.open("other.mnem") as other, mnemosyne_vcs.open(store.path) as first:
        same = [record.content for record in first.at().scan()]
        assert [record.content for record in other.at().scan()] == same


def test_a_bundle_is_checked_from_a_pipe(here, store):
    exported = run("export", "-", "-s", str(store.path)).stdout

    assert json.loads(run("bundle", "-", "--json", stdin=exported).stdout)["branches"]["main"]
    assert b"damaged" in run("bundle", "-", stdin=exported[:-5], code=6).stderr
    assert b"Error" in run("import", "-", "-s", str(store.path), stdin=b"", code=5).stderr


def test_a_named_pipe_and_the_name_of_stdout_are_written(here, store):
    os.mkfifo("pipe")
    read = []
    reader = Thread(target=lambda: read.append(Path("pipe").read_bytes()))
    reader.start()
    run("export", "pipe", "-s", str(store.path))
    reader.join()
    by_name = run("export", "/dev/stdout", "-s", str(store.path), "--json").stdout
    plain = run("export", "-", "-s", str(store.path)).stdout

    assert read == [plain]
    assert by_name.startswith(plain)


def test_a_named_pipe_is_read(here, store):
    lines = run("export", "-", "--format", "jsonl", "-s", str(store.path)).stdout
    os.mkfifo("pipe")
    writer = Thread(target=lambda: Path("pipe").write_bytes(lines))
    writer.start()
    run("import", "pipe", "--format", "jsonl", "-s", str(store.path))
    writer.join()


def test_a_stream_gets_all_or_nothing(repo):
    repo.put("k", 1)
    stream = io.BytesIO()
    repo.export_bundle(stream)
    with mnemosyne_vcs.open("memory://", create=True) as other:
        other.import_bundle(io.BytesIO(stream.getvalue()), prefix="theirs/")
        assert other.at("theirs/main")["k"].content == 1
    assert check_bundle(io.BytesIO(stream.getvalue())).path == "a stream"

    lines = io.BytesIO()
    with repo.transaction() as tx:
        for number in range(600):
            tx.put(f"more/{number}", number)
    with pytest.raises(ZeroDivisionError):
        repo.export_jsonl(lines, progress=lambda _: 1 / 0)
    assert not lines.getvalue()
    repo.export_jsonl(lines)
    assert repo.import_jsonl(io.BytesIO(lines.getvalue())) == repo.resolve()
    with pytest.raises(ValidationError, match="a stream, line 1"):
        repo.import_jsonl(io.BytesIO(b"["))


def test_a_closed_pipe_ends_an_export_quietly(here, store):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*MNEM, "export", "-", "-s", str(store.path)], stdout=writer, stderr=subprocess.PIPE,
        check=False,
    )  # fmt: skip
    os.close(writer)

    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)


@pytest.mark.parametrize(
    "arguments", [("backup", "-"), ("init", "-"), ("clone", "STORE", "-"), ("demo", "-")]
)
def test_a_store_is_not_written_into_a_pipe(mnem, store, arguments):
    words = [str(store.path) if word == "STORE" else word for word in arguments]

    assert "pipe" in mnem(*words, "-s", str(store.path), code=2).stderr
    assert not Path("-").exists()


def test_a_file_that_exists_is_still_left_alone(repo, tmp_path):
    (tmp_path / "x.car").write_text("mine")

    with pytest.raises(AlreadyExistsError):
        repo.export_bundle(tmp_path / "x.car")


TWICE = '{"a": 1, "b": {"c": 1, "c": 2}}'


@pytest.mark.parametrize(
    "arguments",
    [
        ("put", "k", TWICE),
        ("put", "k", "1", "--embedding", '{"a": [1], "a": [1]}'),
        ("bisect", "--key", "k", "--equals", TWICE),
    ],
)
def test_a_name_that_comes_twice_is_refused(mnem, store, arguments):
    assert "occurs twice" in mnem(*arguments, "-s", str(store.path), code=5).stderr


def test_a_name_that_comes_twice_is_refused_from_a_pipe_and_a_file(mnem, store, here):
    assert (
        "'c' occurs twice"
        in mnem("put", "k", "-", "-s", str(store.path), code=5, stdin=TWICE).stderr
    )
    (here / "x.jsonl").write_text(f'{{"key": "k", "content": {TWICE}}}')
    assert "'c' occurs twice" in mnem("import", "x.jsonl", "-s", str(store.path), code=5).stderr


@pytest.mark.parametrize("vector", [[True], [1.5, False], (True,)])
def test_truth_values_are_not_numbers(repo, tmp_path, vector):
    import numpy as np

    for given in (vector, np.array([True, False]), ["1.5"], np.array(["1"])):
        with pytest.raises(ValidationError):
            repo.put("k", 1, embedding=given)
    (tmp_path / "x.jsonl").write_text(
        json.dumps({"key": "k", "content": 1, "vectors": {"": vector}})
    )
    with pytest.raises(ValidationError, match=r"line 1: .*true or false"):
        repo.import_jsonl(tmp_path / "x.jsonl")


def test_an_empty_vector_is_called_so(repo):
    import numpy as np

    for empty in ([], (), np.array([], np.float32)):
        with pytest.raises(ValidationError, match="is empty; a vector has at least one number"):
            repo.put("k", 1, embedding=empty)
    with pytest.raises(ValidationError, match="one axis"):
        repo.put("k", 1, embedding=np.zeros((2, 2), np.float32))

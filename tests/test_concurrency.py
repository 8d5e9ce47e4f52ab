"""Many writers, sudden deaths, and damage: nothing acknowledged is lost, nothing wrong returned."""

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import mnemosyne
from mnemosyne import CorruptObjectError, MnemosyneError
from mnemosyne.objects import text_id

CHILD = Path(__file__).with_name("store_child.py")
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    children: list[subprocess.Popen[str]] = []

    def run(action: str, path: Path, name: str, count: int) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [sys.executable, str(CHILD), action, str(path), name, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        children.append(child)
        return child

    yield run
    for child in children:
        child.kill()
        child.wait()


def go(children: list["subprocess.Popen[str]"]) -> None:
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "shared.mnem"
    with mnemosyne.open(path, create=True) as repo:
        repo.put("total", 0)
    return path


def test_four_processes_lose_nothing_while_others_read(path: Path, start: Start):
    writers = [start("save", path, f"w{i}", 100) for i in range(4)]
    readers = [start("read", path, f"r{i}", 20) for i in range(2)]
    go([*writers, *readers])
    acknowledged: dict[str, str] = {}
    for child in writers:
        for line in child.communicate()[0].splitlines():
            key, commit = line.split()
            acknowledged[key] = commit
    for child in readers:
        assert child.communicate()[0].startswith("read ")
    assert [child.returncode for child in [*writers, *readers]] == [0] * 6
    repo = mnemosyne.open(path)
    now = repo.at()
    assert (len(now), now["total"].content, len(acknowledged)) == (401, 400, 400)
    for key, commit in acknowledged.items():
        blame = repo.blame(key)
        assert blame.commit.id == commit
        assert blame.commit.author == blame.record.provenance.agent == key.split("/")[0]
    assert repo.verify().ok


def test_eight_threads_lose_nothing_while_others_read(path: Path):
    repo = mnemosyne.open(path)
    errors: list[BaseException] = []
    done = threading.Event()

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                errors.append(error)
                raise

        return run

    def write(name: str) -> None:
        for i in range(100):
            repo.put(f"{name}/{i}", i, embedding=[1.0, i], author=name)

    def read() -> None:
        while not done.is_set():
            now = repo.at()
            assert len(now.search([1.0, 0.0], limit=len(now))) == len(now) - 1

    writers = [threading.Thread(target=guarded(lambda n=f"w{i}": write(n))) for i in range(8)]
    readers = [threading.Thread(target=guarded(read)) for _ in range(2)]
    for thread in [*writers, *readers]:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert errors == []
    now = repo.at()
    assert len(now) == 801
    for i in range(8):
        for j in range(0, 100, 10):
            assert repo.blame(f"w{i}/{j}").commit.author == f"w{i}"


def test_killed_writers_lose_nothing_acknowledged(path: Path, start: Start):
    chance = random.Random(20)
    acknowledged: dict[str, str] = {}
    for round_ in range(20):
        children = [start("save", path, f"k{round_}-{i}", 30) for i in range(2)]
        go(children)
        for child in children:
            for _ in range(chance.randrange(1, 15)):
                key, commit = child.stdout.readline().split()
                acknowledged[key] = commit
            child.kill()
        for child in children:
            for line in child.stdout.read().splitlines(keepends=True):
                if line.endswith("\n"):
                    key, commit = line.split()
                    acknowledged[key] = commit
            child.wait()
    repo = mnemosyne.open(path)
    now = repo.at()
    assert len(acknowledged) >= 40
    assert acknowledged.keys() <= set(now)
    assert now["total"].content == len(now) - 1
    assert {commit.id for commit in repo.log()} >= set(acknowledged.values())
    assert repo.verify().ok


def objects_of(path: Path) -> list[tuple[bytes, bytes]]:
    connection = apsw.Connection(str(path))
    rows = list(connection.execute("SELECT id, data FROM objects"))
    connection.close()
    return rows


def damage(path: Path, block: bytes, data: bytes) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE objects SET data = ? WHERE id = ?", (data, block))
    connection.close()


def test_a_flipped_byte_in_any_object_is_reported_and_never_returned(tmp_path: Path):
    path = tmp_path / "a.mnem"
    chance = random.Random(3)
    with mnemosyne.open(path, create=True) as repo:
        for i in range(2):
            with repo.transaction() as tx:
                for j in range(45):
                    tx.put(f"k/{j:02}", {"i": i, "j": j}, embedding=[i + 1.0, j])
        expected = {r.key: (r.content, r.embedding.tolist()) for r in repo.at().scan()}
    for block, data in objects_of(path):
        position = chance.randrange(len(data))
        flipped = bytes([data[position] ^ (1 << chance.randrange(8))])
        damage(path, block, data[:position] + flipped + data[position + 1 :])
        with mnemosyne.open(path) as repo:
            report = repo.verify()
            assert [p.object for p in report.problems if p.kind == "corrupt"] == [text_id(block)]
            try:
                found = {r.key: (r.content, r.embedding.tolist()) for r in repo.at().scan()}
                assert found == expected
                repo.at().search([1, 0])
            except CorruptObjectError as error:
                assert text_id(block) in str(error)
        damage(path, block, data)
    with mnemosyne.open(path) as repo:
        assert repo.verify().ok


def test_a_missing_object_is_named(tmp_path: Path):
    path = tmp_path / "a.mnem"
    with mnemosyne.open(path, create=True) as repo:
        repo.put("a", 1)
        record = text_id(next(iter(repo.blocks.node(_root(repo)).links)))
    connection = apsw.Connection(str(path))
    for block, _ in objects_of(path):
        if text_id(block) == record:
            connection.execute("DELETE FROM objects WHERE id = ?", (block,))
    connection.close()
    with mnemosyne.open(path) as repo:
        for read in (repo.at().__getitem__, repo.at().get):
            with pytest.raises(MnemosyneError, match=record):
                read("a")
        (problem,) = repo.verify().problems
        assert (problem.object, problem.kind) == (record, "not-found")


def test_a_missing_vector_is_no_absent_vector(tmp_path: Path):
    with mnemosyne.open(tmp_path / "a.mnem", create=True) as repo:
        repo.put("a", 1, embedding=[1, 2])
        (vector,) = repo.at()["a"].vectors.ids.values()
        repo.blocks.engine.delete([vector])
        record = repo.at()["a"]
        for read in (lambda: record.embedding, lambda: record.vectors.get("")):
            with pytest.raises(MnemosyneError, match=text_id(vector)):
                read()
        assert "" in record.vectors
        assert record.vectors.get("other") is None


def _root(repo: mnemosyne.Repository) -> bytes:
    from mnemosyne.objects import parse_id

    return parse_id(repo.resolve().root)

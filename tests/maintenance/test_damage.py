"""Damaged files: what is wrong is reported and named, and never returned."""

import random
from pathlib import Path

import apsw
import pytest

import mnemosyne_vcs
from mnemosyne_vcs import CorruptObjectError, MnemosyneError
from mnemosyne_vcs.engine.sqlite.statements import allow_deletion
from mnemosyne_vcs.ids import text_id


def objects_of(path: Path) -> list[tuple[bytes, bytes]]:
    connection = apsw.Connection(str(path))
    rows = list(connection.execute("SELECT id, data FROM objects"))
    connection.close()
    return rows


def with_versions(path: Path, block: bytes) -> list[bytes]:
    """An object and those that are stored as differences to it."""
    sql = (
        "WITH RECURSIVE found (n, id) AS (SELECT n, id FROM objects WHERE id = ? UNION "
        "SELECT o.n, o.id FROM objects AS o JOIN found ON o.base = found.n) SELECT id FROM found"
    )
    connection = apsw.Connection(str(path))
    found = [each for (each,) in connection.execute(sql, (block,))]
    connection.close()
    return found


def damage(path: Path, block: bytes, data: bytes) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE objects SET data = ? WHERE id = ?", (data, block))
    connection.close()


def test_a_flipped_byte_in_any_object_is_reported_and_never_returned(tmp_path: Path):
    path = tmp_path / "a.mnem"
    chance = random.Random(3)
    with mnemosyne_vcs.open(path, create=True) as repo:
        for i in range(2):
            with repo.transaction() as tx:
                for j in range(45):
                    tx.put(f"k/{j:02}", {"i": i, "j": j}, embedding=[i + 1.0, j])
        expected = {r.key: (r.content, r.embedding.tolist()) for r in repo.at().scan()}
    for block, data in objects_of(path):
        position = chance.randrange(len(data))
        flipped = bytes([data[position] ^ (1 << chance.randrange(8))])
        damage(path, block, data[:position] + flipped + data[position + 1 :])
        with mnemosyne_vcs.open(path) as repo:
            report = repo.verify()
            corrupt = {p.object for p in report.problems if p.kind == "corrupt"}
            assert corrupt == {text_id(each) for each in with_versions(path, block)}
            try:
                found = {r.key: (r.content, r.embedding.tolist()) for r in repo.at().scan()}
                assert found == expected
                repo.at().search([1, 0])
            except CorruptObjectError as error:
                assert any(each in str(error) for each in corrupt)
        damage(path, block, data)
    with mnemosyne_vcs.open(path) as repo:
        assert repo.verify().ok


def test_a_missing_object_is_named(tmp_path: Path):
    path = tmp_path / "a.mnem"
    with mnemosyne_vcs.open(path, create=True) as repo:
        repo.put("a", 1)
        record = text_id(next(iter(repo.blocks.node(_root(repo)).links)))
    connection = apsw.Connection(str(path))
    allow_deletion(connection)
    for block, _ in objects_of(path):
        if text_id(block) == record:
            connection.execute("DELETE FROM objects WHERE id = ?", (block,))
    connection.close()
    with mnemosyne_vcs.open(path) as repo:
        for read in (repo.at().__getitem__, repo.at().get):
            with pytest.raises(MnemosyneError, match=record):
                read("a")
        (problem,) = repo.verify().problems
        assert (problem.object, problem.kind) == (record, "not-found")


def test_a_missing_vector_is_no_absent_vector(tmp_path: Path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True) as repo:
        repo.put("a", 1, embedding=[1, 2])
        (vector,) = repo.at()["a"].vectors.ids.values()
        repo.blocks.engine.delete([vector])
        repo.blocks.renew()
        record = repo.at()["a"]
        for read in (lambda: record.embedding, lambda: record.vectors.get("")):
            with pytest.raises(MnemosyneError, match=text_id(vector)):
                read()
        assert "" in record.vectors
        assert record.vectors.get("other") is None


def _root(repo: mnemosyne_vcs.Repository) -> bytes:
    return repo.resolve().tree_cid

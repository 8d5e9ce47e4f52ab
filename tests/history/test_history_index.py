"""The history index is derived data: what it says is compared with the commits, not believed."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemosyne_vcs
from history.test_blame import STEPS, _do
from mnemosyne_vcs import EngineError, ReadOnlyError
from mnemosyne_vcs.engine.protocol import IndexEntry
from mnemosyne_vcs.ids import parse_id
from mnemosyne_vcs.testing._peers import fresh
from mnemosyne_vcs.testing.repository.history_index import (
    HistoryIndexContract,
    answers,
    entries,
    forge,
)
from peers import Plain


class TestHistoryIndex(HistoryIndexContract):
    pass


def test_keys_of_no_commit_are_told(tmp_path: Path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True) as repo:
        repo.put("a", 1)
    with sqlite3.connect(tmp_path / "a.mnem") as connection:
        connection.execute("INSERT INTO touched (key, n) VALUES ('stray', 99)")
    connection.close()
    with mnemosyne_vcs.open(tmp_path / "a.mnem") as repo:
        [problem] = repo.verify().problems
        assert (problem.object, problem.kind) == ("", "index")
        assert "'stray'" in problem.message
        repo.rebuild_index()
        assert repo.verify().ok


def test_who_may_not_write_reads_right_answers_and_repairs_nothing(tmp_path: Path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True) as repo:
        repo.put("a", 1, author="ann")
        repo.put("b", 1, author="bob")
        forge(repo, lambda e: replace(e, transaction="0" * 32))
    with mnemosyne_vcs.open(tmp_path / "a.mnem", read_only=True) as repo:
        assert repo.blame("a").commit.author == "ann"
        assert not repo.verify().ok
        with pytest.raises(ReadOnlyError):
            repo.rebuild_index()


def test_an_engine_without_an_index_says_so():
    with pytest.raises(EngineError, match=r"plain://.*no history index"):
        fresh(Plain()).rebuild_index()


@given(STEPS, st.randoms(use_true_random=False))
def test_on_any_history_untrue_rows_change_no_answer(steps, random):
    with mnemosyne_vcs.open("memory://", create=True) as repo:
        repo.create_branch("side")
        for step in steps:
            _do(repo, *step)
        expected, whole = answers(repo, "main", "side"), entries(repo)
        transactions = [entry.transaction for entry in whole]

        def lie(entry: IndexEntry) -> IndexEntry:
            keys = set(entry.keys)
            if random.random() < 0.3:
                keys.add(random.choice("abcd"))
            if random.random() < 0.3:
                return replace(entry, transaction=random.choice(transactions), keys=keys)
            return replace(entry, keys=keys)

        forge(repo, lie)
        assert answers(repo, "main", "side") == expected
        changed = {(e.commit, e.transaction, frozenset(e.keys)) for e in entries(repo)}
        true = {(e.commit, e.transaction, frozenset(e.keys)) for e in whole}
        assert {parse_id(p.object) for p in repo.verify().problems} == {
            commit for commit, *_ in changed - true
        }
        repo.rebuild_index()
        assert repo.verify().ok

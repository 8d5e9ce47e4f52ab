"""A repository and a transaction, used as mappings."""

import pytest

from mnemosyne_vcs import NotFoundError, TransactionDoneError


def test_a_repository_reads_main(repo):
    assert repo
    assert len(repo) == 0
    repo.put("b", 2)
    repo.put("a", 1)
    repo.create_branch("trial")
    repo.put("c", 3, branch="trial")

    assert repo["a"].content == 1
    assert "b" in repo
    assert "c" not in repo
    assert list(repo) == ["a", "b"]
    assert len(repo) == 2
    assert repo.get("c") is None
    assert repo.get("c", 7) == 7
    with pytest.raises(NotFoundError, match="'c'"):
        repo["c"]


def test_a_transaction_is_written_as_a_mapping(repo):
    repo.put("gone", 0)
    with repo.transaction() as tx:
        tx["a"] = {"n": 1}
        del tx["gone"]
        assert len(tx) == 1
        with pytest.raises(NotFoundError, match="gone"):
            del tx["gone"]

    assert {key: repo[key].content for key in repo} == {"a": {"n": 1}}


def test_what_is_rolled_back_is_not_written(repo):
    head = repo.resolve()
    with repo.transaction() as tx:
        tx["a"] = 1
        tx.rollback()
        with pytest.raises(TransactionDoneError, match="rolled back"):
            tx["b"] = 2

    assert repo.resolve() == head
    with pytest.raises(TransactionDoneError):
        tx.rollback()

"""Values can be hashed, compared, copied and pickled; what holds a store says that it cannot."""

import copy
import json
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, is_dataclass
from multiprocessing import get_context

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import ConflictError, Provenance, RefConflictError, TransactionDoneError


@pytest.fixture
def values(repo, tmp_path):
    """One or more of each kind of value that the public methods give."""
    repo.put("a/1", {"plan": "Team", "tags": ["x"]}, embedding=[1, 0.5], event_time=1)
    repo.put("a/2", [1, 2], provenance=Provenance(source="s"), vectors={"v": [1, 2, 3]})
    repo.create_branch("side")
    repo.put("a/1", "main", message="here", embedding=[0, 1])
    repo.put("a/1", "side", branch="side")
    repo.create_tag("v1")
    with pytest.raises(ConflictError) as clash:
        repo.merge("side")
    bundle = repo.export_bundle(tmp_path / "all.car")
    with mnemosyne_vcs.open("memory://", create=True) as other:
        transfer = other.fetch(repo)
    memory = repo.at()
    return {
        "record": memory["a/1"],
        "vectors": memory["a/1"].vectors,
        "hit": memory.search([1, 0])[0],
        "blame": repo.blame("a/1"),
        "change": next(iter(repo.diff("main~1", "main"))),
        "commit": repo.transact(lambda tx: tx.put("b", 1), trailers={"Run-Id": "r"}),
        "provenance": memory["a/2"].provenance,
        "conflict": clash.value.conflicts[0],
        "traced": next(iter(repo.trace(source="s"))),
        "reflog entry": next(iter(repo.reflog())),
        "bundle": bundle,
        "transfer": transfer,
        "stats": repo.stats(),
        "report": repo.verify(),
        "garbage": repo.gc(dry_run=True),
        "retraction": repo.retract(source="s"),
    }


KINDS = [
    "record", "vectors", "hit", "blame", "change", "commit", "provenance", "conflict",
    "retraction", "traced", "reflog entry", "bundle", "transfer",
    "stats", "report", "garbage",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_survives_copying_and_pickling(values, repo, kind):
    value = values[kind]
    repo.close()

    again = pickle.loads(pickle.dumps(value))

    assert type(again) is type(value)
    assert again == value and copy.deepcopy(value) == value and copy.copy(value) == value
    assert len({value, again, copy.copy(value)}) == 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "vectors"])
def test_a_value_becomes_a_dict(values, kind):
    assert is_dataclass(values[kind])
    assert asdict(values[kind])


def test_every_kind_is_tried(values):
    assert set(values) == set(KINDS)


def test_a_pickled_record_has_its_vectors_without_its_repository(repo):
    repo.put("k", 1, embedding=[1, 0.5], vectors={"other": [3]})
    data = pickle.dumps(repo.at()["k"])
    repo.put("k", 2)
    repo.close()

    record = pickle.loads(data)

    assert record.embedding.tolist() == [1, 0.5] and record.vectors["other"].tolist() == [3]
    assert not record.embedding.flags.writeable
    assert pickle.loads(pickle.dumps(record)) == record


def test_the_mappings_of_a_value_cannot_be_changed(values):
    trailers = values["commit"].trailers

    for change in (
        lambda: trailers.update(x="y"),
        lambda: trailers.__setitem__("x", "y"),
        lambda: trailers.pop("Run-Id"),
        trailers.clear,
        lambda: trailers.setdefault("x", "y"),
        trailers.popitem,
        lambda: trailers.__delitem__("Run-Id"),
        lambda: trailers.__ior__({"x": "y"}),
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    assert trailers == {"Run-Id": "r"} and trailers | {"x": "y"} == {"Run-Id": "r", "x": "y"}
    assert json.dumps(asdict(values["commit"]))


def test_records_differ_by_what_they_say(repo):
    repo.put("k", 1, embedding=[1, 2])
    before = repo.at()["k"]
    repo.put("k", 1, embedding=[1, 3])
    after = repo.at()["k"]

    assert before != after and len({before, after}) == 2
    assert before.vectors != after.vectors


def test_commits_make_a_set(repo):
    repo.put("k", 1)
    repo.put("k", 2)

    assert len({*repo.log(), *repo.log()}) == 2


def _lose(url):
    with mnemosyne_vcs.open(url) as repo:
        tx = repo.transaction()
        tx.put("k", {"mine": 1}, embedding=[1, 2])
        repo.put("k", {"theirs": 2}, embedding=[3, 4])
        tx.commit()


def test_a_conflict_crosses_from_a_worker(shared_url):
    mnemosyne_vcs.open(shared_url, create=True).close()

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        error = pool.submit(_lose, shared_url).exception()

    assert type(error) is ConflictError
    [conflict] = error.conflicts
    assert (conflict.key, conflict.kind) == ("k", "add/add")
    assert conflict.ours.embedding.tolist() == [1, 2]
    assert conflict.theirs.embedding.tolist() == [3, 4]
    assert type(copy.deepcopy(error)) is ConflictError


def test_what_holds_a_store_says_that_it_cannot_be_pickled(repo):
    for value, hint in (
        (repo, "url"),
        (repo.at(), "commit.id"),
        (repo.transaction(), "transaction"),
        (repo.plan_merge("main"), "plan"),
    ):
        for act in (pickle.dumps, copy.deepcopy, copy.copy):
            with pytest.raises(TypeError, match=hint):
                act(value)


class Broken(Exception):
    pass


USES = {
    "put": lambda tx: tx.put("y", 1),
    "delete": lambda tx: tx.delete("x"),
    "move": lambda tx: tx.move("x", "y"),
    "get": lambda tx: tx.get("x"),
    "item": lambda tx: tx["x"],
    "in": lambda tx: "x" in tx,
    "scan": lambda tx: tx.scan(),
    "scan_keys": lambda tx: tx.scan_keys(),
    "iter": iter,
    "depends_on": lambda tx: tx.depends_on(),
    "commit": lambda tx: tx.commit(),
}


@pytest.mark.parametrize("use", USES)
def test_a_committed_transaction_is_over(repo, use):
    with repo.transaction() as tx:
        tx.put("x", 1)

    with pytest.raises(TransactionDoneError, match=tx.committed.id):
        USES[use](tx)
    assert list(repo.at()) == ["x"]


@pytest.mark.parametrize("use", USES)
def test_a_transaction_that_was_given_up_is_over(repo, use):
    with pytest.raises(Broken), repo.transaction() as tx:
        tx.put("x", 1)
        raise Broken

    with pytest.raises(TransactionDoneError, match="rolled back"):
        USES[use](tx)
    assert list(repo.at()) == []


@pytest.mark.parametrize("use", USES)
def test_a_transaction_whose_commit_failed_at_the_end_of_its_block_is_over(repo, use):
    with pytest.raises(ConflictError), repo.transaction() as tx:
        tx.put("x", 1)
        repo.put("x", 2)

    with pytest.raises(TransactionDoneError):
        USES[use](tx)


def test_a_transaction_that_changed_nothing_is_over_too(repo):
    tx = repo.transaction()
    assert tx.commit() == repo.resolve()

    with pytest.raises(TransactionDoneError):
        tx.put("x", 1)


def test_a_commit_that_failed_may_be_tried_again(repo):
    tx = repo.transaction()
    tx.put("x", 1)
    repo.put("x", 2)
    for _ in range(2):
        with pytest.raises(ConflictError) as lost:
            tx.commit()
        assert not isinstance(lost.value, RefConflictError)


def test_a_transaction_that_transact_ran_is_over(repo):
    seen = []
    repo.transact(lambda tx: (seen.append(tx), tx.put("x", 1)))

    with pytest.raises(TransactionDoneError):
        seen[0].put("y", 1)


def test_a_commit_says_what_it_is(repo):
    commit = repo.put("a", 1, author="me", message="why\nand more")

    assert str(commit) == commit.id
    assert commit.id[7:17] == commit.short_id
    assert repo.resolve(commit.short_id) == repo.resolve(str(commit)) == commit
    assert repr(commit).startswith(f"<Commit {commit.short_id} ")
    assert repr(commit).endswith(" by me: why>")


def test_what_a_repr_quotes_stays_on_its_line(repo):
    commit = repo.put("a", 1, author="me\n<Commit forged>", message="x\u202ey")

    assert "\n" not in repr(commit)
    assert r"me\n<Commit forged>: x\u202ey" in repr(commit)


def test_a_repr_leaves_out_what_is_not_known(repo):
    repo.put("a", {"n": 1}, provenance=Provenance(source="mail"))
    record = repo["a"]

    assert repr(record.provenance) == "Provenance(source='mail')"
    assert repr(record) == (
        "Record(key='a', content={'n': 1}, "
        f"provenance=Provenance(source='mail'), transaction_id='{record.transaction_id}')"
    )


def test_a_repr_of_a_large_record_is_short(repo):
    repo.put("a", {str(n): "long " * 1_000 for n in range(1_000)})

    assert len(repr(repo["a"])) < 3_000
    assert repr(repo.at()) == f"<Snapshot of {repo.resolve().short_id}: 1 record>"

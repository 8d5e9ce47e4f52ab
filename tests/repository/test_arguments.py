"""Whatever is given where a text or a revision is expected, the answer is a typed error or none."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    InvalidRevisionError,
    MnemosyneError,
    NotFoundError,
    Provenance,
    ValidationError,
)
from mnemosyne_vcs.refs import ROOT_COMMIT

HALF = "\ud83d"
"""Half an emoji, which cannot be encoded."""

REVISIONS = {
    "resolve": lambda repo, x: repo.resolve(x),
    "at": lambda repo, x: repo.at(x),
    "log": lambda repo, x: list(repo.log(x)),
    "history": lambda repo, x: list(repo.history("k", x)),
    "blame": lambda repo, x: repo.blame("k", x),
    "blame_all": lambda repo, x: list(repo.blame_all("", x)),
    "diff from": lambda repo, x: list(repo.diff(x)),
    "diff to": lambda repo, x: list(repo.diff("main", x)),
    "bisect good": lambda repo, x: repo.bisect(lambda memory: "k" in memory, good=x),
    "bisect bad": lambda repo, x: repo.bisect(lambda memory: "k" in memory, bad=x),
    "merge_base": lambda repo, x: repo.merge_base(x, x),
    "merge": lambda repo, x: repo.merge(x),
    "create_branch": lambda repo, x: repo.create_branch("new", x),
    "create_tag": lambda repo, x: repo.create_tag("new", x),
    "revert": lambda repo, x: repo.revert(x),
    "cherry_pick": lambda repo, x: repo.cherry_pick(x),
    "restore": lambda repo, x: repo.restore(source=x),
    "trace": lambda repo, x: list(repo.trace(commit=x)),
    "retract": lambda repo, x: repo.retract(commit=x),
}
KEYS = {
    "history": lambda repo, x: list(repo.history(x)),
    "blame": lambda repo, x: repo.blame(x),
    "blame of a field": lambda repo, x: repo.blame(x, field="f"),
    "log": lambda repo, x: list(repo.log(key=x)),
    "log of a line": lambda repo, x: list(repo.log(key=x, first_parent=True)),
    "memory": lambda repo, x: repo.at()[x],
    "read_many": lambda repo, x: list(repo.at().read_many([x])),
    "put": lambda repo, x: repo.put(x, 1),
    "delete": lambda repo, x: repo.delete(x),
    "transaction": lambda repo, x: repo.transaction()[x],
    "transaction delete": lambda repo, x: repo.transaction().delete(x),
    "transaction move": lambda repo, x: repo.transaction().move(x, "new"),
    "transaction move to": lambda repo, x: repo.transaction().move("k", x),
}
PREFIXES = {
    "blame_all": lambda repo, x: list(repo.blame_all(x)),
    "log": lambda repo, x: list(repo.log(prefix=x)),
    "log of a line": lambda repo, x: list(repo.log(prefix=x, first_parent=True)),
    "diff": lambda repo, x: list(repo.diff("main~1", prefix=x)),
    "restore": lambda repo, x: repo.restore(x, source="main~1"),
    "scan": lambda repo, x: list(repo.at().scan(x)),
    "scan_keys": lambda repo, x: list(repo.at().scan_keys(x)),
    "count": lambda repo, x: repo.at().count(x),
    "children": lambda repo, x: list(repo.at().children(x)),
    "search": lambda repo, x: repo.at().search([1, 2], prefix=x),
    "transaction": lambda repo, x: list(repo.transaction().scan(x)),
    "transaction scan_keys": lambda repo, x: list(repo.transaction().scan_keys(x)),
    "transaction depends_on": lambda repo, x: repo.transaction().depends_on(x),
    "export": lambda repo, x: repo.export_jsonl("/nowhere/at/all", prefix=x),
}
NAMES = {
    "branch": lambda repo, x: repo.create_branch(x),
    "tag": lambda repo, x: repo.create_tag(x),
    "delete_branch": lambda repo, x: repo.delete_branch(x),
    "delete_tag": lambda repo, x: repo.delete_tag(x),
    "reflog": lambda repo, x: list(repo.reflog(x)),
    "put": lambda repo, x: repo.put("k", 1, branch=x),
    "transaction": lambda repo, x: repo.transaction(x),
    "merge": lambda repo, x: repo.merge("side", x),
    "undo": lambda repo, x: repo.undo(branch=x),
    "trace": lambda repo, x: list(repo.trace(source="s", branches=[x])),
    "remote": lambda repo, x: repo.add_remote(x, "elsewhere.mnem"),
    "remove_remote": lambda repo, x: repo.remove_remote(x),
    "remote_branches": lambda repo, x: repo.remote_branches(x),
    "fetch": lambda repo, x: repo.fetch(repo, branches=[x]),
    "push": lambda repo, x: repo.push(repo, x),
    "export": lambda repo, x: repo.export_bundle("/nowhere/at/all", branches=[x]),
    "index": lambda repo, x: repo.create_vector_index(x),
}
TEXTS = {
    "author": lambda repo, x: repo.put("new", 1, author=x),
    "message": lambda repo, x: repo.put("new", 1, message=x),
    "trailer": lambda repo, x: repo.transact(lambda tx: tx.put("new", 1), trailers={"T": x}),
    "trailer's name": lambda repo, x: repo.transact(lambda tx: tx.put("new", 1), trailers={x: "v"}),
    "trailer to undo": lambda repo, x: repo.undo(trailer=("Run-Id", x)),
    "trailer's name to undo": lambda repo, x: repo.undo(trailer=(x, "v")),
    "pair to undo": lambda repo, x: repo.undo(trailer=x or "x"),
    "trailer of a log": lambda repo, x: list(repo.log(trailer=(x, "v"))),
    "embedder": lambda repo, x: repo.put("new", 1, embedder=x),
    "vector": lambda repo, x: repo.put("new", 1, vectors={x: [1, 2]}),
    "source": lambda repo, x: repo.put("new", 1, provenance=Provenance(source=x)),
    "step": lambda repo, x: repo.put("new", 1, provenance=Provenance(step=x or "x")),
    "content": lambda repo, x: repo.put("new", [x] if x == HALF else x),
    "search of a vector": lambda repo, x: repo.at().search([1, 2], vector=x),
    "opening": lambda repo, x: mnemosyne_vcs.open("memory://", create=True, author=x),
    "cloning": lambda repo, x: mnemosyne_vcs.clone(repo, "memory://", author=x),
}


@pytest.fixture(autouse=True)
def filled(repo):
    repo.put("k", {"f": 1}, embedding=[1, 2])
    repo.create_branch("side")
    repo.put("k", {"f": 2}, branch="side")


@pytest.mark.parametrize("use", REVISIONS)
def test_a_revision_may_be_a_commit(repo, use):
    given = ROOT_COMMIT if use == "bisect good" else repo.resolve()

    REVISIONS[use](repo, given)


@pytest.mark.parametrize("use", REVISIONS)
def test_a_commit_of_another_repository_is_not_found(repo, use):
    with mnemosyne_vcs.open("memory://", create=True) as other, pytest.raises(NotFoundError):
        REVISIONS[use](repo, other.put("k", 1))


@pytest.mark.parametrize("wrong", [HALF, 3, b"main", ["main"], f"{HALF}~1"])
@pytest.mark.parametrize("use", REVISIONS)
def test_what_is_not_a_revision_is_refused(repo, use, wrong):
    with pytest.raises(InvalidRevisionError):
        REVISIONS[use](repo, wrong)


@pytest.mark.parametrize("wrong", [HALF, 3, None, b"k"])
@pytest.mark.parametrize("use", [use for use in KEYS if not use.startswith("log")])
def test_what_is_not_a_key_is_refused(repo, use, wrong):
    with pytest.raises((ValidationError, NotFoundError)):
        KEYS[use](repo, wrong)


@pytest.mark.parametrize("wrong", [HALF, 3, b"k"])
@pytest.mark.parametrize("use", [use for use in KEYS if use.startswith("log")])
def test_what_is_not_a_key_is_refused_by_a_log(repo, use, wrong):
    with pytest.raises(ValidationError):
        KEYS[use](repo, wrong)


@pytest.mark.parametrize("wrong", [HALF, 3, b"k"])
@pytest.mark.parametrize("use", PREFIXES)
def test_what_is_not_a_prefix_is_refused(repo, use, wrong):
    with pytest.raises(ValidationError):
        PREFIXES[use](repo, wrong)


@pytest.mark.parametrize("wrong", [HALF, 3, b"main", "a b", ""])
@pytest.mark.parametrize("use", NAMES)
def test_what_is_not_a_name_is_refused(repo, use, wrong):
    with pytest.raises(MnemosyneError):
        NAMES[use](repo, wrong)


@pytest.mark.parametrize("wrong", [HALF, 3.5, {1}])
@pytest.mark.parametrize("use", TEXTS)
def test_what_is_not_a_text_is_refused(repo, use, wrong):
    if use == "content" and wrong == 3.5:
        pytest.skip("numbers are contents")
    if isinstance(wrong, set) and use in ("vector", "trailer's name"):
        pytest.skip("sets name nothing")
    with pytest.raises(ValidationError):
        TEXTS[use](repo, wrong)
    assert list(repo.at()) == ["k"]


def test_a_look_for_what_cannot_be_a_key_finds_nothing(repo):
    memory = repo.at()

    assert HALF not in memory and 3 not in memory
    assert memory.get(HALF, "none") == "none"
    with repo.transaction() as tx:
        assert HALF not in tx and 3 not in tx
        assert tx.get(HALF, "none") == "none"


def test_a_transaction_gives_its_keys_in_order(repo):
    with repo.transaction() as tx:
        tx.put("a", 1)
        tx.put("z", 1)
        assert list(tx) == ["a", "k", "z"]
        tx.delete("k")
        assert list(tx) == ["a", "z"]


@pytest.mark.parametrize("limit", [-1, True, "3", 1.5])
def test_a_limit_is_a_number_of_things(repo, limit):
    for use in (lambda: list(repo.log(limit=limit)), lambda: list(repo.at().scan(limit=limit))):
        with pytest.raises(ValidationError, match="limit"):
            use()


def test_a_limit_may_be_larger_than_anything(repo):
    assert len(list(repo.log(limit=10**30))) == len(list(repo.at().scan(limit=10**30))) == 1

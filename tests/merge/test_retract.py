"""What retracting gives back: where to, and with all that belongs to the record."""

import pytest

from mnemosyne_vcs import Provenance, Repository, Transaction


def present(repo: Repository) -> dict[str, object]:
    return {record.key: record.content for record in repo.at().scan()}


def moves(repo: Repository, *pairs: tuple[str, str]) -> str:
    """Move records in one commit, in this order."""

    def run(tx: Transaction) -> None:
        for old, new in pairs:
            tx.move(old, new)

    return repo.transact(run).id


def test_a_key_is_free_once_its_record_has_gone_back(repo: Repository):
    repo.put("b", "B")
    repo.put("a", "A")
    bad = moves(repo, ("b", "c"), ("a", "b"))

    done = repo.retract(commit=bad)

    assert present(repo) == {"a": "A", "b": "B"}
    assert [(c.key, c.kind) for c in done.changes["main"]] == [("a", "moved"), ("b", "moved")]


def test_a_record_goes_back_to_another_scope_with_its_id(repo: Repository):
    repo.put("/a/r", 1)
    bad = moves(repo, ("/a/r", "/b/r"))

    repo.retract(commit=bad)

    assert present(repo) == {"/a/r": 1}


def test_an_id_is_free_once_the_record_that_took_it_has_gone_back(repo: Repository):
    repo.put("/a/1", "A")
    repo.put("/c/2", "C")
    bad = moves(repo, ("/c/2", "/d/3"), ("/a/1", "/b/2"))

    repo.retract(commit=bad)

    assert present(repo) == {"/a/1": "A", "/c/2": "C"}


def test_an_id_that_a_record_has_taken_back_belongs_to_it(repo: Repository):
    repo.put("/a/1", "A")
    repo.put("/e/2", "E")
    repo.delete("/e/2")
    repo.put("/c/2", "C")
    bad = moves(repo, ("/c/2", "/d/3"), ("/a/1", "/b/9"))
    repo.put("/x/2", "X")

    done = repo.retract(commit=bad)

    assert present(repo) == {"/a/1": "A", "/x/2": "X"}
    assert [(c.key, c.kind) for c in done.changes["main"]] == [
        ("/a/1", "moved"),
        ("/d/3", "removed"),
    ]


def test_a_key_without_an_id_is_free_whatever_ids_there_are(repo: Repository):
    repo.put("k", 1)
    repo.put("/x/", "no id")
    bad = moves(repo, ("k", "/a/r"))

    repo.retract(commit=bad)

    assert present(repo) == {"k": 1, "/x/": "no id"}


def test_what_stood_under_another_key_comes_back_with_all_that_belongs_to_it(repo: Repository):
    known = Provenance(source="handbook", agent="editor")
    good = repo.put(
        "old",
        "good",
        embedding=[1, 0.5],
        vectors={"title": [3]},
        embedder="model-1",
        provenance=known,
        event_time=7,
    )
    repo.put("old", "bad", provenance=Provenance(source="leaked.pdf"))
    repo.transact(lambda tx: tx.move("old", "new"))

    repo.retract(source="leaked.pdf")

    record = repo.at()["new"]
    assert (record.content, record.provenance) == ("good", known)
    assert (record.embedder, record.event_time) == ("model-1", 7)
    assert {name: vector.tolist() for name, vector in record.vectors.items()} == {
        "": [1, 0.5],
        "title": [3],
    }
    before = repo.at(good)["old"].vectors.ids
    assert not set(record.vectors.ids.values()) & set(before.values()), "each key has its own"
    assert repo.verify().ok


def test_a_record_does_not_go_back_onto_one_that_took_its_place(repo: Repository):
    repo.put("a", "A")
    bad = moves(repo, ("a", "b"))
    repo.put("a", "another")

    repo.retract(commit=bad)

    assert present(repo) == {"a": "another"}


def test_a_record_that_had_been_deleted_before_is_deleted_again(repo: Repository):
    repo.put("a", "old")
    repo.delete("a")
    bad = repo.put("a", "bad").id

    done = repo.retract(commit=bad)

    assert present(repo) == {}
    assert [(c.key, c.kind) for c in done.changes["main"]] == [("a", "removed")]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_move_onto_another_record_gives_both_back(repo: Repository, order: str):
    for key in order:
        repo.put(key, key.upper())

    def run(tx: Transaction) -> None:
        tx.delete("b")
        tx.move("a", "b")

    done = repo.retract(commit=repo.transact(run).id)

    assert present(repo) == {"a": "A", "b": "B"}
    assert [(c.key, c.kind) for c in done.changes["main"]] == [("a", "moved"), ("b", "changed")]


@pytest.mark.parametrize("pairs", [[("x", "a"), ("y", "x")], [("x", "z"), ("y", "x")]])
def test_a_chain_of_moves_goes_back_in_any_order_of_keys(
    repo: Repository, pairs: list[tuple[str, str]]
):
    repo.put("x", "X")
    repo.put("y", "Y")
    bad = moves(repo, *pairs)

    repo.retract(commit=bad)

    assert present(repo) == {"x": "X", "y": "Y"}


def test_a_record_that_was_moved_to_and_fro_and_replaced_is_what_it_was(repo: Repository):
    repo.put("a", "A")
    bad = moves(repo, ("a", "b"), ("b", "a"))

    repo.retract(commit=bad)

    assert present(repo) == {"a": "A"}


def test_a_move_that_was_deleted_and_put_back_goes_back(repo: Repository):
    repo.put("a", "A")
    bad = moves(repo, ("a", "b"))
    repo.delete("b")
    repo.undo()

    repo.retract(commit=bad)

    assert present(repo) == {"a": "A"}


def test_a_moved_record_whose_place_is_taken_leaves_what_it_replaced(repo: Repository):
    repo.put("a", "A")
    repo.put("b", "B")

    def run(tx: Transaction) -> None:
        tx.delete("b")
        tx.move("a", "b")

    bad = repo.transact(run).id
    repo.put("a", "another")

    done = repo.retract(commit=bad)

    assert present(repo) == {"a": "another", "b": "B"}
    assert [(c.key, c.kind) for c in done.changes["main"]] == [("b", "changed")]

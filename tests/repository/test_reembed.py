"""Giving the records of a branch the vectors of another model."""

from typing import Any

import numpy as np
import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    DimensionError,
    NotFoundError,
    Provenance,
    ReadOnlyError,
    Repository,
    ValidationError,
)


class Model:
    """A model that counts what it is asked: three numbers for each text."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.asked.append(texts)
        return [[float(len(text)), 1.0, 0.0] for text in texts]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def filled(repo: Repository) -> Repository:
    known = Provenance(source="mail", agent="Ann")
    with repo.transaction(author="ann", message="learn") as tx:
        tx.put("a", "text", embedding=[1, 0], embedder="old", provenance=known, event_time=7)
        tx.put("b", {"x": "é"}, vectors={"": [0, 1], "image": [1, 2, 3, 4]}, embedder="old")
        tx.put("c", "no vector")
        tx.put("d", "other vector", vectors={"image": [1, 2, 3, 4]})
        tx.put("e", "text", embedding=[1, 1])
    return repo


def test_every_vector_is_replaced_in_one_commit_and_the_rest_stays(
    filled: Repository, model: Model
):
    before = dict(filled.at())
    commit = filled.reembed(model, embedder="new", author="bob")
    after = filled.at()
    assert (commit.author, commit.message) == ("bob", "re-embed 3 records with new")
    assert model.asked == [["text", '{"x": "é"}']]
    assert after["a"].embedding.tolist() == after["e"].embedding.tolist() == [4.0, 1.0, 0.0]
    assert after["b"].embedding.tolist() == [10.0, 1.0, 0.0]
    assert after["b"].vectors["image"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert [after[key].embedder for key in "abe"] == ["new"] * 3
    for key, record in before.items():
        assert after[key].content == record.content
        assert after[key].provenance == record.provenance
        assert after[key].event_time == record.event_time
    assert [after[key].transaction_id == before[key].transaction_id for key in "cd"] == [True, True]
    assert after.dimensions() == [3]
    assert filled.verify().ok


def test_blame_of_the_content_stays(filled: Repository, model: Model):
    commit = filled.reembed(model)
    assert filled.blame("a").commit == commit
    assert filled.blame("b", field="x").commit.author == "ann"
    assert [blame.commit.message for blame in filled.history("a")] == [commit.message, "learn"]


def test_once_more_changes_nothing(filled: Repository, model: Model):
    commit = filled.reembed(model, embedder="new")
    assert filled.reembed(model, embedder="new") == commit


def test_undo_brings_the_old_vectors_back(filled: Repository, model: Model):
    filled.reembed(model)
    filled.undo()
    assert filled.at()["a"].embedding.tolist() == [1.0, 0.0]
    assert filled.at()["a"].embedder == "old"


def test_what_is_embedded_can_be_chosen(filled: Repository, model: Model):
    filled.reembed(model, text=lambda record: record.key * 2 if record.key != "b" else "bb")
    assert filled.at()["e"].embedding.tolist() == [2.0, 1.0, 0.0]
    assert model.asked == [["aa", "bb", "ee"]]


def test_vectors_of_another_name(filled: Repository, model: Model):
    filled.reembed(model, vector="image", message="new images")
    assert filled.at()["d"].vectors["image"].tolist() == [12.0, 1.0, 0.0]
    assert filled.at()["b"].embedding.tolist() == [0.0, 1.0]
    assert filled.resolve().message == "new images"


def test_only_a_prefix(repo: Repository, model: Model):
    with repo.transaction() as tx:
        for key in ("x/a", "x/b", "y/a"):
            tx.put(key, key, embedding=[1, 0])
    repo.reembed(model, prefix="x/")
    assert repo.at().dimensions() == [2, 3]
    head = repo.resolve()
    with pytest.raises(DimensionError, match="embeddings of 2 and 3 dimensions"):
        repo.reembed(lambda texts: [[1.0, 0.0]] * len(texts), prefix="x/a")
    assert repo.resolve() == head
    repo.reembed(lambda texts: [[1.0, 0.0]] * len(texts), prefix="x/a", allow_mixed_vectors=True)
    assert len(repo.at()["x/a"].embedding) == 2


def test_a_record_can_be_left_as_it_is(repo: Repository):
    with repo.transaction() as tx:
        tx.put("x/a", "a", embedding=[1, 0])
        tx.put("x/b", "b", embedding=[1, 0])
    repo.reembed(
        lambda texts: [[0.0, 1.0]] * len(texts),
        text=lambda record: "a" if record.key == "x/a" else None,
    )
    assert repo.at()["x/b"].embedding.tolist() == [1.0, 0.0]
    assert repo.at()["x/a"].embedding.tolist() == [0.0, 1.0]


def test_many_texts_are_embedded_some_at_a_time(repo: Repository, model: Model):
    with repo.transaction() as tx:
        for n in range(300):
            tx.put(f"k/{n:03}", f"{n}", embedding=[1, n])
    repo.reembed(model)
    assert [len(texts) for texts in model.asked] == [128, 128, 44]


def test_arrays_and_the_own_model_of_the_repository(new_url: Any):
    def embed(texts: list[str]) -> Any:
        return np.ones((len(texts), 5), dtype=np.float32)

    url = new_url()
    with mnemosyne_vcs.open(url, create=True) as repo:
        repo.put("a", "text", embedding=[1, 0])
        with pytest.raises(ValidationError, match="`embed`"):
            repo.reembed()
    with mnemosyne_vcs.open(url, embed=embed) as repo:
        repo.reembed()
        assert repo.at().dimensions() == [5]


@pytest.mark.parametrize(
    ("embed", "text", "message"),
    [
        (lambda texts: [], None, "0 vectors for 2 texts"),
        (lambda texts: [[1.0]] * 3, None, "3 vectors for 2 texts"),
        (lambda texts: [[float("nan")]] * len(texts), None, "'a'.*finite"),
        (lambda texts: [[1.0]], lambda record: 5, "returned a int for 'a'"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    filled: Repository, embed: Any, text: Any, message: str
):
    head = filled.resolve()
    with pytest.raises(ValidationError, match=message):
        filled.reembed(embed, **({"text": text} if text else {}))
    assert filled.resolve() == head


def test_vectors_of_several_dimensions_are_refused(repo: Repository):
    with repo.transaction() as tx:
        for key in ("k/a", "k/bb"):
            tx.put(key, key, embedding=[1, 0])
    with pytest.raises(DimensionError, match="of 3 and 4 dimensions"):
        repo.reembed(lambda texts: [[1.0] * len(text) for text in texts])


def test_an_error_of_the_model_is_passed_on(filled: Repository):
    def fail(texts: list[str]) -> Any:
        raise ConnectionError("no model")

    head = filled.resolve()
    with pytest.raises(ConnectionError):
        filled.reembed(fail)
    assert filled.resolve() == head


def test_other_branches_and_stores_that_cannot_be_written(
    filled: Repository, model: Model, new_url: Any
):
    filled.create_branch("trial")
    filled.reembed(model, branch="trial")
    assert (filled.at().dimensions(), filled.at("trial").dimensions()) == ([2], [3])
    with pytest.raises(NotFoundError):
        filled.reembed(model, branch="none")
    url = new_url()
    mnemosyne_vcs.open(url, create=True).close()
    with mnemosyne_vcs.open(url, read_only=True) as repo, pytest.raises(ReadOnlyError):
        repo.reembed(model)


def test_a_branch_that_moves_meanwhile_is_embedded_whole_and_no_text_twice(repo: Repository):
    repo.put("k/a", "a", embedding=[1, 0])
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        if len(asked) == 1:
            repo.put("k/b", "b", embedding=[0, 1])
        return [[1.0, 2.0, 3.0]] * len(texts)

    commit = repo.reembed(embed)
    assert asked == [["a"], ["b"]]
    assert commit.message == "re-embed 2 records"
    assert repo.at().dimensions() == [3]


def test_two_sides_that_were_both_embedded_anew_merge(filled: Repository, model: Model):
    filled.create_branch("side")
    filled.put("f", "side", embedding=[5, 5], branch="side")
    filled.reembed(model)
    filled.put("g", "main", embedding=[5, 5, 5])
    with pytest.raises(DimensionError, match="re-embed one side first"):
        filled.merge("side")
    filled.reembed(model, branch="side")
    filled.merge("side")
    assert filled.at().dimensions() == [3]
    assert {"f", "g"} <= set(filled.at())

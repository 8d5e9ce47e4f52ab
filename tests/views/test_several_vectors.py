"""Several vectors of one record are ranked as one, by their maximum."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import DimensionError, ValidationError

NAMES = ["", "chunk/1", "chunk/2", "chunk/3", "chunks", "title"]
NUMBERS = [-1.0, 0.0, 0.5, 1.0, 2.0]


def a_vector(rng, dimension):
    if rng.random() < 0.6:
        return rng.choice(NUMBERS, dimension).astype(np.float32)
    return rng.standard_normal(dimension).astype(np.float32)


def written(repository, rng, branch, keys):
    """Write some keys, each with vectors of some names; returns them."""
    made = {}
    with repository.transaction(branch) as tx:
        for key in keys:
            names = [name for name in NAMES if rng.random() < 0.5]
            made[key] = {name: a_vector(rng, rng.choice([2, 3, 3])) for name in names}
            tx.put(key, {"even": int(key[-1]) % 2 == 0}, vectors=made[key])
    return made


def reference(state, query, prefix, cosine, passes, limit, least):
    scores = {}
    for key, vectors in state.items():
        found = [
            cosine(each, query)
            for name, each in vectors.items()
            if name.startswith(prefix) and len(each) == len(query)
        ]
        if found and passes(key) and max(found) >= least:
            scores[key] = max(found)
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**9),
    count=st.sampled_from([1, 5, 40]),
    prefix=st.sampled_from(["", "chunk", "chunk/", "chunk/2", "title", "none"]),
    limit=st.sampled_from([0, 1, 3, 100]),
    least=st.sampled_from([-1.0, 0.0, 0.7]),
    below=st.sampled_from(["", "a/"]),
    even=st.booleans(),
)
def test_the_best_vector_of_each_record_counts(
    cosine, seed, count, prefix, limit, least, below, even
):
    rng = np.random.default_rng(seed)
    keys = [f"{'ab'[at % 2]}/{at}" for at in range(count)]
    with mnemosyne_vcs.open("memory://", create=True) as repository:
        states = {"main": written(repository, rng, "main", keys)}
        repository.create_branch("side")
        some = [key for key in keys if rng.random() < 0.3]
        states["side"] = {**states["main"], **written(repository, rng, "side", some)}
        for branch in ("main", "side", "main"):
            query = a_vector(rng, 3)
            named = [
                vector
                for vectors in states[branch].values()
                for name, vector in vectors.items()
                if name.startswith(prefix)
            ]

            def passes(key):
                return key.startswith(below) and (not even or int(key[-1]) % 2 == 0)

            wanted = reference(states[branch], query, prefix, cosine, passes, limit, least)
            search = partial(
                repository.at(branch).search,
                query,
                vector_prefix=prefix,
                prefix=below,
                where={"even": True} if even else None,
                limit=limit,
                min_score=least,
            )
            if named and all(len(vector) != 3 for vector in named):
                with pytest.raises(DimensionError):
                    search()
            else:
                assert [(hit.record.key, hit.score) for hit in search()] == wanted


@pytest.fixture
def repository():
    with mnemosyne_vcs.open("memory://", create=True) as made:
        with made.transaction() as tx:
            tx.put("a", "of cats", vectors={"chunk/1": [1, 0], "chunk/2": [0, 1]})
            tx.put("b", "of dogs", vectors={"chunk/1": [0.6, 0.8], "title": [1, 0, 0]})
        yield made


def keys(hits):
    return [hit.record.key for hit in hits]


def test_words_and_several_vectors_are_joined(repository):
    now = repository.at()
    assert keys(now.search([0, 1], vector_prefix="chunk/")) == ["a", "b"]
    assert keys(now.search([0, 1], text="dogs", vector_prefix="chunk/")) == ["b", "a"]


def test_a_query_of_a_dimension_that_none_has_is_an_error(repository):
    now = repository.at()
    with pytest.raises(DimensionError, match=r"'chunk/1', 'chunk/2'.* have 2"):
        now.search([1, 0, 0], vector_prefix="chunk/")
    assert keys(now.search([1, 0, 0], vector_prefix="")) == ["b"]
    assert now.search([1, 0, 0, 0], vector_prefix="none") == []


def test_a_name_and_a_prefix_exclude_each_other(repository):
    with pytest.raises(ValidationError, match="not both"):
        repository.at().search([1, 0], vector="title", vector_prefix="chunk/")
    with pytest.raises(ValidationError, match="vector_prefix"):
        repository.at().search([1, 0], vector_prefix=1)

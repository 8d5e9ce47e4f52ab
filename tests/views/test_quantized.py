"""Vectors as small integers: exact products, proven margins, and what a search reads again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.testing.faults import SlowEngine
from mnemosyne_vcs.tree import EMPTY_ROOT
from mnemosyne_vcs.views import cosine as cosine_module
from mnemosyne_vcs.views.cache import ViewCache
from mnemosyne_vcs.views.cosine import Query
from mnemosyne_vcs.views.products import numkong_products, numpy_products, products_with
from mnemosyne_vcs.views.quantized import quantize, split
from mnemosyne_vcs.views.rows import RowStore
from mnemosyne_vcs.views.vectors import VectorViewBuilder


def codes(rng, count, dimension):
    return rng.integers(-127, 128, (count, dimension), dtype=np.int8)


@pytest.mark.parametrize("dimension", [1, 2, 31, 64, 100, 1023, 1024, 1025, 1536, 5000])
def test_products_are_exact_with_either_library(dimension):
    rng = np.random.default_rng(dimension)
    some, others = codes(rng, 130, dimension), codes(rng, 2, dimension)
    some[0], others[0] = -127, -127
    exact = some.astype(np.int64) @ others.astype(np.int64).T
    for products in (numkong_products(others), numpy_products(others)):
        assert (products(some) == exact).all()
        assert (products(some[3:77]) == exact[3:77]).all()
        assert (products(some[[5, 9, 120]]) == exact[[5, 9, 120]]).all()


@pytest.mark.parametrize("dimension", [133_143, 133_144, 133_145, 200_000])
def test_products_of_very_long_vectors_do_not_overflow(dimension):
    some = np.full((2, dimension), 127, np.int8)
    some[1] = -127
    assert products_with(some[:1])(some).ravel().tolist() == [
        127**2 * dimension,
        -(127**2) * dimension,
    ]


def peaked(rng, dimension):
    """A vector with a few numbers that are much greater than the rest."""
    vector = rng.standard_normal(dimension)
    vector[rng.integers(dimension, size=1 + dimension // 200)] *= 10.0 ** rng.integers(1, 6)
    return vector


@settings(deadline=None, max_examples=200)
@given(
    seed=st.integers(0, 10**9),
    dimension=st.sampled_from([1, 2, 3, 16, 384, 1536]),
    power=st.sampled_from([-15, 0, 20]),
    flat=st.booleans(),
)
def test_no_score_is_further_off_than_its_margin(cosine, seed, dimension, power, flat):
    rng = np.random.default_rng(seed)
    make = rng.standard_normal if flat else lambda size: peaked(rng, size)
    vectors = np.array([make(dimension) for _ in range(9)], np.float32)
    vectors *= np.float32(10.0**power)
    rows, query = RowStore(dimension), vectors[0]
    rows.add(rows.claim(), [(b"%d" % at, each) for at, each in enumerate(vectors)])
    scores, margins = Query(query).approximate(rows, np.arange(9, dtype=np.int32))
    exact = np.array([cosine(vector, query) for vector in vectors])
    assert (np.abs(scores - exact) <= margins).all()
    assert (margins < 0.03).all()


def test_the_slack_is_the_norm_of_what_is_left_out():
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((300, 700)).astype(np.float32)
    made = quantize(vectors)
    wide = vectors.astype(np.float64)
    left = wide / np.linalg.norm(wide, axis=1)[:, None]
    for plane in made.planes:
        left -= plane.codes * plane.step[:, None]
    norms = np.linalg.norm(left, axis=1)
    assert len(made.planes) == 1
    assert (norms <= made.slack).all()
    assert (made.slack < norms * 1.001 + 2e-6).all()


def test_vectors_with_great_peaks_have_a_second_plane():
    rng = np.random.default_rng(6)
    made = quantize(np.array([peaked(rng, 1000) for _ in range(100)], np.float32))
    assert len(made.planes) == 2
    assert made.slack.max() < 0.001


def test_a_query_is_split_so_that_next_to_nothing_is_left():
    rng = np.random.default_rng(7)
    direction = rng.standard_normal(1536)
    direction /= np.linalg.norm(direction)
    planes, steps, left = split(direction)
    assert np.linalg.norm(steps @ planes - direction) == pytest.approx(left)
    assert left < 1e-4


@pytest.mark.parametrize("products", [numkong_products, numpy_products])
@pytest.mark.parametrize("made", [np.random.Generator.standard_normal, peaked])
def test_a_search_reads_few_vectors_again(new_store, entry, cosine, monkeypatch, products, made):
    monkeypatch.setattr(cosine_module, "products_with", products)
    rng = np.random.default_rng(8)
    vectors = {f"{i:04}": made(rng, 96).astype(np.float32) for i in range(3000)}
    store = new_store()
    root = store.edit(EMPTY_ROOT, {key: entry(vector) for key, vector in vectors.items()})
    view = ViewCache(store.blocks).get(VectorViewBuilder(), root)
    store.engine.asked.clear()
    for _ in range(5):
        query = made(rng, 96).astype(np.float32)
        exact = sorted((-cosine(vector, query), key) for key, vector in vectors.items())
        assert view.search(query) == [(key, -score) for score, key in exact[:10]]
    assert 50 <= len(store.engine.asked) < 400


def test_a_store_that_is_far_away_is_not_asked_again(new_store, entry):
    rng, store = np.random.default_rng(9), new_store()
    some = {f"{i}": entry(rng.standard_normal(8).astype(np.float32)) for i in range(100)}
    root = store.edit(EMPTY_ROOT, some)
    far = Blocks(SlowEngine(store.engine, 0.0))
    view = ViewCache(far).get(VectorViewBuilder(), root)
    store.engine.asked.clear()
    assert len(view.search(np.ones(8, np.float32))) == 10
    assert not store.engine.asked


def test_a_row_keeps_no_second_plane_of_what_it_held(new_store, entry, cosine):
    """Rows of vectors with peaks are used again for vectors without."""
    rng, store, kind = np.random.default_rng(10), new_store(), VectorViewBuilder()
    cache, root = ViewCache(store.blocks, roots=1), EMPTY_ROOT
    for made in (peaked, np.random.Generator.standard_normal) * 3:
        vectors = {f"{i:04}": made(rng, 64).astype(np.float32) for i in range(1500)}
        root = store.edit(root, {key: entry(vector) for key, vector in vectors.items()})
        view, query = cache.get(kind, root), rng.standard_normal(64).astype(np.float32)
        exact = sorted((-cosine(vector, query), key) for key, vector in vectors.items())
        assert view.search(query, limit=5) == [(key, -score) for score, key in exact[:5]]

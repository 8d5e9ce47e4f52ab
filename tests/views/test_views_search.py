"""Search is exact: compared with one loop in float64, score by score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemosyne_vcs.engine.vector_index import IndexesVectors, VectorMatch
from mnemosyne_vcs.errors import CorruptObjectError
from mnemosyne_vcs.tree import EMPTY_ROOT
from mnemosyne_vcs.views.cache import ViewCache
from mnemosyne_vcs.views.cosine import Query, best, direction_of
from mnemosyne_vcs.views.keys import Selection
from mnemosyne_vcs.views.rows import SEGMENT_ROWS, RowStore
from mnemosyne_vcs.views.server_search import IndexedVectors
from mnemosyne_vcs.views.vectors import VectorViewBuilder


def reference(cosine, vectors, query, passes=lambda key: True, limit=10, min_score=None):
    hits = [(key, cosine(vector, query)) for key, vector in vectors.items() if passes(key)]
    hits = [hit for hit in hits if min_score is None or hit[1] >= min_score]
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:limit]


def hostile_vectors(rng, dimension, count):
    """Random vectors among which many are equal, nearly equal, scaled, zero or extreme."""
    made = []
    for _ in range(count):
        vector = rng.standard_normal(dimension)
        other = made[rng.integers(len(made))].astype(np.float64) if made else vector
        tiny, huge = rng.choice([1e-12, 1e-30, 1e-38, 1e-44]), rng.choice([1e12, 1e30, 1e37])
        vector = [
            vector,
            other,
            other * (1 + 1e-7 * rng.standard_normal(dimension)),
            other * rng.choice([0.25, 3.0, -1.0]),
            np.zeros(dimension),
            vector * tiny,
            vector / np.abs(vector).max() * huge,
            other * tiny,
        ][rng.choice(8, p=[0.3, 0.15, 0.25, 0.1, 0.05, 0.05, 0.05, 0.05])]
        with np.errstate(over="ignore", under="ignore"):
            single = vector.astype(np.float32)
        made.append(single if np.isfinite(single).all() else np.zeros(dimension, np.float32))
    return made


def view_of(store, entry, vectors, kind=None):
    root = store.edit(EMPTY_ROOT, {key: entry(vector) for key, vector in vectors.items()})
    return ViewCache(store.blocks).get(kind or VectorViewBuilder(), root)


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 10**9),
    dimension=st.sampled_from([1, 2, 3, 16, 40]),
    count=st.sampled_from([1, 3, 20, 120]),
    limit=st.sampled_from([1, 2, 10, 50, 1000]),
    prefix=st.sampled_from(["", "0", "1/", "nothing"]),
    least=st.sampled_from([None, -1.0, 0.0, 0.5, "a score", 1.0]),
    filters=st.sampled_from(["none", "keep", "within", "both"]),
)
def test_search_equals_the_reference(
    new_store, entry, cosine, seed, dimension, count, limit, prefix, least, filters
):
    rng = np.random.default_rng(seed)
    made = hostile_vectors(rng, dimension, count + 1)
    query, vectors = made.pop(), {f"{i % 3}/{i}": vector for i, vector in enumerate(made)}
    if least == "a score":
        least = cosine(query, made[0])
    keys = sorted([*vectors, "0/none", "2/none"])
    kept = {key for key in keys if filters in ("none", "within") or rng.random() < 0.5}
    chosen = np.array([filters in ("none", "keep") or rng.random() < 0.4 for _ in keys])
    selected = {key for key, each in zip(keys, chosen, strict=True) if each}
    view = view_of(new_store(), entry, vectors)
    found = view.search(
        query,
        prefix=prefix,
        within=None if filters in ("none", "keep") else Selection(keys, chosen),
        keep=None if filters in ("none", "within") else kept.intersection,
        limit=limit,
        min_score=least,
    )

    def passes(key):
        return key.startswith(prefix) and key in kept and key in selected

    assert found == reference(cosine, vectors, query, passes, limit, least)


@pytest.mark.parametrize("scattered", [False, True])
def test_search_over_many_segments(new_store, entry, cosine, scattered):
    rng = np.random.default_rng(11)
    count = 3 * SEGMENT_ROWS + 100
    base = rng.standard_normal((40, 24))
    values = base[rng.integers(40, size=count)] * (1 + 1e-7 * rng.standard_normal((count, 24)))
    vectors = {f"{i % 10}/{i:05}": vector for i, vector in enumerate(values.astype(np.float32))}
    store, kind = new_store(), VectorViewBuilder()
    cache, root = ViewCache(store.blocks), EMPTY_ROOT
    keys = list(vectors)
    rng.shuffle(keys)
    for some in np.array_split(keys, 5) if scattered else [keys]:
        root = store.edit(root, {str(key): entry(vectors[str(key)]) for key in some})
        cache.get(kind, root)
    view = cache.get(kind, root)
    query = rng.standard_normal(24).astype(np.float32)
    for prefix in ["", "3/", "7/000", "7/00007"]:
        for limit in [1, 10, 200]:
            expected = reference(
                cosine, vectors, query, lambda key, p=prefix: key.startswith(p), limit
            )
            assert view.search(query, prefix=prefix, limit=limit) == expected
    chosen = rng.random(count) < 0.02
    few = Selection(sorted(vectors), chosen)
    names = {key for key, each in zip(sorted(vectors), chosen, strict=True) if each}
    assert view.search(query, within=few) == reference(cosine, vectors, query, names.__contains__)


def test_near_ties_in_many_dimensions_are_told_apart(new_store, entry, cosine):
    rng = np.random.default_rng(3)
    base = rng.standard_normal(768)
    values = base * (1 + 3e-7 * rng.standard_normal((300, 768)))
    vectors = {str(i): vector for i, vector in enumerate(values.astype(np.float32))}
    query = (base + rng.standard_normal(768)).astype(np.float32)
    assert view_of(new_store(), entry, vectors).search(query) == reference(cosine, vectors, query)


@pytest.mark.parametrize("size", [2e-45, 1e-43, 1e-38, 1e30, 1.5e38])
def test_vectors_at_the_ends_of_float32(new_store, entry, cosine, size):
    rng = np.random.default_rng(12)
    values = rng.uniform(-2, 2, (200, 24)) * size
    vectors = {str(i): vector for i, vector in enumerate(values.astype(np.float32))}
    view = view_of(new_store(), entry, vectors)
    for query in [rng.standard_normal(24).astype(np.float32), vectors["7"]]:
        for limit in [1, 5, 200]:
            assert view.search(query, limit=limit) == reference(cosine, vectors, query, limit=limit)


def test_scores_do_not_depend_on_how_the_rows_came_to_lie(new_store, entry):
    rng = np.random.default_rng(4)
    store = new_store()
    state = {f"{i:04}": entry(v) for i, v in enumerate(hostile_vectors(rng, 65, 400))}
    roots = [EMPTY_ROOT]
    for some in np.array_split(rng.permutation(sorted(state)), 8):
        roots.append(store.edit(roots[-1], {str(key): state[str(key)] for key in some}))
    query = rng.standard_normal(65).astype(np.float32)
    seen = []
    for order in ([8], range(9), [3, 1, 8], [8, 0, 8]):
        cache, kind = ViewCache(store.blocks, roots=1), VectorViewBuilder()
        for number in order:
            view = cache.get(kind, roots[number])
        seen.append(view.search(query, limit=400))
    assert all(each == seen[0] for each in seen)
    assert len(seen[0]) == 400


def test_a_test_of_keys_is_not_asked_about_everything(new_store, entry, cosine):
    rng = np.random.default_rng(6)
    vectors = {str(i): v for i, v in enumerate(rng.standard_normal((2000, 16)).astype(np.float32))}
    query, asked = rng.standard_normal(16).astype(np.float32), []

    def keep(keys):
        asked.extend(keys)
        return [key for key in keys if int(key) % 2 == 0]

    found = view_of(new_store(), entry, vectors).search(query, keep=keep)
    assert found == reference(cosine, vectors, query, lambda key: int(key) % 2 == 0)
    assert len(asked) == len(set(asked)) < 100


def test_a_rare_match_is_found(new_store, entry):
    rng = np.random.default_rng(8)
    vectors = {str(i): v for i, v in enumerate(rng.standard_normal((2000, 16)).astype(np.float32))}
    view, query = view_of(new_store(), entry, vectors), rng.standard_normal(16).astype(np.float32)
    worst = view.search(query, limit=2000)[-3:]
    assert view.search(query, keep={key for key, _ in worst}.intersection) == worst


def test_the_least_score_is_inclusive(new_store, entry):
    rng = np.random.default_rng(9)
    vectors = {str(i): v for i, v in enumerate(rng.standard_normal((100, 16)).astype(np.float32))}
    view, query = view_of(new_store(), entry, vectors), rng.standard_normal(16).astype(np.float32)
    hits = view.search(query, limit=100)
    assert view.search(query, limit=100, min_score=hits[40][1]) == hits[:41]
    assert view.search(query, limit=100, min_score=np.nextafter(hits[40][1], 2)) == hits[:40]
    assert view.search(query, limit=5, min_score=hits[40][1]) == hits[:5]


def test_a_zero_query_is_equally_far_from_everything(new_store, entry):
    vectors = {key: np.ones(3, dtype=np.float32) for key in "cab"}
    view = view_of(new_store(), entry, vectors)
    zero = np.zeros(3, dtype=np.float32)
    assert view.search(zero, limit=2) == [("a", 0.0), ("b", 0.0)]
    assert view.search(zero, min_score=0.1) == []


def test_only_the_keys_of_a_selection_are_found(new_store, entry):
    vectors = {key: np.ones(2, np.float32) for key in "abc"}
    view, query = view_of(new_store(), entry, vectors), np.ones(2, np.float32)
    for keys, chosen, found in (
        ("ab", [True, False], "a"),
        ("b", [True], "b"),
        ("xyz", [True] * 3, ""),
        ("abc", [True, False, True], "ac"),
    ):
        hits = view.search(query, within=Selection(list(keys), np.array(chosen)))
        assert [key for key, _ in hits] == list(found)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_gives_nothing(new_store, entry, limit):
    ones = np.ones(3, dtype=np.float32)
    assert view_of(new_store(), entry, {"a": ones}).search(ones, limit=limit) == []


def test_dimensions_are_kept_apart(new_store, entry):
    vectors = {
        "a": np.ones(2, np.float32),
        "b": np.ones(3, np.float32),
        "c": np.ones(3, np.float32),
    }
    view = view_of(new_store(), entry, vectors)
    assert view.dimensions() == {2: 1, 3: 2}
    assert view.search(np.ones(3, np.float32)) == [("b", 1.0), ("c", 1.0)]
    assert view.search(np.ones(4, np.float32)) == []


def test_a_vector_that_is_not_finite_is_corrupt(new_store, entry):
    store = new_store()
    good = store.edit(EMPTY_ROOT, {"a": entry(np.ones(2, np.float32))})
    bad = store.edit(good, {"b": entry(np.array([1, np.nan], np.float32))})
    cache, kind = ViewCache(store.blocks), VectorViewBuilder()
    with pytest.raises(CorruptObjectError, match="not finite"):
        cache.get(kind, bad)
    assert cache.get(kind, good).search(np.ones(2, np.float32)) == [("a", 1.0)]


def alike(count, dimension=24):
    """Many equal vectors, and some others."""
    rng = np.random.default_rng(11)
    same, others = rng.standard_normal(dimension), rng.standard_normal((count // 3, dimension))
    rows = [same] * count + list(others)
    rng.shuffle(rows)
    return {f"{i:05}": row.astype(np.float32) for i, row in enumerate(rows)}, same


@pytest.mark.parametrize("filtered", [False, True])
def test_equal_vectors_are_scored_once_and_asked_about_rarely(
    new_store, entry, cosine, monkeypatch, filtered
):
    vectors, query = alike(3000)
    view = view_of(new_store(), entry, vectors)
    scored, asked = [], []
    vectors_of = RowStore.vectors

    def counted(rows, numbers):
        scored.extend(numbers)
        return vectors_of(rows, numbers)

    monkeypatch.setattr(RowStore, "vectors", counted)

    def keep(keys):
        asked.extend(keys)
        return [key for key in keys if int(key) % 3]

    test = keep if filtered else None
    for limit in (1, 10, 50):
        found = view.search(query.astype(np.float32), keep=test, limit=limit)
        passes = (lambda key: int(key) % 3) if filtered else (lambda key: True)
        assert found == reference(cosine, vectors, query.astype(np.float32), passes, limit)
        assert len(scored) < 40
        assert len(asked) < 1500
        scored.clear()
        asked.clear()


def test_rows_that_are_used_again_are_not_taken_for_what_they_were(new_store, entry, cosine):
    store, kind = new_store(), VectorViewBuilder()
    cache, root = ViewCache(store.blocks, roots=1), EMPTY_ROOT
    rng = np.random.default_rng(12)
    for _ in range(6):
        rows = rng.integers(-2, 3, (2000, 3)).astype(np.float32)
        vectors = {f"{i:04}": row for i, row in enumerate(rows)}
        root = store.edit(root, {key: entry(row) for key, row in vectors.items()})
        view, query = cache.get(kind, root), rows[0] + np.float32(0.5)
        assert view.search(query, limit=30) == reference(cosine, vectors, query, limit=30)


@given(
    exact=st.lists(st.sampled_from([0.5, 0.5 + 2**-23, 0.5 + 2**-22, 0.4, -1.0]), max_size=60),
    seed=st.integers(0, 10**9),
    limit=st.sampled_from([1, 2, 10]),
    ties=st.booleans(),
)
def test_whatever_can_be_among_the_best_is_found(exact, seed, limit, ties):
    margin = 2**-22
    rng = np.random.default_rng(seed)
    off = rng.choice([-margin, 0.0, margin], len(exact))
    approximate = np.array(exact) + off
    kinds = np.array([hash(each) for each in exact], dtype=np.int64)
    margins, alike = np.full(len(exact), margin), (lambda at: kinds[at]) if ties else None
    known = np.array(exact)
    found, _ = best(approximate, margins, known.__getitem__, limit, alike=alike)
    wanted = sorted(range(len(exact)), key=lambda at: (-exact[at], at))[:limit]
    assert set(wanted) <= set(found.tolist())


def test_the_best_may_look_worse_by_twice_the_margin():
    margin = 2**-22
    exact = np.array([0.5] * 40 + [0.5 + margin / 4])
    approximate = exact + np.array([margin] * 40 + [-margin])
    assert 40 in best(approximate, np.full(41, margin), exact.__getitem__, 1)[0]


@pytest.fixture(scope="module")
def four_segments():
    """A store of 4 segments' vectors of 3 dimensions, and the vectors by row."""
    rows, rng = RowStore(3), np.random.default_rng(13)
    values = rng.standard_normal((4 * SEGMENT_ROWS, 3)).astype(np.float32)
    added = rows.add(rows.claim(), [(b"%d" % i, vector) for i, vector in enumerate(values)])
    assert added == list(range(len(values)))
    return rows, values


@pytest.mark.parametrize(
    "chosen",
    [
        [5, 3],
        [3, 5, 4],
        [2 * SEGMENT_ROWS + 9],
        [3 * SEGMENT_ROWS + 1, 7, 4 * SEGMENT_ROWS - 1],
        [0, 3 * SEGMENT_ROWS - 1, 3 * SEGMENT_ROWS],
        list(range(0, 4 * SEGMENT_ROWS, 7)),
        list(range(SEGMENT_ROWS - 100, SEGMENT_ROWS + 100)),
        list(range(4 * SEGMENT_ROWS))[::-1],
    ],
)
def test_rows_in_any_order_and_place_have_their_own_scores(four_segments, cosine, chosen):
    rows, values = four_segments
    query = Query(values[17])
    scores, margins = query.approximate(rows, np.array(chosen, np.int32))
    for row, score, margin in zip(chosen, scores, margins, strict=True):
        assert abs(score - cosine(values[row], values[17])) <= margin < 0.02


def test_the_score_of_a_zero_vector_is_known_and_that_of_an_extreme_one_is_not():
    rows = RowStore(2)
    vectors = [[0, 0], [1, 0], [1e-30, 0], [1e38, 1e38]]
    rows.add(rows.claim(), [(b"%d" % i, np.float32(each)) for i, each in enumerate(vectors)])
    scores, _ = Query(np.float32([1, 0])).approximate(rows, np.arange(4, dtype=np.int32))
    assert scores[:2] == pytest.approx([0, 1], abs=1e-6)
    assert np.isnan(scores[2:]).all()


@given(seed=st.integers(0, 10**9), dimension=st.sampled_from([1, 2, 3, 7, 100]))
def test_products_of_directions_are_within_their_margins(cosine, seed, dimension):
    rng = np.random.default_rng(seed)
    one, other = hostile_vectors(rng, dimension, 2)
    exact, query = cosine(one, other), Query(one)
    direction = direction_of(other)
    assert abs(float(np.vecdot(query.direction, direction)) - exact) <= query.margin_of_directions
    assert query.margin_of_directions < (dimension + 5) * 2**-24


def test_the_direction_of_a_zero_vector_is_zero():
    with np.errstate(all="raise"):
        assert direction_of(np.zeros(3, np.float32)).tolist() == [0, 0, 0]


def test_no_score_is_beyond_one():
    rng = np.random.default_rng(14)
    for _ in range(300):
        vector = rng.standard_normal(5).astype(np.float32)
        scales = np.float32([0.1, 0.3, 1.7, 1e-3, 1e7])
        scores = Query(vector).exact([vector * by for by in (*scales, *-scales)])
        assert np.abs(scores).max() <= 1
        assert np.allclose(scores, [1] * 5 + [-1] * 5)


class Deceiving(IndexesVectors):
    """An index of vectors whose products are as wrong as they may be: always for the worse."""

    def __init__(self, exact, vectors, margin, last):
        self.matches = [
            VectorMatch(key, vectors[key], score + (-0.99 if key == last else 0.99) * margin)
            for key, score in exact.items()
        ]
        self.matches.sort(key=lambda match: -match.product)

    def nearest_vectors(self, ref, root, query):
        return self.matches[: query.limit]


def test_an_index_may_deceive_by_twice_the_margin(new_store, entry, cosine):
    store, query = new_store(), np.array([1.0, 0.0], dtype=np.float32)
    margin = Query(query).margin_of_directions
    slope = np.sqrt(margin * 2 / 3)
    vectors = {f"{i:02}": np.array([1.0, slope], dtype=np.float32) for i in range(40)}
    vectors["best"] = np.array([1.0, slope / 2], dtype=np.float32)
    root = store.edit(EMPTY_ROOT, {key: entry(each) for key, each in vectors.items()})
    ids = {key: id for (key, _), id in store.vectors.items()}
    exact = {key: cosine(each, query) for key, each in vectors.items()}
    assert 0 < exact["best"] - exact["00"] < margin / 2
    index = IndexedVectors(store.blocks, Deceiving(exact, ids, margin, "best"), "r", root, {}, "")
    assert index.search(query, limit=1, min_score=-1.0) == [("best", exact["best"])]

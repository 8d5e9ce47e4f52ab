"""However a cache comes to a root, its views are those of a fresh build, and of a dictionary."""

import random
import sys
import tempfile
from itertools import compress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemosyne_vcs.tree import EMPTY_ROOT
from mnemosyne_vcs.views import cache as cache_module
from mnemosyne_vcs.views.cache import ViewCache
from mnemosyne_vcs.views.identity import IdentityViewBuilder
from mnemosyne_vcs.views.query import parse_query
from mnemosyne_vcs.views.scopes import ScopesViewBuilder
from mnemosyne_vcs.views.text import TextViewBuilder
from mnemosyne_vcs.views.vectors import VectorViewBuilder

SCOPES = ["/", "/a", "/a/b", "/b"]
CATEGORIES = ["red", "green", "blue"]
PREFIXES = ["", "a", "a/", "b/0", "c/", "nothing"]
ASKED = ["red", "green -3", "b", "moved", '"scope a b"', "categor* re*"]
QUERIES = {d: np.random.default_rng(d).standard_normal(d).astype(np.float32) for d in (2, 5)}


def identity_of(view):
    ids = [str(number) for number in range(12)]
    return len(view), {id: view.keys_of(id) for id in ids}, [view.key_of(id) for id in ids]


def identity_by_dictionary(state, cosine):
    ids = {}
    for key in sorted(state):
        ids.setdefault(key.rsplit("/", 1)[-1], []).append(key)
    named = [str(number) for number in range(12)]
    return (
        len(ids),
        {id: tuple(ids.get(id, ())) for id in named},
        [ids.get(id, [None])[0] for id in named],
    )


def scopes_of(view):
    of_colour = list(compress(view.keys, view.with_any(["red", "blue", "unheard of"]).chosen))
    return [
        (
            view.count(prefix),
            view.scopes(prefix),
            view.categories(prefix),
            view.newest(prefix),
            view.newest(prefix, 3, 1),
            view.times(prefix),
            [key for key in of_colour if key.startswith(prefix)],
        )
        for prefix in PREFIXES
    ]


def scopes_by_dictionary(state, cosine):
    return [_scopes_by_dictionary(state, prefix) for prefix in PREFIXES]


def _scopes_by_dictionary(state, prefix):
    within = {key: state[key] for key in sorted(state) if key.startswith(prefix)}
    categories = [category for each in within.values() for category in set(each.categories)]
    newest = sorted(within, key=lambda k: (within[k].created is None, -(within[k].created or 0), k))
    times = [each.created for each in within.values() if each.created is not None]
    return (
        len(within),
        sorted({each.scope for each in within.values()}),
        {category: categories.count(category) for category in sorted(set(categories))},
        newest,
        newest[1:4],
        (min(times), max(times)) if times else None,
        [key for key, each in within.items() if {"red", "blue"} & set(each.categories)],
    )


def vectors_of(view):
    found = {d: view.search(query, limit=1000) for d, query in QUERIES.items()}
    return view.dimensions(), found


def vectors_by_dictionary(state, cosine):
    by_dimension = {d: {} for d in QUERIES}
    for key, each in state.items():
        if each.vector is not None:
            by_dimension[len(each.vector)][key] = each.vector
    found = {
        d: sorted(
            ((key, cosine(vector, QUERIES[d])) for key, vector in vectors.items()),
            key=lambda hit: (-hit[1], hit[0]),
        )
        for d, vectors in by_dimension.items()
    }
    return {d: len(hits) for d, hits in found.items() if hits}, found


def text_of(view):
    hits = {query: view.search(parse_query(query), limit=1000) for query in ASKED}
    assert all(score > 0 for found in hits.values() for _, score in found)
    return {query: sorted(key for key, _ in found) for query, found in hits.items()}


def scored_text_of(view):
    return {query: view.search(parse_query(query), limit=1000) for query in [*ASKED, "a", "re*"]}


def text_by_dictionary(state, cosine):
    def words(key, each):
        scope = each.scope.strip("/").replace("/", " ")
        created = "" if each.created is None else str(abs(each.created))
        named = f"| scope | {scope} | categories | {' | '.join(each.categories)} | created"
        return f" {key.replace('/', ' ')} {named} | {created} |"

    said = {key: words(key, each) for key, each in state.items()}

    def having(*texts):
        return sorted(key for key, text in said.items() if any(each in text for each in texts))

    return {
        "red": having(" red "),
        "green -3": having(" green ", " 3 "),
        "b": having(" b "),
        "moved": having(" moved "),
        '"scope a b"': [],
        "categor* re*": having(" categor"),
    }


def random_history(store, entry, seed, roots, width):
    rng = random.Random(seed)
    keys = [f"{top}/{i % 7}/{i % 12}" for i in range(width) for top in "abc"]

    def value():
        dimension = rng.choice([2, 5, 5, 5, None])
        values = [rng.choice([-1.0, 0.5, rng.gauss(0, 1)]) for _ in range(dimension or 0)]
        return entry(
            np.array(values, dtype=np.float32) if dimension else None,
            rng.choice(SCOPES),
            tuple(rng.choices(CATEGORIES, k=rng.randrange(4))),
            rng.choice([None, rng.randrange(5), -rng.randrange(10**15)]),
        )

    made = [EMPTY_ROOT]
    for _ in range(roots):
        base = rng.choice([made[-1], rng.choice(made)])
        size = rng.choice([1, 2, 30])
        puts = {key: value() for key in rng.sample(keys, min(size, len(keys)))}
        held = sorted(store.states[base])
        gone = {key for key in rng.sample(held, min(size, len(held))) if rng.random() < 0.5}
        kept = {
            key: store.states[base][key].__class__(store.states[base][key].vector, "/moved")
            for key in rng.sample(held, min(2, len(held)))
        }
        puts = {key: each for key, each in {**kept, **puts}.items() if key not in gone}
        made.append(store.edit(base, puts, gone))
    rng.shuffle(made)
    return made + rng.sample(made, len(made) // 2)


@pytest.mark.parametrize(
    "make, of, by_dictionary",
    [
        (lambda facts: IdentityViewBuilder(), identity_of, identity_by_dictionary),
        (ScopesViewBuilder, scopes_of, scopes_by_dictionary),
        (lambda facts: VectorViewBuilder(), vectors_of, vectors_by_dictionary),
        (lambda facts: TextViewBuilder(), text_of, text_by_dictionary),
    ],
    ids=["identity", "scopes", "vectors", "text"],
)
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**9),
    roots=st.integers(1, 12),
    width=st.sampled_from([4, 60]),
    keep=st.sampled_from([1, 2, 64]),
)
def test_views_of_any_sequence_of_roots(
    new_store, entry, read_facts, cosine, make, of, by_dictionary, seed, roots, width, keep
):
    store = new_store()
    kind = make(read_facts)
    cache = ViewCache(store.blocks, roots=keep)
    for root in random_history(store, entry, seed, roots, width):
        seen = of(cache.get(kind, root))
        assert seen == of(ViewCache(store.blocks).get(make(read_facts), root))
        assert seen == by_dictionary(store.states[root], cosine)


@pytest.mark.parametrize(
    "make, of",
    [
        (lambda facts: IdentityViewBuilder(), identity_of),
        (ScopesViewBuilder, scopes_of),
        (lambda facts: VectorViewBuilder(), vectors_of),
        (lambda facts: TextViewBuilder(), scored_text_of),
    ],
    ids=["identity", "scopes", "vectors", "text"],
)
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**9),
    roots=st.integers(1, 8),
    width=st.sampled_from([4, 60]),
    ends=st.floats(0.0, 1.0),
    share=st.sampled_from([1, 8, 10**9]),
)
def test_views_of_files_of_other_processes(
    new_store, entry, read_facts, make, of, seed, roots, width, ends, share
):
    """Each begins with an empty cache, and with what the earlier ones left in the directory."""
    store, rng = new_store(), random.Random(seed)
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache_module, "_FEWEST_TO_STORE", 1)
        patch.setattr(cache_module, "_SHARE_TO_STORE", share)
        cache, kind = ViewCache(store.blocks, directory=Path(directory)), make(read_facts)
        for root in random_history(store, entry, seed, roots, width):
            seen = of(cache.get(kind, root))
            assert seen == of(ViewCache(store.blocks).get(make(read_facts), root))
            if rng.random() < ends:
                cache, kind = ViewCache(store.blocks, directory=Path(directory)), make(read_facts)


def test_an_identity_view_stays_right_over_many_small_steps(new_store, entry):
    store, kind = new_store(), IdentityViewBuilder()
    cache = ViewCache(store.blocks)
    root = store.edit(EMPTY_ROOT, {f"k/{i}": entry() for i in range(300)})
    roots = [root]
    for i in range(300):
        root = store.edit(root, {f"new/{i}": entry(), f"k/{i + 300}": entry()}, [f"k/{i}"])
        roots.append(root)
    for root in [*roots, *reversed(roots)]:
        view = cache.get(kind, root)
        state = store.states[root]
        expected = {}
        for key in sorted(state, reverse=True):
            expected[key.split("/")[1]] = key
        assert len(view) == len(expected)
        assert all(view.key_of(id) == key for id, key in expected.items())
        assert view.key_of("k") is None


def test_an_extractor_says_what_the_id_is(new_store, entry):
    store = new_store()
    root = store.edit(EMPTY_ROOT, {"a/1": entry(), "a/2": entry(), "b/3": entry()})
    view = ViewCache(store.blocks).get(IdentityViewBuilder(lambda key: key.split("/")[0]), root)
    assert view.keys_of("a") == ("a/1", "a/2")
    assert view.key_of("a") == "a/1"
    assert view.keys_of("c") == ()
    assert len(view) == 2


def test_the_newest_of_many_are_those_of_a_full_sort(new_store, entry, read_facts):
    rng = random.Random(5)
    store = new_store()
    state = {f"{i:04}": entry(created=rng.choice([None, *range(20)])) for i in range(500)}
    view = ViewCache(store.blocks).get(ScopesViewBuilder(read_facts), store.edit(EMPTY_ROOT, state))
    whole = view.newest()
    assert len(whole) == 500
    for limit, offset in [
        (0, 0),
        (1, 0),
        (20, 0),
        (20, 473),
        (20, 490),
        (500, 0),
        (7, 500),
        (7, 900),
    ]:
        assert view.newest("", limit, offset) == whole[offset : offset + limit]


@pytest.mark.parametrize("records", [0, 1, 40])
def test_a_view_of_scopes_holds_its_columns_and_no_more(new_store, entry, read_facts, records):
    store = new_store()
    root = store.edit(EMPTY_ROOT, {f"k/{i}": entry() for i in range(records)})
    view = ViewCache(store.blocks).get(ScopesViewBuilder(read_facts), root)
    assert sum(view.sizes().values()) - sys.getsizeof(view.keys) == (4 + 4 + 8) * records

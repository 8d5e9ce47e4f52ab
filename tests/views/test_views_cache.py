import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.errors import NotFoundError
from mnemosyne_vcs.interrupts import noted
from mnemosyne_vcs.tree import EMPTY_ROOT
from mnemosyne_vcs.views.cache import PATIENCE, ViewCache
from mnemosyne_vcs.views.identity import IdentityViewBuilder
from mnemosyne_vcs.views.rows import SEGMENT_ROWS
from mnemosyne_vcs.views.scopes import ScopesViewBuilder
from mnemosyne_vcs.views.text import TextViewBuilder
from mnemosyne_vcs.views.vectors import VectorViewBuilder

THREADS = 8


class CountingViewBuilder(IdentityViewBuilder):
    """Counts how often it makes a view, and can be held up while it does."""

    def __init__(self):
        super().__init__()
        self.made = 0
        self.steps = []
        self.entered = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def update(self, blocks, view, changes):
        self.made += 1
        self.steps.append(len(changes))
        self.entered.set()
        assert self.gate.wait(30)
        return super().update(blocks, view, changes)


def vectors(rng, entry, count, dimension=8, start=0):
    values = rng.standard_normal((count, dimension)).astype(np.float32)
    return {f"{i % 9}/{i + start}": entry(vector) for i, vector in enumerate(values)}


def test_a_view_is_made_once_for_all_threads(new_store, entry):
    store, kind = new_store(), CountingViewBuilder()
    root = store.edit(EMPTY_ROOT, {f"k/{i}": entry() for i in range(200)})
    cache = ViewCache(store.blocks)
    start = threading.Barrier(THREADS)

    def ask():
        start.wait()
        return cache.get(kind, root)

    with ThreadPoolExecutor(THREADS) as pool:
        views = [each.result() for each in [pool.submit(ask) for _ in range(THREADS)]]
    assert kind.made == 1
    assert all(view is views[0] for view in views)


def test_those_who_wait_for_a_view_go_on_as_soon_as_it_is_made(new_store, entry):
    store, kind = new_store(), CountingViewBuilder()
    root = store.edit(EMPTY_ROOT, {"a/1": entry()})
    cache = ViewCache(store.blocks)
    kind.gate.clear()
    waiting = [threading.Thread(target=cache.get, args=(kind, root)) for _ in range(3)]
    for thread in waiting:
        thread.start()
    assert kind.entered.wait(30)
    while sum(is_waiting(thread) for thread in waiting) < 2:
        pass
    kind.gate.set()
    for thread in waiting:
        thread.join(PATIENCE / 2)
    assert not any(thread.is_alive() for thread in waiting)
    assert kind.made == 1


def is_waiting(thread):
    """Whether a thread is at the lock of a view that another one makes."""
    frame = sys._current_frames().get(thread.ident)
    return frame is not None and frame.f_code is noted.__code__


def test_readers_of_other_roots_do_not_wait(new_store, entry):
    store, kind = new_store(), CountingViewBuilder()
    first = store.edit(EMPTY_ROOT, {"a/1": entry()})
    second = store.edit(first, {"a/2": entry()})
    cache = ViewCache(store.blocks)
    cache.get(kind, first)
    kind.entered.clear()
    kind.gate.clear()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(cache.get, kind, second)
        assert kind.entered.wait(30)
        assert cache.get(kind, first).key_of("1") == "a/1"
        assert not slow.done()
        kind.gate.set()
        assert slow.result().key_of("2") == "a/2"


def test_a_commit_costs_its_changes(new_store, entry):
    store, kind = new_store(), CountingViewBuilder()
    main = store.edit(EMPTY_ROOT, {f"k/{i}": entry() for i in range(500)})
    other = store.edit(main, {f"k/{i}": entry() for i in range(250)})
    cache = ViewCache(store.blocks)
    cache.get(kind, main)
    cache.get(kind, other)
    cache.get(kind, store.edit(main, {"k/new": entry()}))
    cache.get(kind, store.edit(other, {"k/new": entry()}))
    assert kind.steps == [500, 250, 1, 1]


def test_of_views_that_are_alike_the_one_used_last_is_updated(new_store, entry):
    store, kind = new_store(), CountingViewBuilder()
    roots = [store.edit(EMPTY_ROOT, {f"{i}/{j}": entry() for j in range(i)}) for i in (5, 7, 9)]
    cache = ViewCache(store.blocks)
    for root in (*roots, roots[1]):
        cache.get(kind, root)
    kind.steps.clear()
    cache.get(kind, store.edit(EMPTY_ROOT, {"new/1": entry(), "new/2": entry()}))
    assert kind.steps == [7 + 2]


def test_an_advance_reads_only_what_is_new(new_store, entry):
    store, kind = new_store(), VectorViewBuilder()
    rng = np.random.default_rng(1)
    root = store.edit(EMPTY_ROOT, vectors(rng, entry, 300))
    cache = ViewCache(store.blocks)
    cache.get(kind, root)
    kept = store.states[root]["0/0"].vector
    edited = store.edit(root, {"0/0": entry(kept, "/elsewhere"), "0/new": entry(kept * 2)})
    store.engine.asked.clear()
    cache.get(kind, edited)
    read = [block for block in store.engine.asked if block in store.vectors.values()]
    assert read == [store.vectors["0/new", (kept * 2).tobytes()]]


def test_a_failed_build_leaves_nothing_behind(new_store, entry):
    store, kind = new_store(), VectorViewBuilder()
    rng = np.random.default_rng(2)
    first = store.edit(EMPTY_ROOT, vectors(rng, entry, 50))
    second = store.edit(first, vectors(rng, entry, 50, start=50))
    cache = ViewCache(store.blocks)
    good = cache.get(kind, first)
    query = rng.standard_normal(8).astype(np.float32)
    before = good.search(query)
    store.engine.lost.add(list(store.vectors.values())[-1])
    with ThreadPoolExecutor(THREADS) as pool:
        asked = [pool.submit(cache.get, kind, second) for _ in range(THREADS)]
        assert all(isinstance(each.exception(), NotFoundError) for each in asked)
    assert good.search(query) == before
    store.engine.lost.clear()
    fresh = ViewCache(store.blocks).get(VectorViewBuilder(), second)
    assert cache.get(kind, second).search(query, limit=100) == fresh.search(query, limit=100)


def test_a_root_that_is_gone_from_the_store_is_no_obstacle(new_store, entry):
    store = new_store()
    old = store.edit(EMPTY_ROOT, {f"k/{i}": entry() for i in range(300)})
    new = store.edit(old, {f"k/{i + 300}": entry() for i in range(10)})
    kind = IdentityViewBuilder()
    cache = ViewCache(Blocks(store.engine, nodes=1))
    cache.get(kind, old)
    store.engine.lost.add(old)
    assert len(cache.get(kind, new)) == 310
    store.engine.lost.add(new)
    cache.clear()
    with pytest.raises(NotFoundError):
        cache.get(kind, new)


@pytest.mark.parametrize("budget", [0, 300_000, 1_000_000])
def test_the_budget_is_kept_and_results_stay_right(new_store, entry, read_facts, budget):
    store, rng = new_store(), np.random.default_rng(budget)
    kinds = [
        IdentityViewBuilder(),
        ScopesViewBuilder(read_facts),
        TextViewBuilder(),
        VectorViewBuilder(),
    ]
    cache = ViewCache(store.blocks, budget=budget)
    roots = [EMPTY_ROOT]
    for i in range(12):
        roots.append(store.edit(roots[i // 2], vectors(rng, entry, 200, start=150 * i)))
    query = rng.standard_normal(8).astype(np.float32)
    last = {}
    for root in [*roots, *reversed(roots)]:
        for kind in kinds:
            view = last[kind] = cache.get(kind, root)
            floor = sum(size for each in last.values() for size in each.sizes().values())
            assert cache.nbytes() <= max(budget, floor)
        fresh = ViewCache(store.blocks).get(VectorViewBuilder(), root)
        assert view.search(query, limit=500) == fresh.search(query, limit=500)


def test_the_view_used_last_stays_longest(new_store, entry):
    store, kind = new_store(), CountingViewBuilder()
    roots = [store.edit(EMPTY_ROOT, {f"{i}/{j}": entry() for j in range(5)}) for i in range(4)]
    cache = ViewCache(store.blocks, roots=2)
    first = cache.get(kind, roots[0])
    cache.get(kind, roots[1])
    assert cache.get(kind, roots[0]) is first
    cache.get(kind, roots[2])
    assert cache.get(kind, roots[0]) is first
    assert kind.made == 3
    cache.get(kind, roots[1])
    assert kind.made == 4


def test_rows_that_no_view_needs_are_used_again(new_store, entry):
    store, kind, rng = new_store(), VectorViewBuilder(), np.random.default_rng(3)
    cache, root = ViewCache(store.blocks, roots=2), EMPTY_ROOT
    count, dimension = 3 * SEGMENT_ROWS, 8
    for _ in range(12):
        root = store.edit(root, vectors(rng, entry, count, dimension))
        view = cache.get(kind, root)
    segment = SEGMENT_ROWS * (dimension + 3 * 8)
    segments = view.by_dimension[dimension].store.segments
    assert sum(each.nbytes for each in segments) <= (3 * 3 + 2) * segment
    fresh = ViewCache(store.blocks).get(VectorViewBuilder(), root)
    query = rng.standard_normal(dimension).astype(np.float32)
    assert view.search(query) == fresh.search(query)


def test_memory_is_given_back_when_views_are(new_store, entry):
    store, kind, rng = new_store(), VectorViewBuilder(), np.random.default_rng(4)
    cache = ViewCache(store.blocks)
    root = store.edit(EMPTY_ROOT, vectors(rng, entry, 2500))
    view = cache.get(kind, root)
    rows = view.by_dimension[8].store
    assert rows.nbytes >= 2500 * 8
    cache.clear()
    query = rng.standard_normal(8).astype(np.float32)
    held = view.search(query)
    del view
    cache.clear()
    kind.trim()
    assert rows.nbytes == 0
    assert cache.get(kind, root).search(query) == held


def test_clearing_gives_the_memory_of_views_back_that_nobody_uses(new_store, entry):
    store, kind, rng = new_store(), VectorViewBuilder(), np.random.default_rng(4)
    cache = ViewCache(store.blocks)
    rows = cache.get(kind, store.edit(EMPTY_ROOT, vectors(rng, entry, 100))).by_dimension[8].store
    assert rows.nbytes >= 100 * 8 * 4
    cache.clear()
    assert rows.nbytes == 0


def test_beyond_the_budget_the_oldest_views_go_and_the_last_of_each_kind_stays(new_store, entry):
    store, rng = new_store(), np.random.default_rng(6)
    kinds = [IdentityViewBuilder(), VectorViewBuilder()]
    roots = [store.edit(EMPTY_ROOT, vectors(rng, entry, 40, start=100 * i)) for i in range(4)]
    cache = ViewCache(store.blocks, budget=0)
    for root in roots:
        for kind in kinds:
            cache.get(kind, root)
    assert [(kind, root) for root in roots for kind in kinds if cache.has(kind, root)] == [
        (kind, roots[3]) for kind in kinds
    ]
    sizes = ViewCache(store.blocks, budget=1 << 30)
    for root in roots:
        sizes.get(kinds[0], root)
    cache = ViewCache(store.blocks, budget=sizes.nbytes() - 1)
    for root in (*roots[:3], roots[0], roots[3]):
        cache.get(kinds[0], root)
    assert [cache.has(kinds[0], root) for root in roots] == [True, False, True, True]


def test_readers_and_writers_together(new_store, entry):
    store, kind, rng = new_store(), VectorViewBuilder(), np.random.default_rng(5)
    cache = ViewCache(store.blocks, roots=3)
    query = rng.standard_normal(8).astype(np.float32)
    roots = [store.edit(EMPTY_ROOT, vectors(rng, entry, 1100))]
    for i in range(18):
        base = roots[int(rng.integers(len(roots)))]
        roots.append(store.edit(base, vectors(rng, entry, 200, start=100 * i), [f"{i % 9}/{i}"]))
    expected = {}
    for root in roots:
        expected[root] = (
            ViewCache(store.blocks).get(VectorViewBuilder(), root).search(query, limit=50)
        )
    start = threading.Barrier(THREADS)

    def ask(number):
        order = np.random.default_rng(number).permutation(len(roots))
        start.wait()
        return [
            cache.get(kind, roots[i]).search(query, limit=50) == expected[roots[i]] for i in order
        ]

    with ThreadPoolExecutor(THREADS) as pool:
        results = [each.result() for each in [pool.submit(ask, n) for n in range(THREADS)]]
    assert all(all(each) for each in results)
    assert sum(map(len, results)) == THREADS * len(roots)

"""Search by words equals BM25 computed by plain Python over the snapshot, score by score."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.views.keys import Selection
from mnemosyne_vcs.views.postings import PostingsStore, TokenBatch
from mnemosyne_vcs.views.query import parse_query
from mnemosyne_vcs.views.text import rarity
from mnemosyne_vcs.views.words import folded, parts, texts, words

SAID = [
    "refund", "over", "200", "refund over 200", "Refund-over-200", "refund_over_200.", "GitHub",
    "github", "getUserName now", "get_user_name", "École", "ecole", "退款超过200元", "退款",
    "超过", "العَرَبِيَّة", "العربية", "हिन्दी", "👍🏽 ok", "ｆｕｌｌ", "a a a", "3.14", "",
    "over\x00 200", "ไทย",
]  # fmt: skip
ASKED = [
    *SAID, '"refund over 200"', '"over 200"', "refun*", "re* 2*", '"get user*"', "退款超过",
    '"款超"', "gitHub*", '"a a"', "nothing", '"', "*", "refund refund", "GITHUB",
    "ref* over \"ok 👍🏽\"",
]  # fmt: skip
KEYS = ["refund/1", "refund/2", "a/GitHub", "b/学校", "c"]

contents = st.recursive(
    st.sampled_from(SAID) | st.none() | st.booleans() | st.integers(-3, 300) | st.just(0.5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*SAID[:8], "plan"]), inner, max_size=3)
    ),
    max_leaves=6,
)
actions = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(KEYS), contents),
    st.tuples(st.just("delete"), st.sampled_from(KEYS)),
    st.tuples(st.just("branch"), st.sampled_from(["main", "other"])),
    st.tuples(st.just("merge")),
    st.tuples(st.just("move"), st.sampled_from(KEYS), st.sampled_from(KEYS)),
    st.tuples(st.just("search"), st.sampled_from(ASKED) | st.text()),
    st.tuples(st.just("forget")),
)


def streams(record):
    """The texts of a record as lists of words; parts of words are texts of their own."""
    found = []
    for _, text in texts(record.key, record.content):
        said = [word for chunk in text.split() for word in words(chunk)]
        found.append([folded(word) for word in said])
        found += [parts(word) for word in said if parts(word)]
    return found


def times(phrase, stream):
    """How often a phrase is in a text."""
    begins = range(len(stream) - len(phrase) + 1)
    return sum(
        all(element.matches(stream[at + n]) for n, element in enumerate(phrase)) for at in begins
    )


def reference(snapshot, query):
    """BM25 as in the books."""
    everything = {key: streams(record) for key, record in snapshot.items()}
    lengths = {key: sum(map(len, found)) for key, found in everything.items()}
    scores = dict.fromkeys(everything, 0.0)
    for unit in parse_query(query):
        often = {
            key: max(sum(times(phrase, stream) for stream in found) for phrase in unit)
            for key, found in everything.items()
        }
        having = [key for key, count in often.items() if count]
        for key in having:
            average = sum(lengths.values()) / len(lengths)
            idf = 1 + (len(lengths) - len(having) + 0.5) / (len(having) + 0.5)
            idf = float(Decimal(idf).ln(Context(prec=50)))
            norm = 1.2 * (1 - 0.75 + 0.75 * lengths[key] / average)
            scores[key] += idf * often[key] * (1.2 + 1) / (often[key] + norm)
    hits = [(key, score) for key, score in scores.items() if score]
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def found(snapshot, query, **options):
    hits = snapshot.search(query, mode="words", **options)
    return [(hit.record.key, hit.score) for hit in hits]


@settings(deadline=None, max_examples=150)
@given(steps=st.lists(actions, max_size=25), asked=st.lists(st.sampled_from(ASKED), min_size=3))
def test_search_equals_the_reference(steps, asked):
    with mnemosyne_vcs.open("memory://", create=True, author="a") as repo:
        repo.create_branch("other")
        branch, past = "main", []
        for step in steps:
            snapshot = repo.at(branch)
            match step:
                case "put", key, content:
                    repo.put(key, content, branch=branch)
                case "delete", key if key in snapshot:
                    repo.delete(key, branch=branch)
                case "move", old, new if old in snapshot and new not in snapshot:
                    with repo.transaction(branch) as tx:
                        tx.move(old, new)
                case "branch", name:
                    branch = name
                case "merge", *_:
                    repo.merge("other", into="main", on_conflict="ours")
                case "search", query:
                    assert found(snapshot, query) == reference(snapshot, query)
                    past.append(snapshot)
                case "forget", *_:
                    repo._views.clear()
                case _:
                    continue
        for snapshot in [*past, repo.at("main"), repo.at("other")]:
            for query in asked:
                assert found(snapshot, query, limit=100) == reference(snapshot, query)


@settings(deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["add", "drop", "trim"]),
            st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=4),
        ),
        min_size=5,
    )
)
def test_the_store_keeps_what_is_claimed_and_nothing_else_once_it_is_trimmed(steps):
    """Row numbers are used again, and words that no row has are forgotten."""
    store, living = PostingsStore(), []
    for step, some in steps:
        if step == "add":
            batch, claim = TokenBatch(), store.claim()
            said = [f"{letter} {some[0]}" for letter in some]
            for each in said:
                batch.add([each])
            rows = store.add(claim, [f"{len(living)}{n}".encode() for n in range(len(said))], batch)
            living.append((claim, dict(zip(rows.values(), said, strict=True))))
            del claim
        elif step == "drop" and living:
            living.pop(len(some) % len(living))
        else:
            store.trim()
            texts_of = [each for _, rows in living for each in rows.values()]
            assert set(store.now.names) == set(" ".join(texts_of).split())
            assert sum(len(s.rows) for s in store.now.segments) == len(texts_of)
        expected = {row: text for _, rows in living for row, text in rows.items()}
        assert len(expected) == sum(len(rows) for _, rows in living)
        for letter in "abcdefg":
            [[phrase]] = parse_query(letter)
            rows = [row for each in store.now.occurrences(phrase) for row in each.tolist()]
            for row, text in expected.items():
                assert rows.count(row) == text.split().count(letter)
    living.clear()
    store.trim()
    assert store.nbytes == 0


def many(repo, count, start=0):
    with repo.transaction() as tx:
        for number in range(start, start + count):
            tx.put(f"k/{number:05}", {"text": f"word{number % 7} and number {number}", "n": number})


@pytest.fixture
def repo():
    with mnemosyne_vcs.open("memory://", create=True, author="a") as opened:
        yield opened


def test_filters_come_before_the_cut_and_change_no_score(repo):
    many(repo, 300)
    now = repo.at()
    every = found(now, "word3 number", limit=1000)
    assert every == reference(now, "word3 number")
    assert len(every) == 300

    def test(record):
        return record.content["n"] % 3 == 0

    third = [hit for hit in every if int(hit[0][-5:]) % 3 == 0]
    below = [hit for hit in every if hit[0].startswith("k/0001")]
    for limit in [0, 1, 5, 70, 99, 100, 1000]:
        assert found(now, "word3 number", limit=limit) == every[:limit]
        assert found(now, "word3 number", limit=limit, where=test) == third[:limit]
        assert found(now, "word3 number", limit=limit, prefix="k/0001") == below[:limit]
    assert found(now, "word3 number", min_score=1.0, limit=1000) == [h for h in every if h[1] >= 1]
    keys = [f"k/{number:05}" for number in range(0, 300, 2)]
    odd = Selection(keys, np.array([number % 4 == 0 for number in range(0, 300, 2)]))
    expected = [hit for hit in every if int(hit[0][-5:]) % 4 == 0]
    assert found(now, "word3 number", within=odd, limit=1000) == expected
    assert found(now, "word3 number", prefix="x") == []


def test_threads_that_build_views_of_different_commits(repo):
    commits = []
    for turn in range(8):
        many(repo, 40, 20 * turn)
        commits.append(repo.resolve().id)
    expected = {id: reference(repo.at(id), "word1 and") for id in commits}
    repo._views.clear()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            asked = [pool.submit(found, repo.at(id), "word1 and", limit=999) for id in commits]
            assert [each.result() for each in asked] == [expected[id] for id in commits]
            repo._views.clear()


def test_each_record_is_read_once_for_all_commits(repo, monkeypatch):
    many(repo, 50)
    assert found(repo.at(), "word1")
    repo.put("k/new", "word1")
    repo.create_branch("other")
    repo.put("k/other", "word1", branch="other")
    read = []
    of_many = Blocks.read_each
    monkeypatch.setattr(
        Blocks, "read_each", lambda self, ids: of_many(self, read.append(len(ids)) or ids)
    )
    for revision in ["main", "other", "main~1", "main", "other~1"]:
        assert repo.at(revision).words().search(parse_query("word1"))
    assert sum(read) == 2


def test_an_interrupted_addition_leaves_nothing_wrong():
    store, claim = PostingsStore(), None
    for attempt in range(3):
        batch, claim = TokenBatch(), store.claim()
        batch.add([f"word{attempt} word"])
        store.add(claim, [b"same"], batch)
    [[phrase]] = parse_query("word")
    rows = [row for each in store.now.occurrences(phrase) for row in each.tolist()]
    assert len(set(rows)) == 3
    store.trim()
    rows = [row for each in store.now.occurrences(phrase) for row in each.tolist()]
    assert rows == list(store.find(claim, [b"same"]).values())


@pytest.mark.parametrize(("records", "having"), [(1, 1), (100_000, 1), (100_000, 99_999), (7, 3)])
def test_rarity_is_rounded_correctly(records, having):
    ratio = Decimal(1 + (records - having + 0.5) / (having + 0.5))
    assert rarity(records, having) == float(ratio.ln(Context(prec=80)))


def test_hostile_texts(repo):
    hostile = ["\0", "\ud800", "a" * 100_000, "aB" * 50_000, "\u202e", "{[(", "a\0b", "̈" * 1000]
    for number, text in enumerate(hostile):
        if text != "\ud800":
            repo.put(f"k{number}", {"t": [text, {"x": text}]})
    now = repo.at()
    for text in [*hostile, *(f'"{each}"' for each in hostile), *(f"{each}*" for each in hostile)]:
        assert found(now, text) == reference(now, text)
    assert [key for key, _ in found(now, "aB" * 50_000)] == ["k3"]

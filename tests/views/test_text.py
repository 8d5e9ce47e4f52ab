"""Search by words equals BM25 computed by plain Python over the snapshot, score by score."""

import math
from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs.views.cache import ViewCache
from mnemosyne_vcs.views.keys import Selection
from mnemosyne_vcs.views.query import parse_query
from mnemosyne_vcs.views.text import TextViewBuilder, rarity
from mnemosyne_vcs.views.words import folded, parts, texts, words

SAID = [
    "refund", "over", "200", "refund over 200", "Refund-over-200", "refund_over_200.", "GitHub",
    "github", "getUserName now", "get_user_name", "École", "ecole", "退款超过200元", "退款", "超过",
    "العَرَبِيَّة", "العربية", "हिन्दी", "👍🏽 ok", "ｆｕｌｌ", "a a a", "3.14", "", "over\x00 200", "ไทย",
]  # fmt: skip
ASKED = [
    *SAID, '"refund over 200"', '"over 200"', "refun*", "re* 2*", '"get user*"', "退款超过", '"款超"',
    "gitHub*", '"a a"', "nothing", '"', "*", "refund refund", "GITHUB", "ref* over \"ok 👍🏽\"",
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

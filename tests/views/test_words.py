"""What the words of a text are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne_vcs.views.query import parse_query
from mnemosyne_vcs.views.words import folded, parts, plain_words, texts, words, words_in_place


def words_of(text):
    return [folded(word) for chunk in text.split() for word in words(chunk)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Refund over 200", "refund over 200"),
        ("refund-over-200, refund_over_200", "refund over 200 refund over 200"),
        ("getHTTPResponse2", "gethttpresponse2"),
        ("don't don’t 3.14 1,000", "don t don t 3 14 1 000"),
        ("a/b:c=d&e", "a b c d e"),
        ("École naïve Ångström Łódź ÇA", "ecole naive angstrom łodz ca"),
        ("Straße STRASSE", "strasse strasse"),
        ("İstanbul ISTANBUL", "istanbul istanbul"),
        ("ｆｕｌｌ　ｗｉｄｔｈ ﬁne Ⅷ ½", "full width fine viii 1 2"),
        ("re\xadfund zero\u200bwidth", "refund zero width"),
        ("退款超过200元", "退 款 超 过 200 元"),
        ("ｶﾞｲﾄﾞ ガイド、テスト・名", "ガ イ ド ガ イ ド テ ス ト 名"),
        ("한국어를 200원", "한 국 어 를 200 원"),
        ("ไทย", "ไ ท ย"),
        ("العَرَبِيَّة العربية", "العربية العربية"),
        ("עִבְרִית עברית", "עברית עברית"),
        ("हिन्दी", "हिन्दी"),
        ("ελληνικά ΕΛΛΗΝΙΚΆ", "ελληνικα ελληνικα"),
        ("ok👍🏽 ❤️❤ 🇩🇪", "ok 👍🏽 ❤ ❤ 🇩🇪"),
        ("?! -- … 「」 \x00 ()", ""),
    ],
)
def test_words(text, expected):
    assert " ".join(words_of(text)) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("getHTTPResponse2", "get http response2"),
        ("GitHub", "git hub"),
        ("iPhone", "i phone"),
        ("HTTP", ""),
        ("Refund", ""),
        ("4K", ""),
        ("aB" * 40, ""),
    ],
)
def test_parts(word, expected):
    assert " ".join(parts(word)) == expected


@given(st.text())
def test_words_are_where_they_are_said_to_be(text):
    found = list(words_in_place(text))

    assert [word for *_, word in found] == [word for chunk in text.split() for word in words(chunk)]
    assert all(0 <= start < stop <= len(text) for start, stop, _ in found)
    assert [start for start, *_ in found] == sorted(start for start, *_ in found)


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_ascii_has_one_way(text):
    """A character beyond ASCII, which takes the general way, changes nothing for the others."""
    assert words_of(text + " é") == [*words_of(text), "e"]


@given(st.text(alphabet=st.sampled_from("aZ9_-. \x1f\t")))
def test_the_quick_way_is_that_of_single_pieces(text):
    found = plain_words(text)
    has_parts = any(parts(word) for chunk in text.split() for word in words(chunk))

    assert found == (None if has_parts else words_of(text))
    assert plain_words(text + "é") is None


def test_texts_in_the_order_of_the_content():
    content = {"b": ["x", {"c": 2}], "a": True, "d": None, "e": 0.5}

    assert texts("the/key", content) == [
        (None, "the/key"),
        ("b", "b"),
        ("b.0", "x"),
        ("b.1.c", "c"),
        ("b.1.c", "2"),
        ("a", "a"),
        ("d", "d"),
        ("e", "e"),
        ("e", "0.5"),
    ]
    assert texts("k", "text") == [(None, "k"), ("", "text")]


def said(text):
    """A query, each unit by its spellings."""
    return [
        "|".join(" ".join(e.word + "*" * e.is_prefix for e in phrase) for phrase in unit)
        for unit in parse_query(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("refund over 200", ["refund", "over", "200"]),
        ("refund REFUND refund", ["refund"]),
        ('"Over 200" refund', ["over 200", "refund"]),
        ("“over 200”", ["over 200"]),
        ("refun* a-b*", ["refun*", "a b*"]),
        ('"over 20*"', ["over 20*"]),
        ("refund-over-200", ["refund over 200"]),
        ("GitHub", ["github|git hub"]),
        ("getName*", ["getname*|get name*"]),
        ('"a GitHub issue"', ["a github issue|a git hub issue"]),
        ("退款 退款超过200", ["退 款", "款 超", "超 过", "200"]),
        ('"退款超过"', ["退 款 超 过"]),
        ('5" pipe', ["5", "pipe"]),
        ('x"y z"', ["x", "y z"]),
        ('"" * "*" -- ?', []),
        ("", []),
    ],
)
def test_queries(text, expected):
    assert said(text) == expected


@given(st.text())
def test_any_text_is_a_query(text):
    for unit in parse_query(text):
        assert unit
        assert all(element.word for phrase in unit for element in phrase)

"""What the format can hold, and how the rest is refused."""

import enum
import json
import math
import re
from collections import ChainMap, OrderedDict
from datetime import UTC, datetime
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.format.validation import (
    MAX_DEPTH,
    check_content,
    check_integer,
    check_key,
    check_name,
    check_provenance,
    check_text,
)
from mnemosyne_vcs.model import Provenance

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=15,
)


class Colour(str, enum.Enum):  # noqa: UP042 - one that shows itself as 'Colour.RED'
    RED = "red"


class Shout(str):
    __slots__ = ()

    def __str__(self):
        return self.upper()


class Level(enum.IntEnum):
    HIGH = 3


def refused(value, path):
    with pytest.raises(ValidationError) as caught:
        check_content(value)
    assert re.search(rf"(^|\s){re.escape(path)}(\s|$)", str(caught.value)), caught.value


@given(values)
def test_json_values_are_copied(value):
    copy = check_content(value)
    assert json.dumps(copy) == json.dumps(value).replace("-0.0", "0.0") or "-0.0" in repr(value)
    assert copy == value
    if isinstance(value, list | dict):
        assert copy is not value


@given(values)
def test_checking_twice_changes_nothing(value):
    once = check_content(value)
    assert repr(check_content(once)) == repr(once)


def test_a_later_change_does_not_show():
    inner = [1]
    copy = check_content({"a": inner})
    inner.append(2)
    assert copy == {"a": [1]}


def test_negative_zero_becomes_zero():
    copy = check_content([-0.0, {"x": -0.0}])
    assert [math.copysign(1, copy[0]), math.copysign(1, copy[1]["x"])] == [1, 1]


def test_one_one_point_zero_and_true_stay_apart():
    assert [type(item) for item in check_content([1, 1.0, True])] == [int, float, bool]


@pytest.mark.parametrize(
    ("value", "kind", "plain"),
    [
        (Colour.RED, str, "red"),
        (Shout("quiet"), str, "quiet"),
        (Level.HIGH, int, 3),
        (np.float64(0.5), float, 0.5),
    ],
    ids=repr,
)
def test_subclasses_become_plain(value, kind, plain):
    for copy in (check_content(value), check_content([value])[0], check_content({"a": value})["a"]):
        assert type(copy) is kind
        assert copy == plain


def test_subclasses_of_text_are_plain_everywhere():
    assert list(check_content({Colour.RED: 1})) == ["red"]
    for check in (check_key, lambda value: check_text(value, "author")):
        assert type(check(Colour.RED)) is str
        assert [check(Colour.RED), check(Shout("quiet"))] == ["red", "quiet"]


@pytest.mark.parametrize(
    "mapping", [OrderedDict(a=1), MappingProxyType({"a": 1}), ChainMap({"a": 1})], ids=repr
)
def test_mappings_become_dicts(mapping):
    copy = check_content(mapping)
    assert type(copy) is dict
    assert copy == {"a": 1}


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        (),
        {1, 2},
        b"bytes",
        bytearray(b"x"),
        memoryview(b"x"),
        object(),
        datetime(2026, 1, 1, tzinfo=UTC),
        1j,
        np.int64(1),
        np.float32(1),
        np.bool_(True),
        np.zeros(2),
        range(3),
        iter([]),
        int,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_json_is_refused_with_its_path(value):
    refused(value, "content")
    refused([0, value], "content[1]")
    refused({"a": {"b c": [value]}}, "content.a.b c[0]")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=repr)
def test_numbers_that_are_not_finite_are_refused(value):
    refused({"x": [value]}, "content.x[0]")


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30], ids=repr)
def test_integers_have_64_bits(value):
    refused({"x": value}, "content.x")
    with pytest.raises(ValidationError, match="size"):
        check_integer(value, "size")


def test_the_extremes_of_64_bits_are_kept():
    assert check_content([2**63 - 1, -(2**63)]) == [2**63 - 1, -(2**63)]


@pytest.mark.parametrize("value", [1.0, True, "1", None, [1]], ids=repr)
def test_integers_are_integers(value):
    with pytest.raises(ValidationError, match="size is an integer"):
        check_integer(value, "size")


@pytest.mark.parametrize("name", [1, None, True, b"a", (1,)], ids=repr)
def test_keys_of_objects_are_strings(name):
    with pytest.raises(ValidationError, match=r"content\.a has the key"):
        check_content({"a": {name: 1}})


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\udc00\ud800"], ids=ascii)
def test_lone_surrogates_are_refused(text):
    refused({"x": text}, "content.x")
    with pytest.raises(ValidationError, match=r"content\.x\..*surrogate") as caught:
        check_content({"x": {text: 1}})
    assert str(caught.value).encode()
    with pytest.raises(ValidationError, match="surrogate"):
        check_key(text)
    with pytest.raises(ValidationError, match="author"):
        check_text(text, "author")


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"a": v}], ids=["lists", "maps"])
def test_depth_ends_at_64(wrap):
    value = None
    for _ in range(MAX_DEPTH):
        value = wrap(value)
    assert check_content(value) == value
    with pytest.raises(ValidationError, match="64 levels"):
        check_content(wrap(value))


def test_a_value_that_holds_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(ValidationError, match="64 levels"):
        check_content(value)


@given(st.text(max_size=8))
def test_keys_are_kept_or_refused(key):
    try:
        assert check_key(key) == key
    except ValidationError:
        hidden = [c for c in key if ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000]
        assert hidden or not key


@pytest.mark.parametrize("key", [None, 1, b"a", ["a"]], ids=repr)
def test_keys_are_strings(key):
    with pytest.raises(ValidationError, match="a key is a string"):
        check_key(key)


def test_a_long_key_is_shown_in_part():
    with pytest.raises(ValidationError, match="4097 bytes") as caught:
        check_key("x" * 4097)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["main", "a/b", "v1.0", "é", "x_y-z", "a" * 255])
def test_names(name):
    assert check_name(name, "branch") == name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "/",
            "a/",
            "/a",
            "a//b",
            "a b",
            "a\tb",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a]",
            "a\\b",
        ),
        *(
            "a@{1}",
            "a@b",
            "..",
            "a..b",
            "-a",
            "a\x00",
            "a\x7f",
            "a\x90",
            "\ud800",
            "a" * 256,
            "é" * 128,
        ),
    ],
    ids=ascii,
)
def test_what_is_no_name_is_refused(name):
    with pytest.raises(ValidationError):
        check_name(name, "tag")


def test_provenance_is_checked_field_by_field():
    full = Provenance(
        source="s", step=3, derived_from=[["k", "c"]], note=Colour.RED, agent="", task=None
    )
    checked = check_provenance(full)
    assert checked == Provenance(
        source="s", step=3, derived_from=(("k", "c"),), note="red", agent=""
    )
    assert type(checked.note) is str
    assert check_provenance(Provenance()) == Provenance()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source", 1),
        ("source", "\ud800"),
        ("agent", b"x"),
        ("note", ["x"]),
        ("step", 1.5),
        ("step", True),
        ("step", 2**63),
        ("step", [1]),
        ("derived_from", 5),
        ("derived_from", "ab"),
        ("derived_from", ("key", "commit")),
        ("derived_from", [("key",)]),
        ("derived_from", [5]),
        ("derived_from", [("key", 1)]),
        ("derived_from", {"key": "commit"}),
    ],
    ids=repr,
)
def test_a_bad_field_of_provenance_is_named(field, value):
    with pytest.raises(ValidationError, match=rf"provenance\.{field}"):
        check_provenance(Provenance(**{field: value}))


def test_a_bad_key_in_derived_from_is_refused():
    with pytest.raises(ValidationError, match="control character"):
        check_provenance(Provenance(derived_from=(("a\n", "c"),)))


@pytest.mark.parametrize("moment", ["2026", 1.5, True, [1], 2**63], ids=repr)
def test_event_times_are_integers_and_nothing_is_written(moment):
    repository = mnemosyne_vcs.open("memory://", create=True)
    with pytest.raises(ValidationError, match="event_time"):
        repository.put("k", 1, event_time=moment)
    assert not list(repository.log())


def test_event_times_are_milliseconds():
    repository = mnemosyne_vcs.open("memory://", create=True)
    moment = datetime(2026, 11, 30, 9, 0, 0, 123000, tzinfo=UTC)
    for when in (moment, moment.replace(tzinfo=None)):
        repository.put("k", str(when), event_time=when)
        assert repository.at()["k"].event_time == 1796029200123
    repository.put("k", 2, event_time=-5)
    assert repository.at()["k"].event_time == -5

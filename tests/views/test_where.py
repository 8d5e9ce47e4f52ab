"""The conditions of a search on the content of a record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.model import Provenance, Record, Vectors
from mnemosyne_vcs.views.where import predicate


def record(content) -> Record:
    return Record("k", content, Vectors({}, {}.__getitem__), None, Provenance(), None, "0" * 32)


def matches(content, where) -> bool:
    return predicate(where)(record(content))


CUSTOMER = {
    "plan": {"tier": "gold", "seats": 12},
    "tags": ["vip", "eu"],
    "score": 0.5,
    "active": True,
    "note": None,
    "a.b": 1,
}


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, True),
        ({"plan.tier": "gold"}, True),
        ({"plan.tier": "silver"}, False),
        ({"plan.tier": "gold", "score": 0.5}, True),
        ({"plan.tier": "gold", "score": 1}, False),
        ({"plan": {"tier": "gold", "seats": 12}}, True),
        ({"plan": {"tier": "gold"}}, False),
        ({"plan": {}}, False),
        ({"tags": ["vip", "eu"]}, True),
        ({"tags": ["eu", "vip"]}, False),
        ({"tags.0": "vip"}, True),
        ({"tags.1": "vip"}, False),
        ({"tags.2": "vip"}, False),
        ({"tags.-1": "eu"}, False),
        ({"tags.x": "vip"}, False),
        ({"plan.tier.deep": "gold"}, False),
        ({"a.b": 1}, False),
        ({"note": None}, True),
        ({"absent": None}, False),
        ({"active": True}, True),
        ({"active": 1}, False),
        ({"plan.seats": 12.0}, True),
        ({"plan.seats": True}, False),
        ({"plan.tier": {"$eq": "gold"}}, True),
        ({"plan.tier": {"$ne": "gold"}}, False),
        ({"plan.tier": {"$ne": "silver"}}, True),
        ({"absent": {"$ne": "gold"}}, True),
        ({"absent": {"$eq": None}}, False),
        ({"plan.seats": {"$gt": 11}}, True),
        ({"plan.seats": {"$gt": 12}}, False),
        ({"plan.seats": {"$gte": 12}}, True),
        ({"plan.seats": {"$lt": 12}}, False),
        ({"plan.seats": {"$lt": 12.5}}, True),
        ({"plan.seats": {"$lte": 12}}, True),
        ({"plan.seats": {"$gt": 1, "$lt": 12}}, False),
        ({"plan.seats": {"$gt": 1, "$lt": 13}}, True),
        ({"plan.seats": {"$gt": "1"}}, False),
        ({"plan.tier": {"$gt": "a"}}, True),
        ({"plan.tier": {"$lt": 5}}, False),
        ({"active": {"$gte": 0}}, False),
        ({"plan.seats": {"$gt": False}}, False),
        ({"absent": {"$gt": 0}}, False),
        ({"note": {"$lt": 1}}, False),
        ({"tags": {"$gt": []}}, False),
        ({"plan.tier": {"$in": ["silver", "gold"]}}, True),
        ({"plan.tier": {"$in": ("silver",)}}, False),
        ({"plan.tier": {"$in": {"gold"}}}, True),
        ({"plan.seats": {"$in": []}}, False),
        ({"active": {"$in": [1]}}, False),
        ({"absent": {"$in": [None]}}, False),
    ],
    ids=repr,
)
def test_conditions(where, found):
    assert matches(CUSTOMER, where) is found


@pytest.mark.parametrize("content", [None, 1, "gold", [], True], ids=repr)
def test_content_that_is_no_object_has_no_fields(content):
    assert not matches(content, {"plan.tier": "gold"})
    assert matches(content, {"plan.tier": {"$ne": "gold"}})


def test_a_list_at_the_top_has_numbered_items():
    assert matches([{"a": 1}], {"0.a": 1})


def test_a_callable_is_taken_as_it_is():
    def test(_):
        return True

    assert predicate(test) is test


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"plan.tier": {"$regex": "g"}}, r"'plan\.tier'.*'\$regex'.*\$eq"),
        ({"plan": {"$gt": 1, "tier": "x"}}, "'plan'.*'tier'"),
        ({"plan": {"tier": "x", "$gt": 1}}, "'plan'.*'tier'"),
        ({"plan.tier": {"$in": "gold"}}, r"\$in of field 'plan\.tier' takes a list"),
        ({"plan.tier": {"$in": 5}}, "takes a list"),
        ({"plan.tier": {"$in": None}}, "takes a list"),
    ],
    ids=repr,
)
def test_a_condition_that_is_none_is_refused_before_any_record(where, said):
    with pytest.raises(ValidationError, match=said):
        predicate(where)


numbers = st.integers(-5, 5) | st.floats(-5, 5)


@given(numbers, numbers)
def test_orders_agree_with_numbers(value, operand):
    def holds(name):
        return matches({"x": value}, {"x": {name: operand}})

    assert holds("$lt") == (value < operand) == (not holds("$gte"))
    assert holds("$gt") == (value > operand) == (not holds("$lte"))
    assert holds("$eq") == (value == operand) == (not holds("$ne"))


@pytest.mark.parametrize(("content", "operand"), [(1, True), (0, False), (True, 1), (False, 0)])
def test_a_number_is_not_equal_to_true_or_false(content, operand):
    assert not matches({"a": content}, {"a": operand})
    assert matches({"a": content}, {"a": {"$ne": operand}})

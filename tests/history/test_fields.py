"""Which fields of a record a change touched."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import Provenance
from mnemosyne_vcs.history.fields import FieldChange, field_changes


@pytest.fixture
def change():
    """Writes a record twice and gives the change between."""
    with mnemosyne_vcs.open("memory://", create=True) as repo:

        def between(before, after):
            first = repo.put("k", **before).id
            second = repo.put("k", **after).id
            [found] = repo.diff(first, second)
            return field_changes(found)

        yield between


@pytest.mark.parametrize(
    "before, after, fields",
    [
        (1, 2, [FieldChange("", 1, 2, "changed")]),
        (1, 1.0, [FieldChange("", 1, 1.0, "changed")]),
        ({"a": 1}, {"a": True}, [FieldChange("a", 1, True, "changed")]),
        ({"a": 1}, {"b": 1}, [FieldChange("a", 1, None, "removed"),
                              FieldChange("b", None, 1, "added")]),
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": 3, "d": 2}}},
         [FieldChange("a.b.c", 1, 3, "changed")]),
        ({"a": [1, 2]}, {"a": [1, 3]}, [FieldChange("a", [1, 2], [1, 3], "changed")]),
        ({"a": None}, {"a": {}}, [FieldChange("a", None, {}, "changed")]),
    ],
)  # fmt: skip
def test_content(change, before, after, fields):
    assert change({"content": before}, {"content": after}) == fields


def test_what_lies_beside_the_content(change):
    found = change(
        {"content": 1, "embedding": [1.0, 0.0], "provenance": Provenance(source="a", note="n")},
        {"content": 1, "embedding": [0.0, 1.0], "provenance": Provenance(source="b"),
         "vectors": {"title": [1.0]}, "embedder": "e", "event_time": 5},
    )  # fmt: skip

    assert found == [
        FieldChange("(provenance.source)", "a", "b", "changed"),
        FieldChange("(provenance.note)", "n", None, "removed"),
        FieldChange("(embedder)", None, "e", "added"),
        FieldChange("(event_time)", None, 5, "added"),
        FieldChange("(embedding)", None, None, "changed"),
        FieldChange("(vector title)", None, None, "added"),
    ]


def test_a_record_that_came_has_no_fields_to_compare():
    with mnemosyne_vcs.open("memory://", create=True) as repo:
        repo.put("k", {"a": 1})
        [added] = repo.diff("main~1", "main")

    assert field_changes(added) == []

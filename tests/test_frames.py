"""A snapshot as an Arrow table and as a pandas frame."""

import json
import sys
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from mnemosyne_vcs import Provenance, ValidationError


@pytest.fixture
def snapshot(repo):
    first = repo.put("a/1", {"plan": "Team"}, embedding=[1, 0.5], event_time=1_000)
    source = Provenance(source="mail", agent="me", step=3, derived_from=(("a/1", first.id),))
    repo.put("a/2", [1, "ü"], provenance=source, vectors={"title": [1, 2, 3]}, embedder="m1")
    repo.put("old", None)
    repo.move("old", "b")
    return repo.at()


def test_an_arrow_table_has_a_row_for_each_record(snapshot):
    table = snapshot.to_arrow()

    assert table["key"].to_pylist() == ["a/1", "a/2", "b"]
    assert list(map(json.loads, table["content"].to_pylist())) == [{"plan": "Team"}, [1, "ü"], None]
    assert table["event_time"].to_pylist()[0] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert table["source"].to_pylist() == [None, "mail", None]
    assert table["step"].to_pylist() == [None, "3", None]
    assert table["derived_from"].to_pylist() == [
        [], [{"key": "a/1", "commit": snapshot["a/2"].provenance.derived_from[0][1]}], []
    ]  # fmt: skip
    assert table["moved_from"].to_pylist() == [None, None, "old"]
    assert table["transaction_id"].to_pylist() == [each.transaction_id for each in snapshot.scan()]
    assert "embedding" not in table.column_names


def test_an_arrow_table_with_vectors(snapshot):
    table = snapshot.to_arrow(with_vectors=True)

    assert table.schema.field("embedding").type == pa.list_(pa.float32())
    assert table["embedding"].to_pylist() == [[1, 0.5], None, None]
    assert table["vectors"].to_pylist() == [[], [("title", [1, 2, 3])], []]


def test_the_schema_does_not_depend_on_the_records(snapshot, repo):
    for with_vectors in (False, True):
        whole = snapshot.to_arrow(with_vectors=with_vectors)
        empty = snapshot.to_arrow("none/", with_vectors=with_vectors)
        assert empty.num_rows == 0
        assert empty.schema == whole.schema


def test_a_pandas_frame_is_indexed_by_key(snapshot):
    frame = snapshot.to_pandas()

    assert list(frame.index) == ["a/1", "a/2", "b"]
    assert frame.loc["a/1", "content"] == {"plan": "Team"}
    assert list(frame["content"])[2] is None
    assert str(frame["event_time"].dtype) == "datetime64[ms, UTC]"
    assert frame.loc["a/1", "event_time"] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert frame["event_time"].isna().tolist() == [False, True, True]
    assert frame.loc["a/2", "step"] == 3
    assert frame.loc["a/2", "derived_from"] == snapshot["a/2"].provenance.derived_from
    assert frame[frame["source"] == "mail"].index.tolist() == ["a/2"]


def test_a_pandas_frame_with_vectors(snapshot):
    frame = snapshot.to_pandas("a/", with_vectors=True)

    assert frame.loc["a/1", "embedding"].tolist() == [1, 0.5]
    assert frame.loc["a/2", "embedding"] is None
    assert frame.loc["a/2", "vectors"]["title"].tolist() == [1, 2, 3]


def test_an_empty_frame_has_the_columns(snapshot):
    empty = snapshot.to_pandas("none/")

    assert empty.empty
    assert list(empty.columns) == list(snapshot.to_pandas().columns)
    assert empty.dtypes.tolist() == snapshot.to_pandas().dtypes.tolist()


@pytest.mark.parametrize("year", [1, 9999])
def test_times_far_from_now_are_kept(repo, year):
    time = datetime(year, 6, 1, tzinfo=UTC)
    repo.put("far", 1, event_time=time)

    assert repo.at().to_arrow()["event_time"].to_pylist() == [time]
    assert repo.at().to_pandas()["event_time"].iloc[0] == time


@pytest.mark.parametrize(("method", "library"), [("to_arrow", "pyarrow"), ("to_pandas", "pandas")])
def test_a_missing_library_is_named(snapshot, monkeypatch, method, library):
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(ImportError, match=rf"{library} is not installed: pip install"):
        getattr(snapshot, method)()
    with pytest.raises(ValidationError):
        getattr(snapshot, method)(7)

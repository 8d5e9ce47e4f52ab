"""Records as a table of another library: Apache Arrow or pandas."""

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from importlib import import_module
from typing import Any

from mnemosyne_vcs.model import Provenance, Record

__all__ = ["arrow_table", "pandas_frame"]

_PROVENANCE = tuple(each.name for each in fields(Provenance))
_NAMES = ("key", "content", "embedder", "event_time", *_PROVENANCE, "transaction_id", "moved_from")
_VECTORS = ("embedding", "vectors")


def arrow_table(records: Iterable[Record], *, with_vectors: bool) -> Any:
    """Records as a `pyarrow.Table`; see `Snapshot.to_arrow`.

    Raises:
        ImportError: pyarrow is not installed.
    """
    arrow, rows = _library("pyarrow", "arrow"), list(records)
    text, floats = arrow.string(), arrow.list_(arrow.float32())
    types = {
        "event_time": arrow.timestamp("ms", "UTC"),
        "derived_from": arrow.list_(arrow.struct([("key", text), ("commit", text)])),
        "embedding": floats,
        "vectors": arrow.map_(text, floats),
    }
    special = {"content": _as_json, "step": _step_as_text, "derived_from": _sources}
    names = _NAMES + _VECTORS * with_vectors
    columns = [
        arrow.array(list(map(special.get(name, _reader(name)), rows)), types.get(name, text))
        for name in names
    ]
    return arrow.table(columns, names=list(names))


def pandas_frame(records: Iterable[Record], *, with_vectors: bool) -> Any:
    """Records as a `pandas.DataFrame`; see `Snapshot.to_pandas`.

    Raises:
        ImportError: pandas is not installed.
    """
    import numpy as np

    pandas, rows = _library("pandas", "pandas"), list(records)
    index = pandas.Index([record.key for record in rows], name="key", dtype=object)
    columns = {
        name: pandas.Series(list(map(_reader(name), rows)), index=index, dtype=object)
        for name in (_NAMES + _VECTORS * with_vectors)[1:]
    }
    times = np.array([record.event_time for record in rows], dtype="datetime64[ms]")
    columns["event_time"] = pandas.Series(times, index=index).dt.tz_localize("UTC")
    return pandas.DataFrame(columns, index=index)


def _library(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{name} is not installed: pip install 'mnemosyne-vcs[{extra}]'"
        ) from error


def _reader(name: str) -> Callable[[Record], Any]:
    """The function that reads a column's value from a record."""
    if name == "vectors":
        return lambda record: {each: vector for each, vector in record.vectors.items() if each}
    if name in _PROVENANCE:
        return lambda record: getattr(record.provenance, name)
    return lambda record: getattr(record, name)


def _as_json(record: Record) -> str:
    return json.dumps(record.content, ensure_ascii=False)


def _step_as_text(record: Record) -> str | None:
    step = record.provenance.step
    return None if step is None else str(step)


def _sources(record: Record) -> list[dict[str, str]]:
    return record.provenance.as_json().get("derived_from", [])

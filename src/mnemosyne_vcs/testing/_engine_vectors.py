"""The part of the engine contract about indexes of vectors."""

from collections.abc import Collection, Iterator
from random import Random
from zlib import crc32

import numpy as np
import pytest

from mnemosyne_vcs.engine.protocol import Engine, RefUpdate
from mnemosyne_vcs.engine.vector_index import (
    IndexesVectors,
    VectorIndex,
    VectorMove,
    VectorPart,
    VectorQuery,
    VectorRow,
)
from mnemosyne_vcs.errors import NotFoundError, ReadOnlyError
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.testing._engine_hooks import HOSTILE_NAMES, EngineHooks, blob, require

__all__ = ["VectorContract"]

ROOTS = [blob(1000 + number)[0] for number in range(5)]
HEADS = [blob(2000 + number)[0] for number in range(5)]


class VectorContract(EngineHooks):
    """The contract of an engine that indexes vectors."""

    def test_an_index_begins_empty_and_goes_when_it_is_dropped(self, engine: Engine) -> None:
        index = _begun(engine, "b", "a")
        index.add_vector_index("a", ROOTS[1])
        assert index.vector_indexes() == [
            VectorIndex("a", ROOTS[0], HEADS[0]),
            VectorIndex("b", ROOTS[0], HEADS[0]),
        ]
        assert index.nearest_vectors("a", ROOTS[0], _query([1, 0])) == []
        assert index.vector_dimensions("a", ROOTS[0], "") == []
        assert index.drop_vector_index("a")
        assert not index.drop_vector_index("a")
        assert [each.ref for each in index.vector_indexes()] == ["b"]
        assert index.nearest_vectors("a", ROOTS[0], _query([1, 0])) is None
        assert index.vector_dimensions("a", ROOTS[0], "") is None

    def test_there_is_no_index_without_a_ref(self, engine: Engine) -> None:
        index = _begun(engine, "r")
        with pytest.raises(NotFoundError, match="nothing"):
            index.add_vector_index("nothing", ROOTS[0])
        engine.write({}, RefUpdate("r", HEADS[0], None))
        assert index.vector_indexes() == []
        engine.write({}, RefUpdate("r", None, HEADS[0]))
        assert index.vector_indexes() == []

    def test_a_write_moves_the_index_with_the_ref(self, engine: Engine) -> None:
        index = _begun(engine, "r")
        rows = [_row("k", [3, 4]), _row("l", [1, 0], "title")]
        engine.write({}, _update("r", 0, rows))
        assert index.known_vector_root("r") == ROOTS[1]
        assert index.vector_indexes() == [VectorIndex("r", ROOTS[1], HEADS[1])]
        assert _found(index, "r", ROOTS[1], _query([0, 1])) == [("k", rows[0].vector, 0.8)]
        assert _found(index, "r", ROOTS[1], _query([1, 0], "title")) == [("l", rows[1].vector, 1)]
        assert index.nearest_vectors("r", ROOTS[0], _query([0, 1])) is None
        engine.write({}, _update("r", 1, [VectorRow("k", "", rows[0].vector, None)], ["k", "l"]))
        assert _found(index, "r", ROOTS[2], _query([1, 0])) == [("k", rows[0].vector, 0.6)]
        assert _found(index, "r", ROOTS[2], _query([1, 0], "title")) == []

    def test_an_index_that_is_elsewhere_stays_and_the_ref_moves(self, engine: Engine) -> None:
        index = _begun(engine, "r")
        move = VectorMove(ROOTS[3], ROOTS[4], [VectorPart(["k"], [_row("k", [1, 0])])])
        engine.write({}, RefUpdate("r", HEADS[0], HEADS[1], vectors=move))
        assert index.vector_indexes() == [VectorIndex("r", ROOTS[0], HEADS[1])]
        assert engine.ref("r") == HEADS[1]
        assert index.known_vector_root("r") == ROOTS[0]
        assert not index.move_vector_index("r", move)
        assert not index.move_vector_index("nothing", move)
        assert _found(index, "r", ROOTS[0], _query([1, 0])) == []

    def test_what_is_kept_has_to_be_there(self, engine: Engine) -> None:
        index = _begun(engine, "r")
        absent = VectorRow("k", "", blob(1)[0], None)
        assert not index.move_vector_index("r", _move(0, [VectorPart(["k"], [absent])]))
        assert index.vector_indexes() == [VectorIndex("r", ROOTS[0], HEADS[0])]

    def test_a_move_in_parts_is_whole_or_not_at_all(self, engine: Engine) -> None:
        index = _begun(engine, "r")
        parts = [VectorPart([f"k{n}"], [_row(f"k{n}", [n + 1, 1])]) for n in range(5)]

        def broken() -> Iterator[VectorPart]:
            yield from parts
            raise KeyError("the next part")

        with pytest.raises(KeyError):
            index.move_vector_index("r", _move(0, broken()))
        assert _found(index, "r", ROOTS[0], _query([1, 0])) == []
        assert index.move_vector_index("r", _move(0, iter(parts)))
        keys = [key for key, _, _ in _found(index, "r", ROOTS[1], _query([1, 0]))]
        assert keys == ["k4", "k3", "k2", "k1", "k0"]

    def test_the_nearest_are_those_with_the_greatest_products(self, engine: Engine) -> None:
        index, random = _begun(engine, "r"), Random(1)
        rows = [
            _row(f"{top}/{number:02}", [random.gauss(0, 1) for _ in range(8)], name)
            for top in ("a", "b", "é")
            for number in range(40)
            for name in ("", "title")
        ]
        keys = {row.key for row in rows}
        assert index.move_vector_index("r", _move(0, [VectorPart(keys, rows)]))
        only, but = {"b/03", "é/03", "none"}, ["a/00", "a/39", "b/03"]
        for prefix in ("", "a/", "é/1", "c"):
            for limit, among in ((1, None), (7, None), (500, None), (5, only), (5, set[str]())):
                direction = _direction([random.gauss(0, 1) for _ in range(8)])
                for name in ("", "title"):
                    query = VectorQuery(name, direction, limit, prefix, among, but)
                    found = index.nearest_vectors("r", ROOTS[1], query)
                    expected = _ranked(rows, query)
                    assert [match.key for match in found or ()] == [key for key, _ in expected]
                    products = [match.product for match in found or ()]
                    assert products == pytest.approx([product for _, product in expected], abs=1e-6)

    def test_only_vectors_of_the_same_dimension_are_found(self, engine: Engine) -> None:
        index = _begun(engine, "r")
        rows = [_row(f"k{size}", [1.0] * size) for size in (3, 2, 5)]
        rows.append(_row("other", [1.0] * 7, "title"))
        rows.append(_row("zero", [0.0] * 2))
        keys = [row.key for row in rows]
        assert index.move_vector_index("r", _move(0, [VectorPart(keys, rows)]))
        assert index.vector_dimensions("r", ROOTS[1], "") == [2, 3, 5]
        assert index.vector_dimensions("r", ROOTS[1], "", ["k3"]) == [2, 5]
        assert index.vector_dimensions("r", ROOTS[1], "none") == []
        found = _found(index, "r", ROOTS[1], _query([1, 0]))
        assert [(key, product) for key, _, product in found] == [
            ("k2", pytest.approx(0.5**0.5)),
            ("zero", 0),
        ]

    def test_names_and_keys_are_kept_to_the_letter(self, engine: Engine) -> None:
        index = _begun(engine, *HOSTILE_NAMES)
        names = [name for name in HOSTILE_NAMES if name and "\0" not in name]
        for ref in HOSTILE_NAMES[:4]:
            rows = [_row(name, [1, 0], name) for name in names]
            assert index.move_vector_index(ref, _move(0, [VectorPart(names, rows)]))
            for row in rows:
                query = VectorQuery(row.name, _direction([1, 0]), 5, prefix=row.key)
                assert _found(index, ref, ROOTS[1], query) == [(row.key, row.vector, 1)]
        assert len(index.vector_indexes()) == len(HOSTILE_NAMES)

    def test_a_store_opened_for_reading_only_searches(self, engine: Engine) -> None:
        index = _begun(engine, "r")
        reader = self.for_reading(engine)
        if reader is None:
            pytest.skip("no read-only engine")
        reading = require(reader, IndexesVectors)
        assert reading.nearest_vectors("r", ROOTS[0], _query([1, 0])) == []
        for act in (
            lambda: reading.add_vector_index("r", ROOTS[0]),
            lambda: reading.drop_vector_index("r"),
            lambda: reading.move_vector_index("r", _move(0, [VectorPart([], [])])),
        ):
            with pytest.raises(ReadOnlyError):
                act()
        assert index.vector_indexes() == [VectorIndex("r", ROOTS[0], HEADS[0])]


def _begun(engine: Engine, *refs: str) -> IndexesVectors:
    """The engine with empty indexes of refs."""
    index = require(engine, IndexesVectors)
    for ref in refs:
        engine.write({}, RefUpdate(ref, None, HEADS[0]))
        index.add_vector_index(ref, ROOTS[0])
        engine.ref(ref)
    return index


def _update(
    ref: str, number: int, rows: list[VectorRow], keys: Collection[str] | None = None
) -> RefUpdate:
    """The move of a ref and its index from one head and root to the next."""
    part = VectorPart([row.key for row in rows] if keys is None else keys, rows)
    return RefUpdate(ref, HEADS[number], HEADS[number + 1], vectors=_move(number, [part]))


def _move(number: int, parts: Iterator[VectorPart] | list[VectorPart]) -> VectorMove:
    return VectorMove(ROOTS[number], ROOTS[number + 1], parts)


def _row(key: str, numbers: list[float], name: str = "") -> VectorRow:
    return VectorRow(key, name, blob(crc32(f"{key}\0{name}".encode()))[0], _direction(numbers))


def _direction(numbers: list[float]) -> bytes:
    vector = np.array(numbers, np.float64)
    norm = np.linalg.norm(vector)
    return (vector / norm if norm else vector).astype("<f4").tobytes()


def _query(numbers: list[float], name: str = "") -> VectorQuery:
    return VectorQuery(name, _direction(numbers), 10)


def _found(
    index: IndexesVectors, ref: str, root: Id, query: VectorQuery
) -> list[tuple[str, Id, float]]:
    found = index.nearest_vectors(ref, root, query)
    assert found is not None
    return [(match.key, match.vector, round(match.product, 6)) for match in found]


def _ranked(rows: list[VectorRow], query: VectorQuery) -> list[tuple[str, float]]:
    """The expected result of a search, by definition."""
    among = [
        row
        for row in rows
        if row.name == query.name
        and row.key.startswith(query.prefix)
        and (query.only is None or row.key in query.only)
        and row.key not in query.but
    ]
    target = np.frombuffer(query.direction, "<f4").astype(np.float64)
    products = [
        (row.key, float(np.frombuffer(row.direction or b"", "<f4").astype(np.float64) @ target))
        for row in among
    ]
    return sorted(products, key=lambda each: -each[1])[: query.limit]

"""The text view: search by words over the records of one root, ranked by BM25.

The score of a record is the sum over the units of the query of

    idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * words / average))

with `idf = ln(1 + (N - df + 0.5) / (df + 0.5))`. `N`, `df` and the average count all records of
the root, whatever else the store holds and whatever the filters are. Each sum and product is one
operation in float64, in this order, and the logarithm is rounded correctly: the same memory gives
the same scores on every machine.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context
from functools import lru_cache
from sys import getsizeof
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.format.objects import decode_record
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.views.cache import Changes
from mnemosyne_vcs.views.keys import (
    KeyFilter,
    Selection,
    pack_keys,
    places_among,
    span,
    splice,
    unpack_keys,
)
from mnemosyne_vcs.views.postings import Postings, PostingsStore, TokenBatch
from mnemosyne_vcs.views.query import Unit
from mnemosyne_vcs.views.rows import Claim, Rows
from mnemosyne_vcs.views.words import texts

if TYPE_CHECKING:
    from mnemosyne_vcs.views.files import Arrays

__all__ = ["K1", "B", "TextView", "TextViewBuilder", "rarity"]

K1, B = 1.2, 0.75
"""The usual constants of BM25: how soon repetition stops to count, and how much length does."""

_Floats: TypeAlias = NDArray[np.float64]
_LOGARITHM = Context(prec=40)
_FIRST_TESTED = 64


@lru_cache(4096)
def rarity(records: int, having: int) -> float:
    """The weight `idf` of what some of the records have, correctly rounded."""
    ratio = 1 + (records - having + 0.5) / (having + 0.5)
    return float(_LOGARITHM.create_decimal_from_float(ratio).ln(_LOGARITHM))


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """What a view knows of the rows of a store.

    Attributes:
        places: the index of each row's key, -1 for rows of other views.
        weights: `K1 * (1 - B + B * words / average)` for each key.
    """

    places: NDArray[np.int32]
    weights: _Floats


class TextView:
    """The words of all records of a root.

    Args:
        store: the words.
        keys: the keys in ascending order.
        rows: the row of each.
    """

    __slots__ = ("_frame", "claim", "keys", "rows", "store")

    def __init__(self, store: PostingsStore, keys: list[str], rows: Rows) -> None:
        self.store = store
        self.keys = keys
        self.rows = rows
        self.claim = store.claim(rows)
        self._frame: _Frame | None = None

    def search(
        self,
        query: Sequence[Unit],
        *,
        prefix: str = "",
        within: Selection | None = None,
        keep: KeyFilter | None = None,
        limit: int = 10,
        min_score: float | None = None,
    ) -> list[tuple[str, float]]:
        """The records that fit a query best, among those that pass all filters.

        Args:
            query: what `parse_query` gave.
            prefix: what the keys start with.
            within: the keys to search.
            keep: a test, applied after the other filters, to the best records first and to many
                at once, until there are enough.
            limit: how many to return at most.
            min_score: the least score to return.

        Returns:
            `(key, score)`, the greatest score first and equal ones by key. Records with nothing
            of the query are never found.
        """
        if limit <= 0 or not self.keys:
            return []
        scores = self._scores(query)
        start, stop = span(self.keys, prefix)
        found = start + np.flatnonzero(scores[start:stop])
        if within is not None and len(found):
            at = places_among(self.keys, within.keys)
            chosen = within.chosen if at is None else np.append(within.chosen, False)[at]
            found = found[chosen[found]]
        if min_score is not None:
            found = found[scores[found] >= min_score]
        best = self._best(found, scores, limit, keep)
        return [(self.keys[at], float(scores[at])) for at in best]

    def sizes(self) -> Mapping[int, int]:
        """The row numbers, the list of keys without the keys themselves, and the shared store."""
        frame = self._frame
        held = 0 if frame is None else frame.places.nbytes + frame.weights.nbytes
        return {
            id(self.keys): getsizeof(self.keys),
            id(self.rows): self.rows.nbytes + held,
            id(self.store): self.store.nbytes,
        }

    def _scores(self, query: Sequence[Unit]) -> _Floats:
        """The score of each record, 0 where it has nothing of the query, shape `(n,)`."""
        now = self.store.now
        scores = np.zeros(len(self.keys))
        frame: _Frame | None = None
        for unit in query:
            frequencies: NDArray[np.intp] | None = None
            for phrase in unit:
                rows = [each for each in now.occurrences(phrase) if len(each)]
                if not rows:
                    continue
                frame = frame or self._framed(now)
                at = frame.places[rows[0] if len(rows) == 1 else np.concatenate(rows)]
                counts = np.bincount(at[at >= 0], minlength=len(self.keys))
                frequencies = counts if frequencies is None else np.maximum(frequencies, counts)
            if frame is None or frequencies is None:
                continue
            having = np.flatnonzero(frequencies)
            if len(having):
                often = frequencies[having].astype(np.float64)
                weight = rarity(len(self.keys), len(having))
                gain = weight * often * (K1 + 1) / (often + frame.weights[having])
                scores[having] += gain
        return scores

    def _framed(self, now: Postings) -> _Frame:
        frame = self._frame
        if frame is None or len(frame.places) < len(now.counts):
            at = np.full(len(now.counts), -1, np.int32)
            at[self.rows] = np.arange(len(self.rows), dtype=np.int32)
            words = now.counts[self.rows]
            average = int(words.sum(dtype=np.int64)) / len(words)
            weights = K1 * (1 - B + B * words.astype(np.float64) / (average or 1.0))
            frame = self._frame = _Frame(at, weights)
        return frame

    def _best(
        self, found: NDArray[np.intp], scores: _Floats, limit: int, keep: KeyFilter | None
    ) -> list[int]:
        """The indices of the best, in order."""
        if keep is None:
            return _foremost(found, scores, limit).tolist()
        passed: list[int] = []
        tested, size = 0, _FIRST_TESTED
        while tested < len(found) and len(passed) < limit:
            some = _foremost(found, scores, tested + size)[tested:].tolist()
            kept = set(keep([self.keys[at] for at in some]))
            passed += [at for at in some if self.keys[at] in kept]
            tested, size = tested + size, size * 4
        return passed[:limit]


def _foremost(found: NDArray[np.intp], scores: _Floats, count: int) -> NDArray[np.intp]:
    """Those with the greatest scores, in order; equal ones in their own order."""
    if count < len(found):
        of = scores[found]
        least = np.partition(of, len(of) - count)[len(of) - count]
        found = found[of >= least]
    return found[np.lexsort((found, -scores[found]))][:count]


class TextViewBuilder:
    """Views of the words of records. All of them share one store.

    Args:
        _: nothing; there is one kind.
    """

    def __init__(self, _: None = None) -> None:
        self._store = PostingsStore()

    def empty(self) -> TextView:
        """The view of a tree without records."""
        return TextView(self._store, [], np.empty(0, np.int32))

    def update(self, blocks: Blocks, view: TextView, changes: Changes) -> TextView:
        """The view of another root; reads new records that no other view has."""
        claim = self._store.claim()
        texts_of = {_text(key, after): (key, after) for key, _, after in changes if after}
        rows = self._store.find(claim, texts_of.keys())
        missing = {each: at for each, at in texts_of.items() if each not in rows}
        if missing:
            rows |= self._added(blocks, claim, missing)
        change = splice(view.keys, [(key, after is not None) for key, _, after in changes])
        new = np.fromiter((rows[each] for each in texts_of), np.int32, len(texts_of))
        return TextView(self._store, change.keys, change.column(view.rows, new))

    def label(self, blocks: Blocks) -> str:
        """See `StoresViews.label`."""
        return "words 1"

    def pack(self, view: TextView) -> "Arrays":
        """See `StoresViews.pack`."""
        return {"keys": pack_keys(view.keys), **self._store.pack(view.rows)}

    def unpack(self, blocks: Blocks, arrays: "Arrays") -> TextView:
        """See `StoresViews.unpack`."""
        keys, claim = unpack_keys(arrays["keys"]), self._store.claim()
        ids = arrays["ids"]
        texts_of = [_text(key, ids[at].tobytes()) for at, key in enumerate(keys)]
        return TextView(self._store, keys, self._store.adopt(claim, texts_of, arrays))

    def trim(self) -> None:
        """Free the rows that no living view refers to."""
        self._store.trim()

    def _added(
        self, blocks: Blocks, claim: Claim, missing: Mapping[bytes, tuple[str, Id]]
    ) -> dict[bytes, int]:
        keys: dict[Id, list[str]] = {}
        for key, record in missing.values():
            keys.setdefault(record, []).append(key)
        batch, added = TokenBatch(), list[bytes]()
        for key, record, row in _rows(blocks, keys):
            batch.add(row)
            added.append(_text(key, record))
        return self._store.add(claim, added, batch)


def _text(key: str, record: Id) -> bytes:
    """What tells the text of a record under a key from all others."""
    return record + key.encode()


def _rows(blocks: Blocks, keys: Mapping[Id, Iterable[str]]) -> Iterator[tuple[str, Id, list[str]]]:
    for record, data in blocks.read_each(keys.keys()):
        content = decode_record(record, data).content
        for key in keys[record]:
            yield key, record, [text for _, text in texts(key, content)]

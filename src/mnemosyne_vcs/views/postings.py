"""The postings: the words of all records of all roots, each record's once.

A row is the text of one record under one key. Rows are added in segments of plain arrays, which
never change; small ones are merged, so that there are few. A view holds a `Claim` on its rows, and
the others are left out when a segment is made anew.
"""

import weakref
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemosyne_vcs.ids import ID_BYTES
from mnemosyne_vcs.views.keys import pack_keys, unpack_keys
from mnemosyne_vcs.views.mapped import ids_as_array
from mnemosyne_vcs.views.query import Element, Phrase
from mnemosyne_vcs.views.rows import Claim, Rows
from mnemosyne_vcs.views.words import folded, parts, plain_words, words

__all__ = ["Postings", "PostingsStore", "Segment", "TokenBatch"]

Numbers: TypeAlias = NDArray[np.int32]

END = 0
"""The token that ends a text."""

_BREAK = "\0"
_KEPT_CHARACTERS = 1 << 23
_LEAST_DEAD = 4096
_ROW_BYTES, _WORD_BYTES = 240, 200


class _Numbers(dict[str, int]):
    """The number of each word, from 1, given when it is asked for; that of the mark is `END`."""

    def __init__(self) -> None:
        self[_BREAK] = END

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class _Chunks(dict[str, tuple[int, ...]]):
    """The tokens of pieces of text without spaces, found when they are asked for.

    Attributes:
        numbers: the number of each word.
        divided: the parts of those that have some, each followed by `END`.
        characters: how long the pieces are together.
    """

    def __init__(self) -> None:
        self.numbers = _Numbers()
        self.divided: dict[str, tuple[int, ...]] = {}
        self.forget()

    def __missing__(self, chunk: str) -> tuple[int, ...]:
        found, number = words(chunk), self.numbers.__getitem__
        tokens = self[chunk] = tuple(map(number, map(folded, found)))
        if not chunk.islower():
            divided = [
                token for each in map(parts, found) if each for token in (*map(number, each), END)
            ]
            if divided:
                self.divided[chunk] = tuple(divided)
        self.characters += len(chunk) + 64
        return tokens

    def forget(self) -> None:
        """Drop the pieces; the numbers of words stay."""
        self.clear()
        self.divided.clear()
        self[_BREAK] = (END,)
        self.characters = 0


class TokenBatch:
    """Rows to be added, as numbers of their own words.

    Attributes:
        tokens: the words of all rows; `END` after each text.
        stops: where each row ends in them.
        counts: how many words each row has.
    """

    def __init__(self) -> None:
        self.tokens = array("i")
        self.stops = array("q")
        self.counts = array("i")
        self._chunks = _Chunks()

    @property
    def names(self) -> Iterable[str]:
        """The words, in the order of their numbers, from 1."""
        return islice(self._chunks.numbers, 1, None)

    def add(self, row: Sequence[str]) -> None:
        """Add a row.

        Args:
            row: its texts, one or more.
        """
        begin, ends = len(self.tokens), len(row)
        joined = _joined_by_marks(row)
        if (found := plain_words(joined)) is not None:
            self.tokens.extend(map(self._chunks.numbers.__getitem__, found))
        else:
            ends += self._add_pieces(joined.split())
        self.stops.append(len(self.tokens))
        self.counts.append(len(self.tokens) - begin - ends)

    def _add_pieces(self, pieces: list[str]) -> int:
        """Add words of any kind, and after them the parts of words; returns how many have any."""
        chunks = self._chunks
        if chunks.characters > _KEPT_CHARACTERS:
            chunks.forget()
        self.tokens.extend(chain.from_iterable(map(chunks.__getitem__, pieces)))
        ends = 0
        if chunks.divided and not chunks.divided.keys().isdisjoint(pieces):
            for piece in pieces:
                divided = chunks.divided.get(piece, ())
                self.tokens.extend(divided)
                ends += divided.count(END)
        return ends


def _joined_by_marks(row: Sequence[str]) -> str:
    """The texts, with a mark at the end of each."""
    between = f" {_BREAK} "
    joined = between.join((*row, ""))
    if joined.count(_BREAK) != len(row):
        joined = between.join((*(text.replace(_BREAK, " ") for text in row), ""))
    return joined


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Some rows and their postings.

    Attributes:
        tokens: the words of its rows in their order, shape `(n,)`; `END` after each text.
        rows: its row numbers, shape `(r,)`.
        stops: where each row ends in the tokens, shape `(r,)`.
        terms: the different words, ascending, shape `(t,)`.
        bounds: where the postings of each begin, and the end of the last, shape `(t + 1,)`.
        places: where each word stands in the tokens, word by word, shape `(p,)`.
        owners: the row of each place, shape `(p,)`.
    """

    tokens: Numbers
    rows: Rows
    stops: NDArray[np.int64]
    terms: Numbers
    bounds: NDArray[np.int64]
    places: Numbers
    owners: Rows

    @classmethod
    def of(cls, tokens: Numbers, rows: Rows, stops: NDArray[np.int64]) -> "Segment":
        """The segment of some rows; its postings are sorted by word, then by place."""
        standing = np.flatnonzero(tokens != END)
        ordered = np.sort((tokens[standing].astype(np.int64) << 32) | standing)
        sorted_terms = (ordered >> 32).astype(np.int32)
        places = (ordered & 0xFFFFFFFF).astype(np.int32)
        firsts = np.flatnonzero(np.diff(sorted_terms, prepend=np.int32(END)))
        owners = np.repeat(rows, np.diff(stops, prepend=0))[places]
        bounds = np.append(firsts, len(places))
        return cls(tokens, rows, stops, sorted_terms[firsts], bounds, places, owners)

    @classmethod
    def merged(
        cls, segments: Sequence["Segment"], live: NDArray[np.bool_] | None = None
    ) -> "Segment":
        """One segment of the rows of several, in their order.

        Args:
            segments: one or more.
            live: which rows are kept, by number; all of them if not given.
        """
        tokens = np.concatenate([each.tokens for each in segments])
        rows = np.concatenate([each.rows for each in segments])
        lengths = np.concatenate([np.diff(each.stops, prepend=0) for each in segments])
        if live is not None:
            kept = live[rows]
            tokens, rows, lengths = tokens[np.repeat(kept, lengths)], rows[kept], lengths[kept]
        return cls.of(tokens, rows, np.cumsum(lengths))

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        each = (self.tokens, self.rows, self.stops, self.terms, self.bounds)
        return sum(a.nbytes for a in each) + self.places.nbytes + self.owners.nbytes

    def occurrences(self, phrase: Sequence[Numbers]) -> Rows:
        """The row of each occurrence of a phrase.

        Args:
            phrase: the numbers of the words that may stand at each of its places.
        """
        spans = [self._spans(each) for each in phrase]
        sizes = [sum(stop - start for start, stop in each) for each in spans]
        at = sizes.index(min(sizes))
        owners = _joined(self.owners, spans[at])
        if len(phrase) == 1 or not len(owners):
            return owners
        begins = _joined(self.places, spans[at]).astype(np.int64) - at
        fits = (begins >= 0) & (begins + len(phrase) <= len(self.tokens))
        for offset, numbers in enumerate(phrase):
            if offset != at:
                begins, owners = begins[fits], owners[fits]
                there = self.tokens[begins + offset]
                fits = there == numbers[0] if len(numbers) == 1 else np.isin(there, numbers)
        return owners[fits]

    def _spans(self, numbers: Numbers) -> list[tuple[int, int]]:
        """Where the postings of words are."""
        found = np.searchsorted(self.terms, numbers)
        known = found < len(self.terms)
        known[known] = self.terms[found[known]] == numbers[known]
        found = found[known]
        starts, stops = self.bounds[found].tolist(), self.bounds[found + 1].tolist()
        return list(zip(starts, stops, strict=True))


def _joined(column: Numbers, spans: Sequence[tuple[int, int]]) -> Numbers:
    if len(spans) == 1:
        return column[spans[0][0] : spans[0][1]]
    return np.concatenate([column[:0], *(column[start:stop] for start, stop in spans)])


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """What a store holds at one time. Only the words grow, by those of newer states.

    Attributes:
        numbers: the number of each word, from 1.
        names: the words in the order of their numbers.
        segments: the rows.
        counts: how many words each row has, by its number, shape `(capacity,)`.
        free: row numbers that may be given again.
    """

    numbers: dict[str, int] = field(default_factory=dict[str, int])
    names: list[str] = field(default_factory=list[str])
    segments: tuple[Segment, ...] = ()
    counts: Numbers = field(default_factory=lambda: np.empty(0, np.int32))
    free: Rows = field(default_factory=lambda: np.empty(0, np.int32))
    _sorted: list[list[str]] = field(default_factory=lambda: [[]])

    def occurrences(self, phrase: Phrase) -> list[Rows]:
        """The rows of each occurrence of a phrase, by segment."""
        numbers = [self._numbers(element) for element in phrase]
        if not all(map(len, numbers)):
            return []
        return [segment.occurrences(numbers) for segment in self.segments]

    def _numbers(self, element: Element) -> Numbers:
        """The numbers of the words that an element stands for, ascending."""
        if element.is_prefix:
            begun = map(self.numbers.get, self._starting(element.word))
            found = sorted(number for number in begun if number is not None)
        else:
            found = [self.numbers[element.word]] if element.word in self.numbers else []
        return np.array(found, np.int32)

    def _starting(self, prefix: str) -> list[str]:
        in_order = self._sorted[0]
        if new := self.names[len(in_order) :]:
            in_order = self._sorted[0] = sorted(in_order + new)
        start = bisect_left(in_order, prefix)
        stop = bisect_left(in_order, prefix + "\U0010ffff", start)
        return in_order[start:stop]


class PostingsStore:
    """The words of all records that views know. Adding is serialized; reading needs no lock.

    Attributes:
        now: what is in it.
    """

    def __init__(self) -> None:
        self.now = Postings()
        self._rows: dict[bytes, int] = {}
        self._claims: list[weakref.ref[Claim]] = []
        self._added = 0
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """An estimate of the bytes of memory that the store takes."""
        now = self.now
        held = sum(segment.nbytes for segment in now.segments)
        return held + _ROW_BYTES * len(self._rows) + _WORD_BYTES * len(now.names)

    def claim(self, *pieces: Rows) -> Claim:
        """Claim rows that another living claim names."""
        claim = Claim(*pieces)
        with self._lock:
            self._claims = [ref for ref in self._claims if ref() is not None]
            self._claims.append(weakref.ref(claim))
        return claim

    def find(self, claim: Claim, texts: Collection[bytes]) -> dict[bytes, int]:
        """The rows of those texts that the store has, added to the claim."""
        with self._lock:
            found = {each: self._rows[each] for each in texts if each in self._rows}
            claim.pieces.append(np.fromiter(found.values(), np.int32, len(found)))
        return found

    def add(self, claim: Claim, texts: Sequence[bytes], batch: TokenBatch) -> dict[bytes, int]:
        """Add rows, and claim them.

        Args:
            claim: the claim that keeps the rows.
            texts: what each row is the text of; one that is there already has two rows then, of
                which the new one is found.
            batch: their words.

        Returns:
            The row of each.
        """
        with self._lock:
            if self._added > max(_LEAST_DEAD, len(self._rows) // 2):
                self._collect()
            now = self.now
            tokens = _numbered(now, batch.names)[np.array(batch.tokens, np.int32)]
            rows, counts = _taken(now, np.array(batch.counts, np.int32))
            segments = [*now.segments, Segment.of(tokens, rows, np.array(batch.stops, np.int64))]
            while len(segments) > 1 and len(segments[-2].tokens) <= 2 * len(segments[-1].tokens):
                segments[-2:] = [Segment.merged(segments[-2:])]
            claim.pieces.append(rows)
            self.now = replace(
                now,
                segments=tuple(segments),
                counts=counts,
                free=now.free[len(rows) :],
            )
            found = dict(zip(texts, rows.tolist(), strict=True))
            self._rows.update(found)
            self._added += len(rows)
        return found

    def pack(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """Rows that a claim names, as arrays for a file, with numbers of their own for words.

        Args:
            rows: row numbers, shape `(n,)`; the rows of the arrays are numbered in this order.
        """
        now = self.now
        live, order = np.zeros(len(now.counts), np.bool_), np.zeros(len(now.counts), np.int32)
        live[rows], order[rows] = True, np.arange(len(rows), dtype=np.int32)
        merged, names = _renumbered(now, Segment.merged(now.segments, live))
        texts = dict(zip(self._rows.values(), self._rows, strict=True))
        unknown = bytes(ID_BYTES)
        return {
            "ids": ids_as_array([texts.get(row, unknown)[:ID_BYTES] for row in rows.tolist()]),
            "counts": now.counts[rows],
            "names": pack_keys(names),
            "tokens": merged.tokens,
            "rows": order[merged.rows],
            "stops": merged.stops,
            "terms": merged.terms,
            "bounds": merged.bounds,
            "places": merged.places,
            "owners": order[merged.owners],
        }

    def adopt(
        self, claim: Claim, texts: Sequence[bytes], arrays: Mapping[str, NDArray[Any]]
    ) -> Rows:
        """Take over what `pack` made, and claim its rows.

        Args:
            claim: the claim that keeps the rows.
            texts: what each row is the text of.
            arrays: the arrays.

        Returns:
            The number that each row has here, shape `(n,)`.
        """
        names = unpack_keys(arrays["names"])
        with self._lock:
            now = self.now
            first = len(now.counts)
            tokens, stops = arrays["tokens"], arrays["stops"]
            its_rows, owners = (arrays[name] + np.int32(first) for name in ("rows", "owners"))
            if now.names:
                segment = Segment.of(_numbered(now, names)[tokens], its_rows, stops)
            else:
                now.names.extend(names)
                now.numbers.update(zip(names, range(1, len(names) + 1), strict=True))
                terms, bounds, places = (arrays[name] for name in ("terms", "bounds", "places"))
                segment = Segment(tokens, its_rows, stops, terms, bounds, places, owners)
            rows = np.arange(first, first + len(texts), dtype=np.int32)
            claim.pieces.append(rows)
            self.now = replace(
                now,
                segments=(*now.segments, segment),
                counts=np.append(now.counts, arrays["counts"]),
            )
            self._rows |= zip(texts, rows.tolist(), strict=True)
        return rows

    def trim(self) -> None:
        """Leave out the rows that no living claim names, and the words that only they had."""
        with self._lock:
            self._collect()

    def _collect(self) -> None:
        self._added = 0
        now = self.now
        live = np.zeros(len(now.counts), np.bool_)
        for claim in [ref() for ref in self._claims]:
            for piece in claim.pieces if claim else ():
                live[piece] = True
        if not live.any():
            self.now, self._rows = Postings(), {}
            return
        if all(live[segment.rows].all() for segment in now.segments):
            return
        merged, names = _renumbered(now, Segment.merged(now.segments, live))
        self._rows = {each: row for each, row in self._rows.items() if live[row]}
        self.now = Postings(
            {name: number for number, name in enumerate(names, 1)},
            names,
            (merged,),
            now.counts,
            np.flatnonzero(~live).astype(np.int32),
        )


def _renumbered(now: Postings, segment: Segment) -> tuple[Segment, list[str]]:
    """A segment with numbers of its own for its words, and the words."""
    numbers = np.zeros(len(now.names) + 1, np.int32)
    numbers[segment.terms] = np.arange(1, len(segment.terms) + 1)
    kept: list[int] = segment.terms.tolist()
    names = [now.names[number - 1] for number in kept]
    return replace(segment, tokens=numbers[segment.tokens], terms=numbers[segment.terms]), names


def _numbered(now: Postings, names: Iterable[str]) -> Numbers:
    """The numbers of words by their numbers in a batch, new ones given to those that have none."""
    numbers = [END]
    for name in names:
        number = now.numbers.get(name)
        if number is None:
            now.names.append(name)
            number = now.numbers[name] = len(now.names)
        numbers.append(number)
    return np.array(numbers, np.int32)


def _taken(now: Postings, counts: Numbers) -> tuple[Rows, Numbers]:
    """Unused row numbers, and the counts of all rows with theirs."""
    reused = now.free[: len(counts)]
    more = len(counts) - len(reused)
    new = np.arange(len(now.counts), len(now.counts) + more, dtype=np.int32)
    rows = np.concatenate([reused, new])
    everything = np.append(now.counts, np.zeros(more, np.int32))
    everything[rows] = counts
    return rows, everything

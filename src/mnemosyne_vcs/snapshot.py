"""A snapshot: the memory at one commit."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, TypeVar, Unpack, cast

from mnemosyne_vcs import tree
from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.embedding import Embed, VectorLike, floats_of
from mnemosyne_vcs.errors import DimensionError, NotFoundError, ValidationError
from mnemosyne_vcs.format.objects import vector_of_floats
from mnemosyne_vcs.format.validation import check_limit, check_text
from mnemosyne_vcs.frames import arrow_table, pandas_frame
from mnemosyne_vcs.ids import Id
from mnemosyne_vcs.model import Commit, Record, SearchHit, SearchMode, TextMatch
from mnemosyne_vcs.notebook import html_table
from mnemosyne_vcs.trees import Tree
from mnemosyne_vcs.views.cache import View, ViewBuilder, ViewCache
from mnemosyne_vcs.views.fusion import DEPTH, fused, highest
from mnemosyne_vcs.views.where import Where, predicate

if TYPE_CHECKING:
    import pandas  # pyright: ignore[reportMissingTypeStubs]
    import pyarrow  # pyright: ignore[reportMissingTypeStubs]

    from mnemosyne_vcs.model import Vector
    from mnemosyne_vcs.views.keys import KeyFilter, Selection
    from mnemosyne_vcs.views.server_search import IndexedVectors
    from mnemosyne_vcs.views.text import TextView
    from mnemosyne_vcs.views.vectors import VectorView

__all__ = ["Snapshot"]

_SHOWN = 20

A = TypeVar("A")
V = TypeVar("V", bound=View)


class _Filters(TypedDict):
    prefix: str
    within: "Selection | None"
    keep: "KeyFilter | None"
    limit: int
    min_score: float


class Snapshot(Mapping[str, Record]):
    """An immutable mapping from key to record, in order of key. Safe to share between threads.

    Args:
        blocks: the objects.
        commit: the commit.
        views: the cache of search views.
        embed: turns a text query into a vector, if the repository can.

    Attributes:
        commit: the commit whose state this is.
    """

    def __init__(
        self, blocks: Blocks, commit: Commit, views: ViewCache, embed: Embed | None = None
    ) -> None:
        self.commit = commit
        self._tree = Tree.of(blocks, commit)
        self._blocks = blocks
        self._views = views
        self._embed = embed

    def __repr__(self) -> str:
        count = len(self)
        return f"<Snapshot of {self.commit.short_id}: {count} record{'s' * (count != 1)}>"

    def _repr_html_(self) -> str:
        rows = [
            (record.key, record.content, record.provenance.source, record.provenance.agent)
            for record in self.scan(limit=_SHOWN)
        ]
        more = len(self) - len(rows)
        if more:
            rows.append((f"… and {more:,} more", None, None, None))
        return html_table(rows, ["key", "content", "source", "agent"])

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a snapshot cannot be pickled or copied; pass `commit.id` on and look at that again "
            "with `Repository.at`, or pass on a dict of its records"
        )

    def __getitem__(self, key: str) -> Record:
        _checked(key)
        return self._blocks.record(key, self._block(key))

    def get(self, key: str, default: Any = None) -> Any:
        """The record under a key, else the default; raises if there is one that cannot be read."""
        _checked(key)
        record = self._tree.record(key)
        return default if record is None else record

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._tree.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self._tree.scan())

    @property
    def root(self) -> Id:
        """The id of the root of its tree, for adapters: equal states have equal roots."""
        return self._tree.root

    def __len__(self) -> int:
        return self.count()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Snapshot):
            return self.root == other.root
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.root)

    def scan(
        self,
        prefix: str = "",
        start: str | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[Record]:
        """Records in order of key, read as they are asked for.

        Args:
            prefix: only keys that start with this.
            start: the first key to give; with `reverse`, the highest.
            reverse: from the highest key down.
            limit: how many records at most.

        Raises:
            ValidationError: an argument is of the wrong type.
        """
        limit = check_limit(limit)
        prefix = check_text(prefix, "prefix")
        start = None if start is None else check_text(start, "start")
        entries = self._tree.scan(prefix, start=start, reverse=reverse)
        return self._blocks.records(islice(entries, limit))

    def scan_keys(self, prefix: str = "") -> Iterator[str]:
        """The keys that start with a prefix, in order.

        Raises:
            ValidationError: the prefix is not a string, or cannot be encoded.
        """
        prefix = check_text(prefix, "prefix")
        return (key for key, _ in self._tree.scan(prefix))

    def read_many(self, keys: Iterable[str], *, with_vectors: bool = False) -> Iterator[Record]:
        """The records under keys, in the order given.

        Args:
            keys: the keys.
            with_vectors: whether to read their vectors too, many at once, rather than each when
                it is asked for.

        Raises:
            NotFoundError: there is no record under one of them.
            ValidationError: one of them is not a string.
        """
        keys = list(map(_checked, keys))
        found = tree.get_many(self._blocks.nodes, self.root, keys)
        entries = ((key, found.get(key) or self._block(key)) for key in keys)
        return self._blocks.records(entries, with_vectors=with_vectors)

    def to_arrow(  # pyright: ignore[reportUnknownParameterType]
        self, prefix: str = "", *, with_vectors: bool = False
    ) -> "pyarrow.Table":  # pyright: ignore[reportUnknownMemberType]
        """The records as an Apache Arrow table, one row each, in order of key.

        The columns are the attributes of `Record` and of `Provenance`: text, but for `event_time`
        (a timestamp in UTC milliseconds) and `derived_from` (a list of key and commit). `content`
        is JSON.

        Args:
            prefix: only keys that start with this.
            with_vectors: whether there are columns `embedding` (a list of float32) and `vectors`
                (a map from name to such a list, for the others).

        Raises:
            ImportError: pyarrow is not installed; it comes with `mnemosyne-vcs[arrow]`.
            ValidationError: the prefix is not a string, or cannot be encoded.
        """
        records = self._rows(prefix, with_vectors=with_vectors)
        return arrow_table(records, with_vectors=with_vectors)

    def to_pandas(self, prefix: str = "", *, with_vectors: bool = False) -> "pandas.DataFrame":
        """The records as a pandas DataFrame, indexed by key, in order of key.

        The columns are the other attributes of `Record` and those of `Provenance`, with the
        values that they have there; `event_time` is `datetime64[ms, UTC]`.

        Args:
            prefix: only keys that start with this.
            with_vectors: whether there are columns `embedding` (an array of float32 of shape
                `(dimension,)`, or None) and `vectors` (a dict of such arrays, for the others).

        Raises:
            ImportError: pandas is not installed; it comes with `mnemosyne-vcs[pandas]`.
            ValidationError: the prefix is not a string, or cannot be encoded.
        """
        records = self._rows(prefix, with_vectors=with_vectors)
        return pandas_frame(records, with_vectors=with_vectors)

    def count(self, prefix: str = "") -> int:
        """The number of keys that start with a prefix, in O(log n).

        Raises:
            ValidationError: the prefix is not a string, or cannot be encoded.
        """
        return self._tree.count(check_text(prefix, "prefix"))

    def children(self, prefix: str = "") -> Iterator[str]:
        """The next parts of the keys below a prefix, each once: `x` a record, `x/` a subtree.

        Args:
            prefix: normally empty or ending in `/`.

        Raises:
            ValidationError: the prefix is not a string, or cannot be encoded.
        """
        return self._tree.children(check_text(prefix, "prefix"))

    def search(
        self,
        query: VectorLike | None = None,
        *,
        text: str | None = None,
        mode: SearchMode | None = None,
        prefix: str = "",
        where: Where | None = None,
        within: "Selection | None" = None,
        limit: int = 10,
        min_score: float = -1.0,
        vector: str = "",
        vector_prefix: str | None = None,
        with_vectors: bool = False,
    ) -> list[SearchHit]:
        """The records that fit a query best: by vectors, by words, or by both.

        By vectors, the score is the exact cosine similarity. By words it is BM25 over the words of
        the key and the content, counted in this snapshot alone. In a query for words, each word
        counts and none is required; `"over 200"` and what is written without a space is a phrase,
        and `refun*` any word that starts so. Every text is a valid query.

        Filters apply before the cut, so that `limit` records are found if that many match. They
        change no score.

        Args:
            query: numbers, shape `(dimension,)`, or text.
            text: the text, beside numbers or in place of them.
            mode: `"vectors"`, `"words"`, or `"both"`, which ranks by the sum of the reciprocal
                ranks in the two, each of which counts to rank 200 or `limit` if that is more.
                If not given, it is `"both"` for numbers and text, and `"vectors"` for one of
                them; but `"words"` for text if the repository has no `embed`.
            prefix: only keys that start with this.
            where: conditions on the content, or a function of the record; see
                `mnemosyne_vcs.views.where.predicate`.
            within: only these keys, selected by a view.
            limit: how many hits at most; 0 or less gives none.
            min_score: hits score at least this.
            vector: the name of the vectors to search.
            vector_prefix: search all vectors whose names start with this, in place of `vector`. A
                record counts once, by the one that is most similar.
            with_vectors: whether to read the hits' vectors too, many at once, rather than each
                when it is asked for.

        Returns:
            Hits by descending score, ties in order of key. Records without such a vector are
            never hits by vectors, and those without a word of the query none by words.

        Raises:
            DimensionError: there are such vectors, but none of the query's dimension.
            ValidationError: the query is not a vector, text is missing or there is no `embed` for
                it where the mode needs them, or another argument is of the wrong type.
        """
        prefix, names = check_text(prefix, "prefix"), self._vector_names(vector, vector_prefix)
        numbers, text = _divided(query, text)
        filters = _Filters(
            prefix=prefix,
            within=within,
            keep=None if where is None else self._test(where),
            limit=limit,
            min_score=min_score,
        )
        hits = self._ranked(mode or self._usual_mode(numbers, text), numbers, text, names, filters)
        records = self.read_many((key for key, _ in hits), with_vectors=with_vectors)
        return [SearchHit(record, score) for record, (_, score) in zip(records, hits, strict=True)]

    def find(
        self, substring: str, *, ignore_case: bool = False, prefix: str = ""
    ) -> Iterator[TextMatch]:
        """The lines that have a text in them, exactly as it is written.

        Keys and the names, strings and numbers in the contents are looked through, record by
        record in order of key, as matches are asked for.

        Args:
            substring: the text, one character or more.
            ignore_case: whether small and capital letters are the same.
            prefix: only records whose keys start with this.

        Raises:
            ValidationError: the text is empty, or an argument is of the wrong type.
        """
        from mnemosyne_vcs.views.matches import lines_with

        substring, prefix = check_text(substring, "the text"), check_text(prefix, "prefix")
        if not substring:
            raise ValidationError("the text to find is empty; give one character or more")
        pattern = re.compile(re.escape(substring), re.IGNORECASE if ignore_case else 0)
        return (match for each in self.scan(prefix) for match in lines_with(pattern, each))

    def view(self, make: Callable[[A], ViewBuilder[V]], argument: A) -> V:
        """A view of this snapshot, which the repository caches and keeps up to date.

        Args:
            make: the class of its builder, such as `views.identity.IdentityViewBuilder`.
            argument: the builder's argument.
        """
        return self._views.get(self._views.kind(make, argument), self.root)

    def vectors(self, name: str = "") -> "VectorView":
        """The vectors of one name, loaded, in a form to search."""
        from mnemosyne_vcs.views.vectors import VectorViewBuilder

        return self.view(VectorViewBuilder, name)

    def words(self) -> "TextView":
        """The words of all records, in a form to search."""
        from mnemosyne_vcs.views.text import TextViewBuilder

        return self.view(TextViewBuilder, None)

    def dimensions(self, name: str = "") -> list[int]:
        """The dimensions of the vectors of one name, in ascending order."""
        index = self._index(name)
        found = None if index is None else index.dimensions()
        return sorted(self.vectors(name).dimensions() if found is None else found)

    def _usual_mode(self, numbers: object, text: str | None) -> SearchMode:
        if numbers is not None:
            return "vectors" if text is None else "both"
        return "words" if self._embed is None else "vectors"

    def _ranked(
        self,
        mode: SearchMode,
        numbers: VectorLike | None,
        text: str | None,
        names: Sequence[str],
        filters: _Filters,
    ) -> list[tuple[str, float]]:
        if mode == "words":
            if text is None:
                raise ValidationError("a search by words needs text")
            from mnemosyne_vcs.views.query import parse_query

            return self.words().search(parse_query(text), **filters)
        if mode == "vectors":
            asked = cast("VectorLike", text if numbers is None else numbers)
            floats = vector_of_floats(floats_of(asked, "the query", self._embed))
            return self._similar(names, floats, filters)
        if mode != "both":
            raise ValidationError(f"mode is vectors, words or both, not {mode!r:.80}")
        deep = _deep(filters)
        by_words = self._ranked("words", numbers, text, names, deep)
        by_vectors = self._ranked("vectors", numbers, text, names, deep)
        hits = fused([key for key, _ in ranking] for ranking in (by_words, by_vectors))
        return [hit for hit in hits if hit[1] >= filters["min_score"]][: max(filters["limit"], 0)]

    def _similar(
        self, names: Sequence[str], query: "Vector", filters: _Filters
    ) -> list[tuple[str, float]]:
        rankings = [self._nearest(name, query, **filters) for name in names]
        hits = rankings[0] if len(names) == 1 else highest(rankings, filters["limit"])
        dimensions = {each for name in names for each in self.dimensions(name)} if not hits else ()
        if dimensions and len(query) not in dimensions:
            raise DimensionError(
                f"the query has {len(query)} dimensions; the vectors named "
                f"{', '.join(map(repr, names))} at commit {self.commit.id} have "
                f"{', '.join(map(str, sorted(dimensions)))}"
            )
        return hits

    def _vector_names(self, vector: str, prefix: str | None) -> list[str]:
        """The names of the vectors to search."""
        if prefix is None:
            return [check_text(vector, "a vector's name")]
        if vector:
            raise ValidationError("a search takes vector or vector_prefix, not both")
        from mnemosyne_vcs.views.scopes import ScopesViewBuilder
        from mnemosyne_vcs.views.vector_names import vector_names_of

        start = check_text(prefix, "vector_prefix")
        known = self.view(ScopesViewBuilder, vector_names_of).categories()
        return [name for name in known if name.startswith(start)]

    def _nearest(
        self, name: str, query: "Vector", **filters: Unpack["_Filters"]
    ) -> list[tuple[str, float]]:
        index = self._index(name)
        found = None if index is None else index.search(query, **filters)
        return self.vectors(name).search(query, **filters) if found is None else found

    def _index(self, name: str) -> "IndexedVectors | None":
        """The engine's index of the vectors of one name, if they are not loaded and it has one."""
        from mnemosyne_vcs.views.server_search import find_index
        from mnemosyne_vcs.views.vectors import VectorViewBuilder

        if self._views.has(self._views.kind(VectorViewBuilder, name), self.root):
            return None
        return find_index(self._blocks, self.root, self.commit.cid, name)

    def _rows(self, prefix: str, *, with_vectors: bool) -> Iterator[Record]:
        entries = self._tree.scan(check_text(prefix, "prefix"))
        return self._blocks.records(entries, with_vectors=with_vectors)

    def _block(self, key: str) -> Id:
        block = self._tree.get(key)
        if block is None:
            raise NotFoundError(f"there is no record {key!r} at commit {self.commit.id}")
        return block

    def _test(self, where: Where) -> "KeyFilter":
        test = predicate(where)
        return lambda keys: [record.key for record in self.read_many(keys) if test(record)]


def _checked(key: object) -> str:
    """The key, checked for its type."""
    if not isinstance(key, str):
        raise ValidationError(f"a key is a string, not {type(key).__name__}: {key!r:.80}")
    return key


def _divided(query: VectorLike | None, text: str | None) -> tuple[VectorLike | None, str | None]:
    """The numbers and the text of a query."""
    if query is None and text is None:
        raise ValidationError("a search needs a query: numbers, text, or both")
    if text is not None and not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValidationError(f"text is a string, not {type(text).__name__}: {text!r:.80}")
    if isinstance(query, str):
        if text is not None:
            raise ValidationError("the query is text, and text= is given too; give the text once")
        return None, query
    return query, text


def _deep(filters: _Filters) -> _Filters:
    """The filters for one of the rankings that are fused."""
    deep = filters.copy()
    deep["limit"] = max(DEPTH, filters["limit"]) if filters["limit"] > 0 else 0
    deep["min_score"] = -1.0
    return deep

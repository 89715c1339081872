"""Search by meaning, using vectors of texts. All files' vectors are kept in memory. Requires the `semantic` extra.

A query's vector is compared with the vector of every file; 100,000 vectors take 26 MB. This takes a tenth of the time
that a database would need. The comparison uses exact integer products, so that the order of results is the same on
every machine.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import log
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from sqlalchemy import Connection, Engine, Integer, literal, select, union_all
from tokenizers import Tokenizer

from bilateral.index.search.matching import Matcher, Term
from bilateral.index.search.tables import MODEL, registration_vector, registration_words

_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS: Final = "weights/l2_supercat_256.safetensors"

DIMENSIONS: Final = 256
"""The number of components in a vector, one byte each."""

SCALE: Final = 254
"""The factor that turns a unit vector's components into integers. Components above a half are rare and are clipped."""

MOST_LISTED: Final = 200
"""The maximum number of files in each of the two lists. A page has 20 agents, but filters may exclude most files."""

_LEAST: Final = 0.1 * SCALE * SCALE
"""The minimum similarity, a cosine of 0.1. Unrelated texts often reach this value by chance."""

_LATE: Final = 60
"""The usual constant for reciprocal rank fusion. With it, the first places differ little, so a file in both lists ranks
above a file that leads only one list."""

_SHARE: Final = 100
"""A word is rare if at most one in this many files contains it. For other words, meaning is the better guide."""

_FEW, _MANY = 10, 1_000
"""The lower and upper bound for the number of files above which a word is considered too common."""

_FULL, _SHORT = 0.75, 1.2
"""The usual BM25 parameters. Words have less weight in a long file, so that a file with every word is not first."""

_LEAST_PART: Final = 1 / 3
"""The minimum score, as a fraction of the score of a median-length file with all rare words. Otherwise, a
file that contains every word, and thus scores little for each, would lead whenever no other file contains a word."""

_CHUNK: Final = 1_024
"""The number of vectors to compare at once. Once their bytes are widened, they still fit into a core's cache."""

_OVERLAP: Final = 1_000
"""The range of vector ids below the last loaded id to check again, as transactions may commit out of order."""

_RECOUNT_SECONDS: Final = 600.0
"""Seconds between checks of all vector ids, to drop removed files' vectors. Checking 100,000 ids takes 50 ms."""

_LOADED: Final = 10_000
"""The number of vectors to read at once. They remain loaded even if the visit has no time to read the rest."""


class Embedder:
    """The embedding model, a 16 MB table with a vector for each token.

    The vector of a text is the mean of its tokens' vectors, and takes a tenth of a millisecond to compute. Only the
    data files of `wordllama` are used, because its code would download missing files from a hub and change the
    program's logging.
    """

    def __init__(self) -> None:
        package = find_spec("wordllama")
        if package is None or not package.submodule_search_locations:
            raise ModuleNotFoundError("No module named 'wordllama'", name="wordllama")
        folder = Path(package.submodule_search_locations[0])
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._vectors = load_file(folder / _WEIGHTS)["embedding.weight"]

    def vector(self, sections: Iterable[tuple[str, float]]) -> bytes:
        """Return the vector for a text with several sections: 256 signed bytes."""
        total = np.zeros(DIMENSIONS, np.float32)
        for text, weight in sections:
            total += weight * self._unit(text)
        return self._quantised(total).tobytes()

    def question(self, text: str) -> NDArray[np.float32]:
        """Return a query's vector, in the same form as the stored vectors."""
        return self._quantised(self._unit(text)).astype(np.float32)

    def _unit(self, text: str) -> NDArray[np.float32]:
        # One text, but without offsets in it, which nobody reads.
        tokens = self._tokenizer.encode_batch_fast([text.lower()], add_special_tokens=False)[0].ids
        if not tokens:
            return np.zeros(DIMENSIONS, np.float32)
        # This computes the same as `mean` and `norm`, which take twice as long as the sum itself.
        return _normalised(np.add.reduce(self._vectors[tokens].astype(np.float32)) / len(tokens))

    @staticmethod
    def _quantised(vector: NDArray[np.float32]) -> NDArray[Any]:
        return np.rint(_normalised(vector) * SCALE).clip(-127, 127).astype(np.int8)


def _normalised(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalize a vector to length 1. A zero vector is unchanged."""
    length = float(np.sqrt(vector.dot(vector)))
    return vector / length if length > 0 else vector


@dataclass(frozen=True)
class _State:
    """The vectors loaded at one point in time. Later vectors are appended to these arrays or to copies."""

    count: int = 0  # the arrays have room for more rows
    vectors: NDArray[np.int8] = field(default_factory=lambda: np.zeros((_CHUNK, DIMENSIONS), np.int8))
    lengths: NDArray[np.float32] = field(default_factory=lambda: np.zeros(_CHUNK, np.float32))  # words per file
    ids: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_CHUNK, np.int64))  # as in the database
    rows: dict[int, int] = field(default_factory=dict)  # each id's row in the arrays

    def similarities(self, question: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the dot products of all vectors with a query's vector, as exact integers."""
        products = np.empty(self.count, np.float32)
        for first in range(0, self.count, _CHUNK):
            last = min(first + _CHUNK, self.count)
            np.dot(self.vectors[first:last].astype(np.float32), question, out=products[first:last])
        return products

    def with_more(self, ids: Sequence[int], lengths: Sequence[int], vectors: bytes) -> _State:
        """Return a state with additional vectors, in the same arrays if they have room."""
        count = self.count + len(ids)
        arrays: tuple[NDArray[Any], ...] = self.vectors, self.lengths, self.ids
        if count > len(self.ids):
            size = max(count, 2 * len(self.ids))
            arrays = tuple(np.resize(array, (size, *array.shape[1:])) for array in arrays)
        more = np.frombuffer(vectors, np.int8).reshape(-1, DIMENSIONS)
        for array, values in zip(arrays, (more, lengths, ids), strict=True):
            array[self.count : count] = values
        self.rows.update(zip(ids, range(self.count, count), strict=True))
        more_vectors, more_lengths, more_ids = arrays
        return _State(count, more_vectors, more_lengths, more_ids, self.rows)

    def without(self, removed: set[int]) -> _State:
        """Return a copy of the state without the given vectors."""
        retained = np.flatnonzero(~np.isin(self.ids[: self.count], sorted(removed)))
        ids = self.ids[retained]
        rows = {number: row for row, number in enumerate(ids.tolist())}
        return _State(len(retained), self.vectors[retained], self.lengths[retained], ids, rows)


class Meanings:
    """The vectors of one database, which all threads share. Each thread has its own connection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = _State()
        self._last = 0
        self._recounted = float("-inf")

    def ranks(
        self, connection: Connection, matcher: Matcher, question: NDArray[np.float32], words: Sequence[str]
    ) -> dict[int, int]:
        """Return the ranks of the files closest to a query, combined from the lists by meaning and by rare words."""
        by_meaning, by_words, ids = self.lists(connection, matcher, question, words)
        ranks: dict[int, float] = defaultdict(float)
        for listed in (by_meaning, by_words):
            for place, row in enumerate(listed, 1):
                ranks[int(ids[row])] += 1 / (_LATE + place)
        return {number: round(rank * 1_000_000) for number, rank in ranks.items()}

    def lists(
        self, connection: Connection, matcher: Matcher, question: NDArray[np.float32], words: Sequence[str]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
        """Return the rows of the files closest by meaning, of those closest by rare words, and the ids of all rows."""
        with self._lock:
            self._refresh(connection)
            state = self._state
        ids = state.ids[: state.count]
        similarities = state.similarities(question)
        scores = _scores(connection, matcher, words, state)
        return _best(similarities, _LEAST, similarities, ids), _best(scores, 0.0, similarities, ids), ids

    def _refresh(self, connection: Connection) -> None:
        """Load new vectors from the database, and periodically drop vectors that the database no longer contains."""
        number, is_recount = registration_vector.c.vector_id, time.monotonic() - self._recounted > _RECOUNT_SECONDS
        existing = select(number).where(number > (-1 if is_recount else self._last - _OVERLAP)).order_by(number)
        present = connection.execute(existing).scalars().all()
        new = [vector_id for vector_id in present if vector_id not in self._state.rows]
        for at in range(0, len(new), _LOADED):
            self._load(connection, new[at], new[min(at + _LOADED, len(new)) - 1])
        if is_recount:
            # Another thread may have loaded a later number that this thread's transaction does not see.
            end = present[-1] if present else self._last
            removed = {vector_id for vector_id in self._state.rows.keys() - {*present} if vector_id <= end}
            if removed:
                self._state = self._state.without(removed)
            self._recounted = time.monotonic()
        self._last = max(self._last, *present[-1:], 0)

    def _load(self, connection: Connection, first: int, last: int) -> None:
        """Load the missing vectors in a range. Vectors from a different model do not match anything."""
        stored = registration_vector.c
        query = select(stored.vector_id, stored.words, stored.model, stored.vector).order_by(stored.vector_id)
        loaded = self._state.rows
        in_range = connection.execute(query.where(stored.vector_id.between(first, last)))
        rows = [row for row in in_range if row.vector_id not in loaded]
        vectors = b"".join(row.vector if row.model == MODEL else bytes(DIMENSIONS) for row in rows)
        self._state = self._state.with_more([row.vector_id for row in rows], [row.words for row in rows], vectors)


_OF_ENGINES: Final[WeakKeyDictionary[Engine, Meanings]] = WeakKeyDictionary()
_CREATION: Final = threading.Lock()


def meanings_of(connection: Connection) -> Meanings:
    """Return the vectors of a connection's database, which all connections of an engine share."""
    with _CREATION:
        return _OF_ENGINES.setdefault(connection.engine, Meanings())


def _best(
    scores: NDArray[Any], least: float, similarities: NDArray[np.float32], ids: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the rows with the highest scores. Ties are resolved by higher similarity, and then by lower id."""
    if len(scores) > MOST_LISTED:
        rows = np.flatnonzero((scores > least) & (scores >= np.partition(scores, -MOST_LISTED)[-MOST_LISTED]))
    else:
        rows = np.flatnonzero(scores > least)
    return rows[np.lexsort((ids[rows], -similarities[rows], -scores[rows]))][:MOST_LISTED]


def _scores(connection: Connection, matcher: Matcher, words: Sequence[str], state: _State) -> NDArray[np.float64]:
    """Return each file's BM25 score for a query's rare words, minus the minimum score."""
    scores, most = np.zeros(state.count), min(max(state.count // _SHARE, _FEW), _MANY)
    total = 0.0
    for numbers in _with_words(connection, matcher, words, most + 1):
        rows = [row for number in numbers if (row := state.rows.get(number, state.count)) < state.count]
        if 0 < len(numbers) <= most:
            rarity = log(1 + state.count / len(numbers))
            scores[rows] += rarity
            total += rarity
    lengths = state.lengths[: state.count]
    usual = max(1.0, float(np.median(lengths))) if state.count else 1.0
    return scores / (1 + _SHORT * (1 - _FULL + _FULL * lengths / usual)) - _LEAST_PART * total / (1 + _SHORT)


def _with_words(connection: Connection, matcher: Matcher, words: Sequence[str], most: int) -> Iterable[Sequence[int]]:
    """Return the ids of files that contain each word, up to a limit per word. Common words are left out."""
    terms = [Term((word,), is_beginning=False) for word in words]
    queries = []
    for place, term in enumerate(terms):
        if matcher.are_common([term], most):
            continue
        listed = matcher.documents([term]).limit(most).subquery()
        (document,) = listed.c
        tables = listed.join(registration_words, registration_words.c.document_id == document).join(
            registration_vector, registration_vector.c.content_hash == registration_words.c.content_hash
        )
        queries.append(select(literal(place, Integer), registration_vector.c.vector_id).select_from(tables))
    numbers: dict[int, list[int]] = defaultdict(list)
    for place, vector_id in connection.execute(union_all(*queries)) if queries else ():
        numbers[place].append(vector_id)
    return numbers.values()

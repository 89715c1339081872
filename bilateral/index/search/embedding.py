"""Vectors of texts by their meaning, from the static model that the package `wordllama` contains (extra `semantic`).

The model is a table: a vector for each token. A text has the mean of the vectors of its tokens, so one costs a tenth of
a millisecond. Only the files of `wordllama` are used. Its code would download missing files from a hub, and
change the logging of the program.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS: Final = "weights/l2_supercat_256.safetensors"

DIMENSIONS: Final = 256
"""The parts of a vector, of one byte each."""

SCALE: Final = 254
"""The factor for the parts of a vector of length 1. Parts beyond a half are clipped: they are rare."""


class Embedder:
    """The model. Its memory is 16 MB."""

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
        """Return the vector of a text of several sections: 256 parts of one byte with a sign."""
        total = np.zeros(DIMENSIONS, np.float32)
        for text, weight in sections:
            total += weight * self._unit(text)
        return self._quantised(total).tobytes()

    def question(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, with the parts of a stored one."""
        return self._quantised(self._unit(text)).astype(np.float32)

    def _unit(self, text: str) -> NDArray[np.float32]:
        """Return the mean of the vectors of a text's tokens, with the length 1; zeros without a token."""
        tokens = self._tokenizer.encode(text.lower(), add_special_tokens=False).ids
        if not tokens:
            return np.zeros(DIMENSIONS, np.float32)
        return _normalised(self._vectors[tokens].astype(np.float32).mean(axis=0))

    @staticmethod
    def _quantised(vector: NDArray[np.float32]) -> NDArray[Any]:
        """Return a vector in whole numbers of one byte."""
        return np.clip(np.rint(_normalised(vector) * SCALE), -127, 127).astype(np.int8)


def _normalised(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a vector with the length 1; zeros for one without a length."""
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector

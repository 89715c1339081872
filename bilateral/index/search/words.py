"""Words of texts: one definition for both engines, so that a search finds the same on SQLite and PostgreSQL.

A word is a run of letters and digits, in lower case and without accents. Each sign of Chinese or Japanese writing is a
word of its own, because these languages put no spaces between words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

MAX_WORD: Final = 40
"""Characters of a word. The rest of a longer one is left out."""

MAX_WORDS: Final = 2_000
"""Different words of one text that count."""

LEARNT_LENGTHS: Final = range(4, 25)
"""The lengths of words that may be found by a similar word."""

_ASCII_WORD: Final = re.compile("[a-z0-9]+")

# Kana, and Chinese characters, whose words no space parts (the blocks of Unicode).
_UNSPACED: Final = (range(0x3040, 0x3100), range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0x20000, 0x32000))


def words_of(texts: Iterable[str | None]) -> list[str]:
    """Return the different words of some texts, in the order in which they first appear."""
    every = (word for text in texts if text for word in _words(text))
    return list(islice(dict.fromkeys(every), MAX_WORDS))


def trigrams(word: str) -> set[str]:
    """Return the parts of three characters of a word, with two spaces before it and one behind, as `pg_trgm` does."""
    padded = f"  {word} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}


def _words(text: str) -> Iterator[str]:
    if text.isascii():  # as below, in a tenth of the time
        yield from (word[:MAX_WORD] for word in _ASCII_WORD.findall(text.lower()))
        return
    begun: list[str] = []
    for character in unicodedata.normalize("NFKD", text.casefold()).casefold():
        if unicodedata.category(character) == "Mn":  # an accent, which ends no word
            continue
        if any(ord(character) in signs for signs in _UNSPACED):
            if begun:
                yield "".join(begun)[:MAX_WORD]
            begun = []
            yield character
        elif character.isalnum():
            begun.append(character)
        elif begun:
            yield "".join(begun)[:MAX_WORD]
            begun = []
    if begun:
        yield "".join(begun)[:MAX_WORD]
